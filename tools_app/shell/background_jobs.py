"""Background commands of a session, which keep running after the call that started them."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from tools_app import held_resources
from tools_app.errors import ToolError
from tools_app.sandbox import BoundedOutput
from tools_app.shell.endings import advice, kill_reason
from tools_app.shell.piped_command import CommandRequest, PipedCommand
from tools_app.shell.terminal import render_terminal

IDLE_S = 1800.0  # seconds without a call that uses a job of the session
MAX_JOBS = 4  # in one session
MAX_PROCESS_JOBS = 50  # in one process
MAX_NAMED_PROCESSES = 3  # processes named that ended with a command

FIRST_OUTPUT_S = 1.0  # without any output; then the job counts as running
SILENCE_S = 0.5  # without further output
MAX_SETTLE_S = 5.0  # for a job that prints all the time

MAX_UNREAD = 256 * 1024  # bytes of unread output: the beginning and the end


class Job(PipedCommand):
    """A background command. Models refer to it by `number`."""

    def __init__(self, number: int, request: CommandRequest) -> None:
        self.number = number
        self._unread = BoundedOutput(MAX_UNREAD)
        self._has_printed = False
        super().__init__(request)

    @property
    def exit_code(self) -> int | None:
        return self._task.result().exit_code if self.has_ended and not self.was_cancelled else None

    @property
    def state(self) -> str:
        """The state of the job as a sentence.

        Raises: ToolError if it could not be started.
        """
        if not self._task.done():
            return f"job {self.number} is running"
        if self._task.cancelled():
            return f"job {self.number} was ended"
        outcome = self._task.result()
        if reason := kill_reason(outcome, self._command.limits):
            return f"job {self.number} was {reason}"
        return f"job {self.number} ended with exit code {outcome.exit_code} after {self._seconds:.1f} s"

    @property
    def left_behind(self) -> str:
        """A note on the processes that were ended with the job, with advice; '' if there were none."""
        command_lines = () if self.exit_code is None else self._task.result().left_behind
        shown_lines = ", ".join(f"`{line}`" for line in command_lines[:MAX_NAMED_PROCESSES])
        if not shown_lines:
            return ""
        return f"; ended with it: {shown_lines}. Run that itself with background, without & or nohup"

    @property
    def advice(self) -> str:
        """Advice on the limit that ended the job, or ''."""
        if not self.has_ended or self._task.cancelled():
            return ""
        return advice(self._command, self._task.result(), in_background=True)

    async def settle(self) -> None:
        """Wait until the job has ended or has paused its output."""
        deadline = time.monotonic() + MAX_SETTLE_S
        while not self.has_ended and (remaining := deadline - time.monotonic()) > 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(min(remaining, SILENCE_S if self._has_printed else FIRST_OUTPUT_S)):
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
        unread, self._unread = self._unread, BoundedOutput(MAX_UNREAD)
        return render_terminal(unread.text())

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
            accepted = max(written, 0)
            raise ToolError(f"Job {self.number} took {accepted} of {len(data)} bytes: it does not read its input now.")

    def _on_output(self, text: str) -> None:
        self._has_printed = True
        self._unread.add(text.encode(errors="replace"))
        self._changed.set()


class BackgroundJobs:
    """The background jobs of this process by session. All methods run on one event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[int, Job]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._announced_ports: dict[str, set[int]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def start(
        self, session: str, request: CommandRequest, highest_used: int = 0, on_end: Callable[[], None] = lambda: None
    ) -> Job:
        """Start a job with a number above `highest_used`, the highest that the session has used before.

        `on_end` is called when it has ended by itself.

        Raises: ToolError if there are too many jobs.
        """
        jobs = self._jobs.setdefault(session, {})
        if sum(not job.has_ended for job in jobs.values()) >= MAX_JOBS:
            raise ToolError(f"{MAX_JOBS} commands run in the background already. End one with the tool job first.")
        if sum(len(session_jobs) for session_jobs in self._jobs.values()) >= MAX_PROCESS_JOBS:
            raise ToolError("Too many commands run in the background on this server. Try again later.")
        number = max(highest_used, *jobs, 0) + 1
        job = jobs[number] = Job(number, request)
        held_resources.hold(session, _resource_name(number), f"the background command {number}")
        job.add_end_callback(lambda: self._on_job_end(session, job, on_end))
        self.restart_timer(session)
        return job

    def get(self, session: str, number: int) -> Job:
        """Return a job and restart the idle timer.

        Raises: ToolError if there is no such job.
        """
        self.restart_timer(session)
        try:
            return self._jobs[session][number]
        except KeyError:
            numbers = ", ".join(str(existing) for existing in self._jobs.get(session, {})) or "none"
            raise ToolError(f"There is no job {number}. Jobs of this session: {numbers}.") from None

    def jobs_of(self, session: str) -> list[Job]:
        return list(self._jobs.get(session, {}).values())

    def new_ports(self, session: str, served: Iterable[int]) -> list[int]:
        """Return the ports in `served` that were not in the previous call for this session."""
        announced, self._announced_ports[session] = self._announced_ports.get(session, set()), set(served)
        return sorted(self._announced_ports[session] - announced)

    def forget(self, session: str, number: int) -> None:
        """Drop a job that has ended and whose output has been read."""
        jobs = self._jobs.get(session, {})
        jobs.pop(number, None)
        held_resources.release(session, _resource_name(number))
        held_resources.release(session, f"{held_resources.ENDED} {number}")
        if not jobs:
            self._jobs.pop(session, None)
            self._announced_ports.pop(session, None)

    def restart_timer(self, session: str) -> None:
        """Restart the timer that ends the session's idle jobs."""
        if timer := self._timers.pop(session, None):
            timer.cancel()
        self._timers[session] = asyncio.get_running_loop().call_later(IDLE_S, self._end_in_background, session)

    async def end(self, session: str) -> None:
        """End all jobs of a session."""
        if timer := self._timers.pop(session, None):
            timer.cancel()
        for job in self.jobs_of(session):
            self.forget(session, job.number)
            await job.end()

    def _on_job_end(self, session: str, job: Job, on_end: Callable[[], None]) -> None:
        """Leave a notice that the job has ended, unless a call ended it."""
        if job.was_cancelled or self._jobs.get(session, {}).get(job.number) is not job:
            return
        state = f"job {job.number} ended by a failure of the sandbox" if job.failed else job.state
        held_resources.hold(session, f"{held_resources.ENDED} {job.number}", f"{state[0].upper()}{state[1:]}.")
        on_end()

    def _end_in_background(self, session: str) -> None:
        task = asyncio.create_task(self.end(session))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _resource_name(number: int) -> str:
    return f"{held_resources.JOB} {number}"


jobs = BackgroundJobs()
