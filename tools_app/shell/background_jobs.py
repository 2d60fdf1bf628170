"""The background commands of all sessions that this process holds."""

import asyncio

from tools_app import held_resources
from tools_app.errors import ToolError
from tools_app.shell.background.job import Job, Start

IDLE_S = 1800.0  # without a call that uses a job of the session
MOST = 4  # of one session
MOST_HERE = 50  # of one process


class Jobs:
    """All of it runs on one event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[int, Job]] = {}
        self._idle: dict[str, asyncio.TimerHandle] = {}
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

    def of(self, session: str, number: int) -> Job:
        """Raises ToolError."""
        self.used(session)
        try:
            return self._jobs[session][number]
        except KeyError:
            known = ", ".join(str(each) for each in self._jobs.get(session, {})) or "none"
            raise ToolError(f"There is no job {number}. Jobs of this session: {known}.") from None

    def all_of(self, session: str) -> list[Job]:
        return list(self._jobs.get(session, {}).values())

    def forget(self, session: str, number: int) -> None:
        """A job that has ended and was read to its end."""
        jobs = self._jobs.get(session, {})
        jobs.pop(number, None)
        held_resources.let_go(session, _name(number))
        if not jobs:
            self._jobs.pop(session, None)

    def used(self, session: str) -> None:
        """Begins the time anew after which the session's jobs are ended."""
        if timer := self._idle.pop(session, None):
            timer.cancel()
        self._idle[session] = asyncio.get_running_loop().call_later(IDLE_S, self._leave, session)

    async def end(self, session: str) -> None:
        """Ends all that run in a session."""
        if timer := self._idle.pop(session, None):
            timer.cancel()
        for job in self.all_of(session):
            self.forget(session, job.number)
            await job.end()

    def _leave(self, session: str) -> None:
        task = asyncio.create_task(self.end(session))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _name(number: int) -> str:
    return f"{held_resources.JOB} {number}"


jobs = Jobs()
