"""A connection to an MCP server. A child process holds it, so that a server that hangs, dies or floods harms only that.

Tools that no model's provider would accept are skipped.
"""

import asyncio
import hashlib
import json
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools_app.contract import McpEndpoint
from tools_app.errors import InvalidSchema, ToolError
from tools_app.json_schema import external

_START = """
import resource, sys
folder, memory = sys.argv[1:]
sys.path.append(folder)
for limit, value in ((resource.RLIMIT_DATA, int(memory)), (resource.RLIMIT_CORE, 0)):
    resource.setrlimit(limit, (value, value))
def work():
    import asyncio
    from tools_app.mcp.child import main
    asyncio.run(main())
from tools_app.mcp.subreaper import run
run(work)
"""
_PROJECT_FOLDER = str(Path(__file__).resolve().parents[2])
_MAX_MEMORY = 2 * 1024**3  # bytes, for each of its processes
_MAX_LINE = 4 * 1000**2  # bytes of an answer; the child sends less
_EXIT_TIMEOUT_S = 2  # seconds to wait for a killed process
_STDERR_TAIL = 2000  # bytes of the end of stderr


def _ignore_progress(progress: str) -> None:
    """Ignore the progress of a request."""


class ServerFailed(ToolError):
    """The MCP server did not answer."""


class McpConnection:
    """A connection that sends one request at a time. It is closed after a failure: the server's state of the session is
    lost.

    `digests` maps the names of the server's tools to their digests, as of the time when it was opened.
    """

    def __init__(self, target: McpEndpoint) -> None:
        self.target = target
        self.digests: dict[str, str] = {}
        self._process: Process | None = None
        self._stderr = b""
        self._stderr_reader: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def ask(self, request: Mapping[str, Any], report: Callable[[str], None] = _ignore_progress) -> dict[str, Any]:
        """Return the server's answer. `report` receives its progress messages.

        Cancellation or a timeout ends the child process.

        Raises: ServerFailed.
        """
        async with self._lock:
            try:
                async with asyncio.timeout(self.target.timeout_s):
                    answer = await self._exchange(request, report)
            except TimeoutError as error:
                await self.close()
                raise ServerFailed(
                    f"The MCP server {self.target.name} did not answer within {self.target.timeout_s:.0f} s. "
                    "Whether the call had an effect is unknown."
                ) from error
            except BaseException:
                await self.close()
                raise
        if answer.get("ended"):
            await self.close()
        if "error" in answer:
            raise ServerFailed(f"The MCP server {self.target.name} says: {answer['error']}")
        return answer

    async def open(self) -> None:
        """Start the child process unless it is running."""
        if not self.is_open:
            await self._start()

    async def _exchange(self, request: Mapping[str, Any], report: Callable[[str], None]) -> dict[str, Any]:
        process = self._process if self.is_open and self._process else await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):  # it has ended, which reading reports
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
        try:
            answer = json.loads(await process.stdout.readline())
            while isinstance(answer, dict) and "progress" in answer:
                report(f"{answer['progress']}\n")
                answer = json.loads(await process.stdout.readline())
        except ValueError as error:
            error_lines = self._stderr.decode(errors="replace").strip().splitlines()
            reason = f" Its last words were: {error_lines[-1]}" if error_lines else ""
            raise ServerFailed(f"The MCP server {self.target.name} ended without an answer.{reason}") from error
        if not isinstance(answer, dict):
            raise ServerFailed(f"The MCP server {self.target.name} gave an answer that cannot be read.")
        return answer

    async def _start(self) -> Process:
        await self.close()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", _START, _PROJECT_FOLDER, str(_MAX_MEMORY)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"},  # noqa: S108  a home without files
            limit=_MAX_LINE,
            start_new_session=True,
        )
        self._process, self._stderr = process, b""
        self._stderr_reader = asyncio.create_task(self._read_stderr(process))
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.target.as_json()).encode() + b"\n")
        return process

    async def _read_stderr(self, process: Process) -> None:
        """Read stderr, so that the server never blocks on it, and store its end for error messages."""
        assert process.stderr is not None
        while part := await process.stderr.read(65536):
            self._stderr = (self._stderr + part)[-_STDERR_TAIL:]

    async def close(self) -> None:
        """End the child process. Its subreaper ends all processes that it and the server have started."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.terminate()
        with suppress(TimeoutError):  # a process that the kernel blocks (a lost disk) ends later
            async with asyncio.timeout(_EXIT_TIMEOUT_S):
                await process.wait()
        if self._stderr_reader is not None:
            self._stderr_reader.cancel()


_NAME = re.compile(r"[A-Za-z0-9_-]+")
_MAX_NAME = 64  # characters of server__tool that providers accept
_NAMED_SCHEMAS = {"properties", "$defs", "definitions"}
_SCHEMAS = {"anyOf", "oneOf", "allOf", "items", "additionalProperties"}
_MAX_DESCRIPTION = 2000


@dataclass(frozen=True, kw_only=True)
class ListedTool:
    """A tool of a server. `schema` is JSON text. `digest` changes with each text that a model reads about the tool."""

    name: str
    description: str
    schema: str

    @property
    def digest(self) -> str:
        text = json.dumps([self.name, self.description, self.schema], ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def tools_of(server: str, answer: Mapping[str, Any]) -> list[ListedTool]:
    """Return the tools that a provider would accept: with a plain name, and a schema that can be checked and shown."""
    tools: list[ListedTool] = []
    for tool in answer["tools"]:
        name = tool["name"]
        if not _NAME.fullmatch(name) or len(f"{server}__{name}") > _MAX_NAME:
            continue
        try:
            schema = external.schema_text({"properties": {}, **tool["schema"], "type": "object"})
        except InvalidSchema:
            continue
        schema = json.dumps(_with_items(json.loads(schema)), ensure_ascii=False)
        description = " ".join(tool["description"].split()).replace("\0", "")[:_MAX_DESCRIPTION]
        tools.append(ListedTool(name=name, description=description, schema=schema))
    return tools


def _with_items(schema: Any) -> Any:
    """Add `items` to lists of any value: OpenAI refuses every request with a list whose items are not described.

    Source: "array schema missing items", as in github.com/ogx-ai/ogx/issues/3004.
    """
    if not isinstance(schema, dict):
        return schema
    out = dict(schema)
    for key in _NAMED_SCHEMAS & schema.keys():
        if isinstance(schema[key], dict):
            out[key] = {name: _with_items(part) for name, part in schema[key].items()}
    for key in _SCHEMAS & schema.keys():
        part = schema[key]
        out[key] = [_with_items(item) for item in part] if isinstance(part, list) else _with_items(part)
    declared = schema.get("type")
    is_list = declared == "array" or (isinstance(declared, list) and "array" in declared)
    if is_list and not {"items", "prefixItems"} & schema.keys():
        out["items"] = {}
    return out
