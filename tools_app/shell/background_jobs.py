"""Background commands of a session, which keep running after the call that started them."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace

from tools_app import held_resources
from tools_app.errors import ToolError
from tools_app.sandbox import BoundedOutput, CommandOutcome, ProcessIdentity, ProxyAccess, Sandbox, ShellCommand
from tools_app.shell.endings import advice, reason_of_kill
from tools_app.shell.terminal import shown_by_terminal

IDLE_S = 1800.0  # seconds without a call that uses a job of the session
MOST = 4  # in one session
MOST_HERE = 50  # in one process
MOST_NAMED = 3  # processes named that ended with a command

FIRST_WORDS_S = 1.0  # without any output; then the job counts as running
SILENCE_S = 0.5  # without further output
SETTLES_WITHIN_S = 5.0  # for a job that prints all the time

KEPT = 256 * 1024  # bytes of unread output: the beginning and the end


@dataclass(frozen=True, kw_only=True)
class Start:
    """A command to start in a sandbox, with its network access. `ended` is called after it ends."""

    sandbox: Sandbox
    command: ShellCommand
    proxy_access: AbstractAsyncContextManager[ProxyAccess | None]
    started: Callable[[ProcessIdentity], None]
    ended: Callable[[], None]


class Job:
    """A background command, running in a task of the event loop. Models refer to it by `number`."""

    def __init__(self, number: int, start: Start) -> None:
        self.number, self._command = number, start.command
        self._unread = BoundedOutput(KEPT)
        self._changed = asyncio.Event()
        self._has_printed = False
        self._began, self._seconds = time.monotonic(), 0.0
        source, self._input = os.pipe()
        os.set_blocking(self._input, False)
        self._task = asyncio.create_task(self._run(start, source))
        self._task.add_done_callback(lambda _: self._changed.set())

    async def _run(self, start: Start, source: int) -> CommandOutcome:
        try:
            async with start.proxy_access as access:
                command = replace(start.command, proxy_access=access, stdin=source)
                return await start.sandbox.run(command, on_output=self._take, on_start=start.started)
        finally:
            self._seconds = time.monotonic() - self._began
            os.close(source)
            self.close_input()

    @property
    def has_ended(self) -> bool:
        return self._task.done()

    @property
    def failed(self) -> bool:
        """Return whether the job could not be run; `ending` raises the reason."""
        return self.has_ended and not self.was_ended and self._task.exception() is not None

    @property
    def was_ended(self) -> bool:
        """Return whether the job was cancelled by a call or by the end of the session."""
        return self._task.cancelled()

    @property
    def exit_code(self) -> int | None:
        return self._task.result().exit_code if self.has_ended and not self.was_ended else None

    @property
    def ending(self) -> str:
        """The state of the job as a sentence.

        Raises: ToolError if it could not be started.
        """
        if not self._task.done():
            return f"job {self.number} is running"
        if self._task.cancelled():
            return f"job {self.number} was ended"
        outcome = self._task.result()
        if reason := reason_of_kill(outcome, self._command.limits):
            return f"job {self.number} was {reason}"
        return f"job {self.number} ended with exit code {outcome.exit_code} after {self._seconds:.1f} s"

    @property
    def left_behind(self) -> str:
        """A note on the processes that were ended with the job, with advice; '' if there were none."""
        left = () if self.exit_code is None else self._task.result().left_behind
        named = ", ".join(f"`{line}`" for line in left[:MOST_NAMED])
        return f"; ended with it: {named}. Run that itself with background, without & or nohup" if named else ""

    @property
    def advice(self) -> str:
        """Advice on the limit that ended the job, or ''."""
        if not self.has_ended or self._task.cancelled():
            return ""
        return advice(self._command, self._task.result(), in_background=True)

    async def settle(self) -> None:
        """Wait until the job has ended or has paused its output."""
        until = time.monotonic() + SETTLES_WITHIN_S
        while not self.has_ended and (left := until - time.monotonic()) > 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(min(left, SILENCE_S if self._has_printed else FIRST_WORDS_S)):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def new_output(self, seconds: float) -> str:
        """Return the output since the last reading. Wait up to `seconds` for output or for the end."""
        if not self._unread.size and not self.has_ended:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
        return self.take_output()

    def take_output(self) -> str:
        """Return the output since the last reading without waiting."""
        unread, self._unread = self._unread, BoundedOutput(KEPT)
        return shown_by_terminal(unread.text())

    def write(self, text: str) -> None:
        """Write to the standard input.

        Raises: ToolError if the job has ended or its input is full.
        """
        data = text.encode()
        try:
            written = os.write(self._input, data) if self._input >= 0 and not self.has_ended else -1
        except (BlockingIOError, BrokenPipeError):
            written = 0
        if written != len(data):
            taken = max(written, 0)
            raise ToolError(f"Job {self.number} took {taken} of {len(data)} bytes: it does not read its input now.")

    def close_input(self) -> None:
        """Close the standard input, so that the program reads its end."""
        descriptor, self._input = self._input, -1
        if descriptor >= 0:
            os.close(descriptor)

    def on_end(self, then: Callable[[], None]) -> None:
        self._task.add_done_callback(lambda _: then())

    async def end(self) -> None:
        """Kill the process group. Do nothing if the job has ended."""
        self._task.cancel()
        await asyncio.wait({self._task})

    def _take(self, text: str) -> None:
        self._has_printed = True
        self._unread.add(text.encode(errors="replace"))
        self._changed.set()


class Jobs:
    """The background jobs of this process by session. All methods run on one event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[int, Job]] = {}
        self._idle: dict[str, asyncio.TimerHandle] = {}
        self._announced: dict[str, set[int]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def start(self, session: str, start: Start, used: int = 0) -> Job:
        """Start a job with a number above `used`, the highest number that the session has used before.

        Raises: ToolError if there are too many jobs.
        """
        jobs = self._jobs.setdefault(session, {})
        if sum(not job.has_ended for job in jobs.values()) >= MOST:
            raise ToolError(f"{MOST} commands run in the background already. End one with the tool job first.")
        if sum(len(each) for each in self._jobs.values()) >= MOST_HERE:
            raise ToolError("Too many commands run in the background on this server. Try again later.")
        number = max(used, *jobs, 0) + 1
        job = jobs[number] = Job(number, start)
        held_resources.hold(session, _name(number), f"the background command {number}")
        job.on_end(lambda: self._has_ended(session, job, start))
        self.used(session)
        return job

    def job(self, session: str, number: int) -> Job:
        """Return a job and restart the idle timer.

        Raises: ToolError if there is no such job.
        """
        self.used(session)
        try:
            return self._jobs[session][number]
        except KeyError:
            known = ", ".join(str(each) for each in self._jobs.get(session, {})) or "none"
            raise ToolError(f"There is no job {number}. Jobs of this session: {known}.") from None

    def jobs_of(self, session: str) -> list[Job]:
        return list(self._jobs.get(session, {}).values())

    def newly_served(self, session: str, served: Iterable[int]) -> list[int]:
        """Return the ports in `served` that were not in the previous call for this session."""
        before, self._announced[session] = self._announced.get(session, set()), set(served)
        return sorted(self._announced[session] - before)

    def forget(self, session: str, number: int) -> None:
        """Drop a job that has ended and whose output has been read."""
        jobs = self._jobs.get(session, {})
        jobs.pop(number, None)
        held_resources.release(session, _name(number))
        held_resources.release(session, f"{held_resources.ENDED} {number}")
        if not jobs:
            self._jobs.pop(session, None)
            self._announced.pop(session, None)

    def used(self, session: str) -> None:
        """Restart the timer that ends the session's idle jobs."""
        if timer := self._idle.pop(session, None):
            timer.cancel()
        self._idle[session] = asyncio.get_running_loop().call_later(IDLE_S, self._leave, session)

    async def end(self, session: str) -> None:
        """End all jobs of a session."""
        if timer := self._idle.pop(session, None):
            timer.cancel()
        for job in self.jobs_of(session):
            self.forget(session, job.number)
            await job.end()

    def _has_ended(self, session: str, job: Job, start: Start) -> None:
        """Leave a notice that the job has ended, unless a call ended it."""
        if job.was_ended or self._jobs.get(session, {}).get(job.number) is not job:
            return
        ending = f"job {job.number} ended by a failure of the sandbox" if job.failed else job.ending
        held_resources.hold(session, f"{held_resources.ENDED} {job.number}", f"{ending[0].upper()}{ending[1:]}.")
        start.ended()

    def _leave(self, session: str) -> None:
        task = asyncio.create_task(self.end(session))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _name(number: int) -> str:
    return f"{held_resources.JOB} {number}"


jobs = Jobs()
