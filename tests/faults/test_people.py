"""Tests of stops and interjections in 20 ms steps, in every state, and of three readers that keep losing their
connection.
"""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from tests.faults import load
from tests.faults.deployment import Embedded
from tests.faults.figures import SEED, Figures, percentile, times
from tests.faults.invariants import check
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import check_bound, until

AT_ONCE, AT_MOST = 1.0, 2.0  # seconds: p95, and the maximum
AT_A_TIME = 4


def _long(job: load.Job, number: int) -> str:
    """Return scripts that stay in one state for long, and one that goes through all states."""
    waits: list[list[Any]] = [
        [{**result(job.answer), "delay": 60}],
        [{**result(job.answer), "stall": 60}],
        [call("probe_safe", mark=f"{job.token}.0", seconds=60)],
        [call("probe_moderate", mark=f"{job.token}.0", seconds=60)],
        [call("probe_dangerous", mark=f"{job.token}.0")],
        [call("message", type="ask", text="Which?"), result(job.answer)],
        [*load.steps(job), result()],
    ]
    return script(*waits[number % len(waits)])


def _stop(deployment: Embedded, job: load.Job) -> Callable[[], bool]:
    deployment.server.call("POST", f"tasks/{job.task}/stop/")
    return lambda: load.states(deployment, [job])[job.token]["state"] in load.ENDED


def _interject(deployment: Embedded, job: load.Job) -> Callable[[], bool]:
    token = f"{job.token}m1"
    load.say(deployment, job, f"{token}\n{script(result(job.answer))}")
    query = "SELECT seq FROM task_context WHERE session_id = ? AND content LIKE ?"
    return lambda: bool(deployment.rows(query, deployment.key(job.session), f"{token}%"))


@pytest.mark.parametrize("act", [_stop, _interject], ids=["stop", "interjection"])
def test_person_takes_precedence_at_any_time(embedded: Embedded, request: pytest.FixtureRequest, act: Any) -> None:
    figures = Figures(f"{act.__name__.strip('_')} at 20 ms steps")

    def one(number: int) -> load.Job:
        (job,) = load.start(embedded, 1, lambda job, _: _long(job, number))
        job.may_fail = act is _stop
        time.sleep(number * load.STEP % 0.6)
        row = load.states(embedded, [job])[job.token]
        began = time.monotonic()
        until(act(embedded, job), 60, 0.01)
        if row["state"] not in load.ENDED:
            figures.hit([row["waiting_for"] or row["state"]])
            figures.took("effect", time.monotonic() - began)
        return job

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        jobs = list(pool.map(one, range(times(21, 140))))
    load.until_ended(embedded, jobs)
    figures.tasks = len(jobs)
    figures.report(request)
    check(embedded, jobs)
    patience = times(5, 1)  # in CI, other jobs run on the same machine
    check_bound(percentile(figures.seconds["effect"], 95), AT_ONCE * patience)
    check_bound(max(figures.seconds["effect"]), AT_MOST * patience)


class Tab:
    """A subscriber to a session's events that reconnects with the last id whenever its connection is lost."""

    def __init__(self, deployment: Embedded, session: str, seed: int) -> None:
        self._deployment, self._session, self._dice = deployment, session, random.Random(seed)
        self.entries: list[Any] = []
        self.state = ""
        self.connections = 0
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self.over.is_set():
            with suppress(Exception):  # the server was killed
                self._read(events=self._dice.randrange(1, 12))
            time.sleep(0.05)

    def _read(self, events: int) -> None:
        last = {"Last-Event-ID": str(self.entries[-1]["seq"])} if self.entries else {}
        self.connections += 1
        stream = self._deployment.server.events(self._session, **last)
        for number, event in enumerate(stream):
            if event["event"] == "entry":
                self.entries.append(event["data"])
            elif event["event"] == "state":
                self.state = event["data"]["state"]
            if number >= events:
                stream.close()  # type: ignore[attr-defined]  a generator
                return


def test_reconnecting_readers_see_each_event_once(embedded: Embedded) -> None:
    (job,) = load.start(embedded, 1)
    tabs = [Tab(embedded, job.session, SEED + number) for number in range(3)]
    for round_ in range(times(2, 20)):
        embedded.server.kill()
        embedded.server.start()
        load.until_ended(embedded, [job])
        load.say(embedded, job, f"{job.token}m{round_ + 1}\n{script(*load.steps(job)[-1:])}")
    load.until_ended(embedded, [job])
    record = embedded.server.entries(job.session)
    for tab in tabs:
        until(lambda tab=tab: len(tab.entries) >= len(record) and tab.state == "done")
        tab.over.set()
        assert [entry["seq"] for entry in tab.entries] == [entry["seq"] for entry in record]
        assert [entry["content"] for entry in tab.entries] == [entry["content"] for entry in record]
        assert tab.connections > 2
    check(embedded, [job])
