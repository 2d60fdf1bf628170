"""A command that outlives the call that started it, with a pipe to its input."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from tools_app.sandbox import CommandOutcome, ProcessIdentity, ProxyAccess, Sandbox, ShellCommand


@dataclass(frozen=True, kw_only=True)
class CommandRequest:
    """A command to start in a sandbox, with its network access."""

    sandbox: Sandbox
    command: ShellCommand
    proxy_access: AbstractAsyncContextManager[ProxyAccess | None]
    on_start: Callable[[ProcessIdentity], None]


class PipedCommand:
    """A command that runs in a task of the event loop. `_changed` is set by its output and its end."""

    def __init__(self, request: CommandRequest) -> None:
        self._command = request.command
        self._changed = asyncio.Event()
        self._started_at, self._seconds = time.monotonic(), 0.0
        source, self._input = os.pipe()
        os.set_blocking(self._input, False)
        self._task = asyncio.create_task(self._run(request, source))
        self._task.add_done_callback(lambda _: self._changed.set())

    async def _run(self, request: CommandRequest, source: int) -> CommandOutcome:
        try:
            async with request.proxy_access as access:
                command = replace(request.command, proxy_access=access, stdin=source)
                return await request.sandbox.run(command, on_output=self._on_output, on_start=request.on_start)
        finally:
            self._seconds = time.monotonic() - self._started_at
            os.close(source)
            self.close_input()

    @property
    def has_ended(self) -> bool:
        return self._task.done()

    @property
    def failed(self) -> bool:
        """Return whether the command could not be run."""
        return self.has_ended and not self.was_cancelled and self._task.exception() is not None

    @property
    def was_cancelled(self) -> bool:
        """Return whether the command was cancelled by a call or by the end of the session."""
        return self._task.cancelled()

    def close_input(self) -> None:
        """Close the standard input, so that the program reads its end."""
        descriptor, self._input = self._input, -1
        if descriptor >= 0:
            os.close(descriptor)

    def add_end_callback(self, callback: Callable[[], None]) -> None:
        self._task.add_done_callback(lambda _: callback())

    async def end(self) -> None:
        """Kill the process group. Do nothing if the command has ended."""
        self._task.cancel()
        await asyncio.wait({self._task})

    def _on_output(self, text: str) -> None:
        raise NotImplementedError
