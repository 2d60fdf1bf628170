"""The child process of one MCP server's connection. It reads requests and writes answers, each a line of JSON.

The answer to `{"do": "list"}` or `{"do": "call", "name", "arguments"}` is `{"tools"}`, `{"result"}` or `{"error"}`,
with `"ended"` if no more answers will come. `{"progress"}` lines with messages of the server precede the answer to a
call. Answers over `MAX_ANSWER` are replaced by an error.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

MAX_TOOLS = 200
MAX_PROGRESS, MAX_PROGRESS_LENGTH = 500, 2000  # messages of a call, and characters of each
MAX_ANSWER = 2 * 1000**2  # bytes of an answer


async def serve(target: dict[str, Any], requests: asyncio.StreamReader) -> None:
    async with _client(target) as client:
        while line := await requests.readline():
            _send(await _answer(client, json.loads(line)))


@asynccontextmanager
async def _client(target: dict[str, Any]) -> AsyncIterator[Client]:
    seconds = target["timeout_s"]
    if target["transport"] == "stdio":
        program, *arguments = map(str, target["command"])
        server = StdioServerParameters(command=program, args=arguments, env=dict(target["environment"]))
        async with Client(server, read_timeout_seconds=seconds, cache=None) as client:
            yield client
        return
    async with create_mcp_http_client(headers=dict(target["headers"])) as http:
        transport = streamable_http_client(target["url"], http_client=http)
        async with Client(transport, read_timeout_seconds=seconds, cache=None) as client:
            yield client


async def _answer(client: Client, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        if request["do"] == "list":
            return {"tools": await _tools(client)}
        forward = _ProgressForwarder().forward
        result = await client.call_tool(request["name"], request["arguments"], progress_callback=forward)
        return {"result": result.model_dump(mode="json", by_alias=True, exclude_none=True)}
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise  # the server has ended, and so does this process: the next request starts both again
        return {"error": str(error)[:2000]}


class _ProgressForwarder:
    """A forwarder of the progress messages of one call, up to a limit."""

    def __init__(self) -> None:
        self._remaining = MAX_PROGRESS

    async def forward(self, progress: float, total: float | None, message: str | None) -> None:
        if message and self._remaining:
            self._remaining -= 1
            _send({"progress": message[:MAX_PROGRESS_LENGTH]})


async def _tools(client: Client) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    cursor = None
    while len(tools) < MAX_TOOLS:
        page = await client.list_tools(cursor=cursor)
        tools += [
            {"name": tool.name, "description": tool.description or "", "schema": tool.input_schema}
            for tool in page.tools
        ]
        if not (cursor := page.next_cursor):
            break
    return tools[:MAX_TOOLS]


def _send(answer: Mapping[str, Any]) -> None:
    line = json.dumps(answer).encode()
    if len(line) > MAX_ANSWER:
        line = json.dumps({"error": f"its answer has {len(line)} bytes; at most {MAX_ANSWER} are taken"}).encode()
    data = line + b"\n"
    while data:
        data = data[os.write(_channel, data) :]


async def main() -> None:
    reader = asyncio.StreamReader(limit=MAX_ANSWER * 2)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    target = json.loads(await reader.readline())
    try:
        await serve(target, reader)
    except* (OSError, MCPError, ValueError) as group:
        _send({"error": str(_innermost(group))[:2000], "ended": True})


def _innermost(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


_channel = os.dup(1)  # other output on stdout must not be mistaken for an answer
os.dup2(2, 1)
