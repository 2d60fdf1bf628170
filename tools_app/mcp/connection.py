"""A connection to an MCP server. A child process holds it, so that a server that hangs or dies harms only that."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools_app.contract import McpEndpoint
from tools_app.errors import ToolError
from tools_app.mcp.listing import Listing, listing_of

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
_GRACE_S = 1.5  # seconds to cancel a call and to end the session with the server
_GRACE_AFTER_STOP_S = 0.3
_EXIT_TIMEOUT_S = 2  # seconds to wait for a killed process
_POLL_S = 0.01
_MAX_EXTENSION = 10  # times the timeout of a call that reports progress
_STDERR_TAIL = 2000  # bytes of the end of stderr


def _ignore_progress(progress: str) -> None:
    """Ignore the progress of a request."""


class ServerFailed(ToolError):
    """The MCP server did not answer."""


class CallRejected(ServerFailed):
    """The MCP server cannot have run the call. It can be repeated over a new connection."""


class McpConnection:
    """A connection that sends one request at a time. It is closed after a failure: the server's state of the session is
    lost.

    `listing` has the server's tools as of the time when it was opened. It is None until then, and after the server has
    announced other tools.
    """

    def __init__(self, target: McpEndpoint) -> None:
        self.target = target
        self.listing: Listing | None = None
        self._process: Process | None = None
        self._stderr = b""
        self._stderr_reader: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def ask(self, request: Mapping[str, Any], report: Callable[[str], None] = _ignore_progress) -> dict[str, Any]:
        """Return the server's answer. `report` receives its progress messages.

        Progress extends the deadline, up to ten times the timeout. Cancellation or a timeout notifies the server and
        ends the child process.

        Raises: ServerFailed.
        """
        async with self._lock:
            started_at = asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout_at(started_at + self.target.timeout_s) as deadline:
                    answer = await self._exchange(request, report, deadline, started_at)
            except TimeoutError as error:
                seconds = asyncio.get_running_loop().time() - started_at
                await self.close()
                raise ServerFailed(
                    f"The MCP server {self.target.name} did not answer within {self._limit_words(seconds)}. "
                    "Whether the call had an effect is unknown."
                ) from error
            except BaseException as error:
                await self.close(is_stopped=isinstance(error, asyncio.CancelledError))
                raise
        if answer.get("ended"):
            await self.close()
        if answer.get("new_tools"):
            self.listing = None
        if "error" in answer:
            kind = CallRejected if answer.get("rejected") else ServerFailed
            last_words = self._last_words() if answer.get("ended") and self.target.transport == "stdio" else ""
            raise kind(f"The MCP server {self.target.name} says: {answer['error']}{last_words}")
        return answer

    def _last_words(self) -> str:
        lines = self._stderr.decode(errors="replace").strip().splitlines()
        return f" Its last words were: {lines[-1]}" if lines else ""

    def _limit_words(self, seconds: float) -> str:
        """Return the time after which the call ended, and for a call with progress the reason."""
        if seconds < self.target.timeout_s + 1:
            return f"{self.target.timeout_s:.0f} s"
        if seconds < self.target.timeout_s * _MAX_EXTENSION:
            return f"{self.target.timeout_s:.0f} s after its last progress"
        return f"{self.target.timeout_s * _MAX_EXTENSION:.0f} s, the most for a call that reports progress"

    async def open(self) -> Listing:
        """Start the child process unless it is running, and return the server's tools.

        Raises: ServerFailed.
        """
        if self.listing is None or not self.is_open:
            self.listing = None
            answer = await self.ask({"do": "list"})
            self.listing = listing_of(self.target.name, answer)
        return self.listing

    async def _exchange(
        self, request: Mapping[str, Any], report: Callable[[str], None], deadline: asyncio.Timeout, started_at: float
    ) -> dict[str, Any]:
        process = self._process if self.is_open and self._process else await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):  # it has ended, which reading reports
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
        limit = started_at + self.target.timeout_s * _MAX_EXTENSION
        try:
            answer = json.loads(await process.stdout.readline())
            while isinstance(answer, dict) and "progress" in answer:
                if text := answer["progress"]:
                    report(f"{text}\n")
                deadline.reschedule(min(asyncio.get_running_loop().time() + self.target.timeout_s, limit))
                answer = json.loads(await process.stdout.readline())
        except ValueError as error:
            raise ServerFailed(
                f"The MCP server {self.target.name} ended without an answer.{self._last_words()}"
            ) from error
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

    async def close(self, *, is_stopped: bool = False) -> None:
        """End the child process: its call is cancelled, and its session with the server ended.

        Its subreaper ends all processes that it and the server have started. After a person's stop, a program gets
        little time, and the session with a server on HTTP ends in the background.
        """
        process, self._process = self._process, None
        if process is None:
            return
        is_program = self.target.transport == "stdio"
        grace = _GRACE_AFTER_STOP_S if is_stopped and is_program else _GRACE_S
        ending = asyncio.create_task(_end(process, self._stderr_reader, grace))
        _endings.add(ending)
        ending.add_done_callback(_endings.discard)
        if is_program or not is_stopped:
            await asyncio.shield(ending)


_endings: set[asyncio.Task[None]] = set()  # a task without a reference could be collected


async def _end(process: Process, stderr_reader: asyncio.Task[None] | None, grace_s: float) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await _wait_for_exit(process, grace_s)
    if process.returncode is None:
        process.terminate()
        await _wait_for_exit(process, _EXIT_TIMEOUT_S)
    if stderr_reader is not None:
        stderr_reader.cancel()


async def _wait_for_exit(process: Process, seconds: float) -> None:
    """Wait until the process has ended, even if another one holds its pipes. A blocked one (a lost disk) ends later."""
    for _ in range(round(seconds / _POLL_S)):
        if process.returncode is not None:
            return
        await asyncio.sleep(_POLL_S)
