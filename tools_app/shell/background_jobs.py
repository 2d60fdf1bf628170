"""Commands that keep running in a session after the call that started them."""

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace

from tools_app import held_resources
from tools_app.errors import ToolError
from tools_app.sandbox import Command, KeptOutput, Outcome, Outlet, Sandbox, Started
from tools_app.shell.endings import advice, reason_of_kill
from tools_app.shell.terminal import shown_by_terminal

IDLE_S = 1800.0  # without a call that uses a job of the session
MOST = 4  # of one session
MOST_HERE = 50  # of one process

KEPT = 256 * 1024  # bytes of output that nobody has read yet: its beginning and its end


@dataclass(frozen=True, kw_only=True)
class Start:
    """What is started: a command in a sandbox, with access to the network if it has any."""

    sandbox: Sandbox
    command: Command
    outlet: AbstractAsyncContextManager[Outlet | None]
    started: Callable[[Started], None]


class Job:
    """Runs from its creation on, in a task of the event loop. `number` is what a model calls it by."""

    def __init__(self, number: int, start: Start) -> None:
        self.number, self._command = number, start.command
        self._unread = KeptOutput(KEPT)
        self._changed = asyncio.Event()
        source, self._input = os.pipe()
        os.set_blocking(self._input, False)
        self._task = asyncio.create_task(self._run(start, source))

    async def _run(self, start: Start, source: int) -> Outcome:
        try:
            async with start.outlet as outlet:
                command = replace(start.command, outlet=outlet, stdin=source)
                return await start.sandbox.run(command, on_output=self._take, on_start=start.started)
        finally:
            self._changed.set()
            os.close(source)
            self.close_input()

    @property
    def has_ended(self) -> bool:
        return self._task.done()

    @property
    def ending(self) -> str:
        """Its state, as a sentence. Raises ToolError if it could not be started."""
        if not self._task.done():
            return f"job {self.number} is running"
        if self._task.cancelled():
            return f"job {self.number} was ended"
        outcome = self._task.result()
        if reason := reason_of_kill(outcome, self._command.limits):
            return f"job {self.number} was {reason}"
        return f"job {self.number} ended with exit code {outcome.exit_code}"

    @property
    def advice(self) -> str:
        """About the limit that it met, if it has ended by one."""
        if not self.has_ended or self._task.cancelled():
            return ""
        return advice(self._task.result(), self._command.limits, self._command.workspace, in_background=True)

    async def new_output(self, seconds: float) -> str:
        """What it printed since the last reading; waits at most `seconds` for anything, or for its end."""
        if not self._unread.size and not self.has_ended:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
        await asyncio.sleep(0)
        unread, self._unread = self._unread, KeptOutput(KEPT)
        return shown_by_terminal(unread.text())

    def write(self, text: str) -> None:
        """To its standard input. Raises ToolError if it has ended or takes nothing more at the moment."""
        data = text.encode()
        try:
            written = os.write(self._input, data) if self._input >= 0 and not self.has_ended else -1
        except (BlockingIOError, BrokenPipeError):
            written = 0
        if written != len(data):
            taken = max(written, 0)
            raise ToolError(f"Job {self.number} took {taken} of {len(data)} bytes: it does not read its input now.")

    def close_input(self) -> None:
        """The program reads the end of its input."""
        descriptor, self._input = self._input, -1
        if descriptor >= 0:
            os.close(descriptor)

    async def end(self) -> None:
        """Kills it with all of its group. Does nothing to one that has ended."""
        self._task.cancel()
        await asyncio.wait({self._task})

    def _take(self, text: str) -> None:
        self._unread.add(text.encode(errors="replace"))
        self._changed.set()


class Jobs:
    """All of it runs on one event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[int, Job]] = {}
        self._idle: dict[str, asyncio.TimerHandle] = {}
        self._announced: dict[str, set[int]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def start(self, session: str, start: Start) -> Job:
        """Raises ToolError if there are too many."""
        jobs = self._jobs.setdefault(session, {})
        if sum(not job.has_ended for job in jobs.values()) >= MOST:
            raise ToolError(f"{MOST} commands run in the background already. End one with the tool job first.")
        if sum(len(each) for each in self._jobs.values()) >= MOST_HERE:
            raise ToolError("Too many commands run in the background on this server. Try again later.")
        number = max(jobs, default=0) + 1
        jobs[number] = Job(number, start)
        held_resources.hold(session, _name(number), f"the background command {number}")
        self.used(session)
        return jobs[number]

    def job(self, session: str, number: int) -> Job:
        """Raises ToolError."""
        self.used(session)
        try:
            return self._jobs[session][number]
        except KeyError:
            known = ", ".join(str(each) for each in self._jobs.get(session, {})) or "none"
            raise ToolError(f"There is no job {number}. Jobs of this session: {known}.") from None

    def jobs_of(self, session: str) -> list[Job]:
        return list(self._jobs.get(session, {}).values())

    def newly_served(self, session: str, served: Iterable[int]) -> list[int]:
        """Those of the ports on which programs of a session listen now that were not named before."""
        before, self._announced[session] = self._announced.get(session, set()), set(served)
        return sorted(self._announced[session] - before)

    def forget(self, session: str, number: int) -> None:
        """A job that has ended and was read to its end."""
        jobs = self._jobs.get(session, {})
        jobs.pop(number, None)
        held_resources.release(session, _name(number))
        if not jobs:
            self._jobs.pop(session, None)
            self._announced.pop(session, None)

    def used(self, session: str) -> None:
        """Restarts the timer that ends the session's jobs."""
        if timer := self._idle.pop(session, None):
            timer.cancel()
        self._idle[session] = asyncio.get_running_loop().call_later(IDLE_S, self._leave, session)

    async def end(self, session: str) -> None:
        """Ends all that run in a session."""
        if timer := self._idle.pop(session, None):
            timer.cancel()
        for job in self.jobs_of(session):
            self.forget(session, job.number)
            await job.end()

    def _leave(self, session: str) -> None:
        task = asyncio.create_task(self.end(session))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _name(number: int) -> str:
    return f"{held_resources.JOB} {number}"


jobs = Jobs()
