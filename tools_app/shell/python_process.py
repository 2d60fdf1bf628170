"""The Pythons that stay: one for a session, whose variables outlive the calls."""

import asyncio
import json
import os
import secrets
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tools_app import held_resources
from tools_app.errors import InvalidArguments, ToolError
from tools_app.network import NetworkPolicy
from tools_app.sandbox import BoundedOutput, CommandLimits, CommandOutcome, Docker
from tools_app.sandbox.shell_command import MAX_TEXT
from tools_app.shell.piped_command import CommandRequest, PipedCommand

IDLE_S = 1800.0  # seconds without a call
MAX_PROCESSES = 8  # in this process of the server: each may hold 2 GiB
GRACE_S = 5.0  # seconds for the code to end once its time is over
_SEND_PAUSE_S = 0.01  # while the pipe to it is full

_PROGRAM = Path(__file__).with_name("python_program.py")


def command_line() -> str:
    """Return the command that starts a Python for calls."""
    return f"exec python3 -c {shlex.quote(_PROGRAM.read_text())}"


class PythonProcess(PipedCommand):
    """A Python in a session's sandbox. It runs one call at a time. `kind` tells which calls can share it."""

    def __init__(self, request: CommandRequest, kind: object) -> None:
        self.kind, self.is_busy = kind, False
        self._mark = f"-- end of {secrets.token_hex(16)}"
        self._pending, self._ending = "", ""
        self.output = BoundedOutput(CommandLimits().output)  # since it was last taken
        self._report: Callable[[str], None] = lambda text: None
        super().__init__(request)

    async def run(self, code: str, seconds: int, values: Mapping[str, str], report: Callable[[str], None]) -> str:
        """Run code and return its exit code, `INTERRUPTED`, or '' if the process has ended.

        A process that ignores its time limit is killed. So is one whose call is cancelled.
        """
        request = {"code": code, "seconds": seconds, "secrets": dict(values), "mark": self._mark}
        self.is_busy, self._ending, self._report = True, "", report
        try:
            async with asyncio.timeout(seconds + GRACE_S):
                await self._send(f"{json.dumps(request)}\n".encode())
                while not self._ending and not self.has_ended:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            await self.end()
        except asyncio.CancelledError:
            await self.end()
            raise
        finally:
            self.is_busy, self._report = False, lambda text: None
        return self._ending

    @property
    def outcome(self) -> CommandOutcome | None:
        """The end of the process; None while it runs and if it was killed by a call.

        Raises: ToolError if it could not be started.
        """
        return self._task.result() if self.has_ended and not self.was_cancelled else None

    def take_output(self) -> BoundedOutput:
        taken, self.output = self.output, BoundedOutput(CommandLimits().output)
        return taken

    async def _send(self, data: bytes) -> None:
        while data and self._input >= 0:
            try:
                data = data[os.write(self._input, data) :]
            except BlockingIOError:
                await asyncio.sleep(_SEND_PAUSE_S)
            except BrokenPipeError:
                return

    def _on_output(self, text: str) -> None:
        before, mark, after = (self._pending + text).partition(f"\n{self._mark} ")
        if mark and "\n" in after:
            self._ending, _, self._pending = after.partition("\n")
            self._add(before)
            self._changed.set()
            return
        self._pending = f"{mark}{after}" if mark else self._beginning_of_mark(before)
        self._add(before.removesuffix(self._pending) if not mark else before)

    def _beginning_of_mark(self, text: str) -> str:
        """Return the end of `text` that may become the mark with the next output."""
        start = text.rfind("\n", -len(self._mark) - 2)
        return text[start:] if start >= 0 and f"\n{self._mark} ".startswith(text[start:]) else ""

    def _add(self, text: str) -> None:
        self.output.add(text.encode(errors="replace"))
        self._report(text)


class PythonProcesses:
    """The Pythons of this process by session, least recently used first. All methods run on one event loop."""

    def __init__(self) -> None:
        self._processes: dict[str, PythonProcess] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def acquire(
        self, session: str, request: CommandRequest, network: NetworkPolicy
    ) -> AsyncIterator[tuple[PythonProcess, bool]]:
        """Yield the session's Python, and whether it is new: the first, or after one that has ended or must not go on.

        The idle time begins when the block ends.

        Raises: ToolError if none can be started.
        """
        if request.sandbox.name == Docker.name:
            raise ToolError("No Python stays under docker. Run python3 in a command, with files for what shall stay.")
        command = request.command
        kind = (replace(command, text="", limits=CommandLimits(), environment={}), request.sandbox.name, network)
        process = self._processes.pop(session, None)
        is_new = process is None or process.has_ended or process.is_busy or process.kind != kind
        if process is not None and is_new:
            held_resources.release(session, held_resources.PYTHON)
            await process.end()
        if process is None or is_new:
            await self._make_room()
            process = PythonProcess(request, kind)
            held_resources.hold(session, held_resources.PYTHON, "the Python with its variables")
            process.add_end_callback(lambda: self._forget(session, process))
        self._processes[session] = process
        self._stop_timer(session)
        try:
            yield process, is_new
        finally:
            if self._processes.get(session) is process:
                loop = asyncio.get_running_loop()
                self._timers[session] = loop.call_later(IDLE_S, self._end_in_background, session)

    async def end(self, session: str) -> None:
        """End the Python of a session, if there is one."""
        self._stop_timer(session)
        if process := self._processes.pop(session, None):
            held_resources.release(session, held_resources.PYTHON)
            await process.end()

    async def _make_room(self) -> None:
        """End the Python that was not used for the longest time, if there are too many.

        Raises: ToolError if all of them run code.
        """
        if len(self._processes) < MAX_PROCESSES:
            return
        idle = next((session for session, process in self._processes.items() if not process.is_busy), None)
        if idle is None:
            raise ToolError("Too many Pythons run on this server. Try again later, or run python3 in a command.")
        await self.end(idle)

    def _forget(self, session: str, process: PythonProcess) -> None:
        if self._processes.get(session) is process:
            del self._processes[session]
            held_resources.release(session, held_resources.PYTHON)

    def _stop_timer(self, session: str) -> None:
        if timer := self._timers.pop(session, None):
            timer.cancel()

    def _end_in_background(self, session: str) -> None:
        task = asyncio.create_task(self.end(session))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def check_code(code: str) -> None:
    """Check that code can be sent.

    Raises: InvalidArguments
    """
    if len(code.encode()) > MAX_TEXT:
        raise InvalidArguments("The code is too long. Write a module with the tool file, and import that.")


pythons = PythonProcesses()
