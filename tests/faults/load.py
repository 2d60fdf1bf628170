"""Tasks that run during a fault: started together, driven by approvals, and awaited."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tests.faults.deployment import Deployment
from tests.server import TOKEN
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import until

STEP = 0.02  # seconds
ENDED = ("done", "failed")


@dataclass
class Job:
    """One task. `said` are the accepted messages (202), each with its own token."""

    token: str
    session: str = ""
    task: str = ""
    said: list[str] = field(default_factory=list)
    may_fail: bool = False

    @property
    def answer(self) -> str:
        return f"{self.token} is done, and this is the whole answer to it."


def steps(job: Job, *, pause: float = 0.03, dangerous: bool = False) -> list[dict[str, Any]]:
    """Return a safe call, a moderate one, sometimes one that needs an approval, and a streamed result."""
    calls = ["safe", "moderate", *(["dangerous"] if dangerous else []), "moderate"]
    probes = [
        {**call(f"probe_{danger}", mark=f"{job.token}.{number}", seconds=3 * pause), "delay": pause}
        for number, danger in enumerate(calls)
    ]
    return [*probes, {**result(job.answer), "pace": pause / 3}]


def start(deployment: Deployment, count: int, text: Callable[[Job, int], str] | None = None) -> list[Job]:
    """Start a number of tasks together. A start that was refused or not answered does not count."""
    make = text or (lambda job, number: script(*steps(job, dangerous=number % 4 == 3)))
    with ThreadPoolExecutor(max_workers=min(count, 16)) as pool:
        return [job for job in pool.map(lambda number: _start(deployment, number, make), range(count)) if job.task]


def _start(deployment: Deployment, number: int, text: Callable[[Job, int], str]) -> Job:
    job = Job(f"job{uuid.uuid4().hex[:12]}")
    try:
        job.session = deployment.server.call("POST", "sessions/", {"model": "script"})["id"]
        say(deployment, job, f"{job.token}m0\n{text(job, number)}")
    except (HTTPError, URLError, ConnectionError, TimeoutError):
        return job
    return job


def send(deployment: Deployment, job: Job, content: str, key: str) -> int:
    """Return the status of the answer to a message with an `Idempotency-Key`."""
    request = Request(
        f"{deployment.server.base_url}/api/v1/sessions/{job.session}/messages/",
        data=json.dumps({"content": content}).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Idempotency-Key": key},
    )
    try:
        with urlopen(request, timeout=60) as response:
            return int(response.status)
    except HTTPError as error:
        return error.code


def say(deployment: Deployment, job: Job, content: str) -> None:
    """Send a message whose first line is its token."""
    answer = deployment.server.call("POST", f"sessions/{job.session}/messages/", {"content": content})
    job.said.append(content.partition("\n")[0])
    job.task = answer["task"] or job.task


def states(deployment: Deployment, jobs: Sequence[Job]) -> dict[str, dict[str, Any]]:
    """Return the state of each session's newest task from the database, by the job's token."""
    rows = deployment.rows(
        "SELECT session_id, id, state, waiting_for, epoch, lease_owner, failure_code FROM tasks ORDER BY created_at"
    )
    newest = {str(row["session_id"]).replace("-", ""): row for row in rows}
    return {job.token: newest[job.session.replace("-", "")] for job in jobs}


@contextmanager
def approving(deployment: Deployment, jobs: Sequence[Job]) -> Iterator[None]:
    """Approve waiting calls while the block runs. Requests are repeated while the server is away."""
    over = threading.Event()

    def approve() -> None:
        while not over.wait(0.1):
            try:
                waiting = [job for job in jobs if states(deployment, jobs)[job.token]["waiting_for"] == "approval"]
                for job in waiting:
                    deployment.server.call("POST", f"tasks/{job.task}/approval/", {"decision": "approve"})
            except Exception:  # noqa: S112  the server was killed, or another thread decided
                continue

    thread = threading.Thread(target=approve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def moments(deployment: Deployment, tasks: int, count: int) -> tuple[list[Job], list[float]]:
    """Run tasks without a fault, and return them with delays in 20 ms steps over their duration."""
    began = time.monotonic()
    jobs = start(deployment, tasks)
    started = time.monotonic() - began
    with approving(deployment, jobs):
        until_ended(deployment, jobs)
    whole = time.monotonic() - began - started
    statuses = {
        e["metadata"]["status"] for job in jobs for e in deployment.server.entries(job.session) if e["tool_call_id"]
    }
    assert statuses == {"succeeded"}  # the tools are available
    steps = max(1, round(whole / STEP))
    return jobs, [STEP * (steps * number // count) for number in range(count)]


def until_ended(deployment: Deployment, jobs: Sequence[Job], seconds: float = 60) -> float:
    """Wait until all tasks have ended, and return the seconds that it took."""
    began = time.monotonic()

    def all_ended() -> bool:
        return all(row["state"] in ENDED for row in states(deployment, jobs).values())

    try:
        until(all_ended, seconds, 0.05)
    except AssertionError:
        open_ = {token: row for token, row in states(deployment, jobs).items() if row["state"] not in ENDED}
        raise AssertionError(f"not at their end: {open_}\n{deployment.server.output.read_text()[-5000:]}") from None
    return time.monotonic() - began
