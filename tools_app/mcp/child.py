"""The child process of one MCP server's connection. It reads requests and writes answers, each a line of JSON.

The answer to `{"do": "list"}` is `{"tools", "skipped", "protocol"}`, to `{"do": "call", "name", "arguments"}`
it is `{"result", "notes"}`; with `"new_tools"` if the server has announced a changed list. Either can
be `{"error"}`, with `"ended"` if no more answers will come, and with `"rejected"` if the server cannot have run the
call.
`{"progress"}` lines precede the answer to a call. Answers over `MAX_ANSWER` are replaced by an error.

The end of the requests cancels the call that runs, and ends the session with the server.
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client import session
from mcp.client._transport import TransportStreams
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from tools_app.mcp.http_wire import HttpWire
from tools_app.mcp.incoming import Incoming, name_of, plain_tools
from tools_app.mcp.output_schema import faults_of

MAX_TOOLS = 200
MAX_PROGRESS, MAX_PROGRESS_LENGTH = 500, 2000  # messages of a call, and characters of each
MAX_ANSWER = 2 * 1000**2  # bytes of an answer
_CONNECT_TIMEOUT_S = 30.0
_CUT_STREAM = "SSE stream"  # of the SDK's errors for a stream without an answer
_CLOSED = "Connection closed"  # the SDK's error for a server that has ended
_UNKNOWN_EFFECT = "Whether a call had an effect is unknown."


async def serve(target: dict[str, Any], requests: asyncio.StreamReader) -> None:
    async with _connection(target) as connection:
        line = await requests.readline()
        while line:
            answering = asyncio.create_task(connection.answer(json.loads(line)))
            reading = asyncio.create_task(requests.readline())
            await asyncio.wait({answering, reading}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():  # a call that was stopped or is out of time: the SDK notifies the server
                answering.cancel()
                with suppress(asyncio.CancelledError, MCPError):
                    await answering
                await connection.wire.settle()
                return
            try:
                answer = answering.result()
            except BaseException:
                reading.cancel()
                raise
            _send(answer)
            if answer.get("ended"):
                reading.cancel()
                return
            line = await reading


@asynccontextmanager
async def _connection(target: dict[str, Any]) -> AsyncIterator["Connection"]:
    """Connect to the server in the newest revision of the protocol that it speaks.

    A server that ends at the SDK's first question, which older ones do not know, is started again without it.
    """
    incoming, wire = Incoming(), HttpWire()
    session.DISCOVER_TIMEOUT_SECONDS = min(session.DISCOVER_TIMEOUT_SECONDS, target["timeout_s"] / 4)
    is_open = False
    try:
        async with _client(target, incoming, wire, mode="auto") as client:
            is_open = True
            yield Connection(client, incoming, wire)
    except* MCPError:
        if is_open or target["transport"] != "stdio" or not incoming.has_ended:
            raise
    if is_open:
        return
    incoming = Incoming()
    async with _client(target, incoming, wire, mode="legacy") as client:
        yield Connection(client, incoming, wire)


@asynccontextmanager
async def _client(target: dict[str, Any], incoming: Incoming, wire: HttpWire, *, mode: str) -> AsyncIterator[Client]:
    transport: AbstractAsyncContextManager[TransportStreams]
    if target["transport"] == "stdio":
        program, *arguments = map(str, target["command"])
        environment = dict(target["environment"])
        server = StdioServerParameters(
            command=program, args=arguments, env=environment, encoding_error_handler="replace"
        )
        async with Client(incoming.observe(stdio_client(server)), cache=None, mode=mode) as client:
            yield client
        return
    timeout = httpx2.Timeout(_CONNECT_TIMEOUT_S, read=None)  # the parent bounds each call
    async with httpx2.AsyncClient(transport=wire, headers=dict(target["headers"]), timeout=timeout) as http:
        transport = streamable_http_client(target["url"], http_client=http, max_sse_event_size=MAX_ANSWER)
        async with Client(incoming.observe(transport), cache=None, mode=mode) as client:
            yield client


class Connection:
    """The connection to a server."""

    def __init__(self, client: Client, incoming: Incoming, wire: HttpWire) -> None:
        self.wire = wire
        self._client, self._incoming = client, incoming
        self._output_schemas: dict[str, Any] = {}

    async def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._incoming.has_ended:
            return {"error": "it has ended since the last call", "ended": True, "rejected": True}
        try:
            answer = await (self._tools() if request["do"] == "list" else self._result(request))
        except (MCPError, RuntimeError, ValueError) as error:
            if self._incoming.has_ended:  # and so does this process: the next request starts both again
                return {"error": f"it ended without an answer. {_UNKNOWN_EFFECT}", "ended": True}
            answer = {"error": _sentence(error)[:2000]}
            if str(error).startswith(_CUT_STREAM):
                answer["error"] = f"{answer['error']}. {_UNKNOWN_EFFECT}"
            if self.wire.has_lost_session:
                answer |= {"ended": True, "rejected": self.wire.was_rejected}
        if self._incoming.has_new_tools:
            self._incoming.has_new_tools = False
            answer["new_tools"] = True
        return answer

    async def _result(self, request: Mapping[str, Any]) -> dict[str, Any]:
        forward = _ProgressForwarder().forward
        await self._client.call_tool(request["name"], request["arguments"], progress_callback=forward)
        result = self._incoming.result
        return {"result": result, "notes": faults_of(result, self._output_schemas.get(request["name"]))}

    async def _tools(self) -> dict[str, Any]:
        """Return the tools of all pages as the server sent them. A repeated cursor ends the list."""
        tools: list[Any] = []
        skipped: dict[str, str] = {}
        cursors: set[str | None] = set()
        cursor = None
        while cursor not in cursors and len(tools) < MAX_TOOLS:
            cursors.add(cursor)
            page = await self._client.list_tools(cursor=cursor)
            listed = self._incoming.tools
            if not isinstance(listed, list):
                skipped["tools"] = "Its list of tools is no list."
                break
            usable = {tool.name for tool in page.tools}
            for name in {tool["name"] for tool in plain_tools(listed)} - usable:
                skipped[name] = "Its x-mcp-header annotations are invalid."
            tools += [tool for tool in listed if tool not in tools and name_of(tool) not in skipped]
            if not (cursor := page.next_cursor):
                break
        if len(tools) > MAX_TOOLS:
            skipped["tools"] = f"It has more than {MAX_TOOLS} tools; the first {MAX_TOOLS} are used."
        self._output_schemas = {name_of(tool): tool.get("outputSchema") for tool in tools if isinstance(tool, dict)}
        return {"tools": tools[:MAX_TOOLS], "skipped": skipped, "protocol": self._client.protocol_version}


class _ProgressForwarder:
    """A forwarder of the progress of one call, up to a limit. Progress without new words extends the deadline only."""

    def __init__(self) -> None:
        self._remaining = MAX_PROGRESS
        self._last = ""

    async def forward(self, progress: float, total: float | None, message: str | None) -> None:
        text = message or (f"{progress:g} of {total:g}" if total else f"{progress:g}")
        if text == self._last or not self._remaining:
            _send({"progress": ""})
            return
        self._remaining -= 1
        self._last = text
        _send({"progress": text[:MAX_PROGRESS_LENGTH]})


def _send(answer: Mapping[str, Any]) -> None:
    line = json.dumps(answer).encode()
    if len(line) > MAX_ANSWER:
        line = json.dumps(_without_large_files(answer)).encode()
    if len(line) > MAX_ANSWER:
        line = json.dumps({"error": f"its answer has {len(line)} bytes; at most {MAX_ANSWER} are taken"}).encode()
    data = line + b"\n"
    while data:
        data = data[os.write(_channel, data) :]


def _without_large_files(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer without its largest files, each with a note, so that its other parts arrive."""
    result = answer.get("result") or {}
    parts = result.get("content")
    if not isinstance(parts, list):
        return dict(answer)
    sizes = {number: len(json.dumps(part)) for number, part in enumerate(parts)}
    excess, left_out = len(json.dumps(answer)) - MAX_ANSWER * 9 // 10, dict[int, int]()
    for number in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if excess > 0 and isinstance(parts[number], dict) and parts[number].get("type") != "text":
            left_out[number] = sizes[number]
            excess -= sizes[number]
    notes = [
        f"[A file of this result ({parts[number].get('mimeType', 'of an unknown type')!s:.50}) was left out: it has "
        f"{count:,} bytes, and a result at most {MAX_ANSWER:,}.]"
        for number, count in sorted(left_out.items())
    ]
    content = [part for number, part in enumerate(parts) if number not in left_out]
    return {**answer, "result": {**result, "content": content}, "notes": [*answer.get("notes", ()), *notes]}


async def main() -> None:
    reader = asyncio.StreamReader(limit=MAX_ANSWER * 2)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    target = json.loads(await reader.readline())
    logging.disable(logging.CRITICAL)  # the last words on stderr are the server's
    try:
        await serve(target, reader)
    except* (OSError, MCPError, ValueError, RuntimeError, httpx2.HTTPError) as group:
        _send({"error": _sentence(_innermost(group))[:2000], "ended": True})


def _innermost(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _sentence(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return f"its answer does not fit the protocol ({error.title})"
    if isinstance(error, MCPError) and str(error) == _CLOSED:
        return "it ended without an answer."
    return str(error) or type(error).__name__


_channel = os.dup(1)  # other output on stdout must not be mistaken for an answer
os.dup2(2, 1)
