"""Tests that kill, stop and end a team's processes, in 20 ms steps over running tasks."""

import os
import random
import signal
import time
from collections.abc import Sequence
from functools import partial

import pytest
from celery import Celery

from tests.faults import load, windows
from tests.faults.conftest import Start
from tests.faults.deployment import Team, kill_all
from tests.faults.figures import SEED, Figures, times
from tests.faults.invariants import check
from tests.tasks_app.engine.conftest import script
from tests.waiting import check_bound

pytestmark = pytest.mark.team
TASKS = times(8, 20)
RECOVERED = 20.0  # seconds with the default lease
LEASE = 4  # seconds, in tests that wait for its end


def test_kill_at_each_moment(team: Start, request: pytest.FixtureRequest) -> None:
    deployment, figures, dice = team(), Figures("kill -9 in a team"), random.Random(SEED)
    try:
        jobs, delays = load.moments(deployment, TASKS, times(3, 40))
        for number, delay in enumerate(delays):
            begun = load.start(deployment, TASKS)
            time.sleep(delay)
            hit = _kill(deployment, begun, ["worker", "all", "web", "worker"][number % 4], dice)
            figures.tasks += len(begun)
            figures.hit([row["window"] for row in hit.values()])
            _until_claimed(deployment, begun, hit, figures)
            with load.approving(deployment, begun):
                load.until_ended(deployment, begun)
            jobs += begun
        check(deployment, jobs)
    finally:
        figures.report(request)
    check_bound(max(figures.seconds["claimed again after the kill"]), RECOVERED)


def _kill(deployment: Team, jobs: Sequence[load.Job], what: str, dice: random.Random) -> dict[str, windows.Hit]:
    """Kill processes and start new ones. The hits are determined from the state before."""
    if what == "web":
        deployment.server.kill()
        rows = load.states(deployment, jobs)
        deployment.server.start()
        return {token: row | {"window": "web"} for token, row in rows.items() if row["lease_owner"]}
    if what == "all":
        kill_all(deployment, deployment.workers)
        deployment.workers.clear()
    else:
        deployment.end_worker(dice.choice(deployment.workers))
    hit = windows.of_hit(deployment, jobs, deployment.dead)
    if what == "all":
        deployment.server.start()
    while len(deployment.workers) < 2:
        deployment.start_worker()
    return hit


def _until_claimed(deployment: Team, jobs: Sequence[load.Job], hit: dict[str, windows.Hit], figures: Figures) -> None:
    """Wait until each task of a killed worker has another one, or has already gone on."""
    of_workers = {token: row for token, row in hit.items() if row["window"] != "web"}
    windows.until_claimed(deployment, jobs, of_workers, 60, partial(figures.took, "claimed again after the kill"))


def test_worker_stopped_beyond_its_lease_writes_nothing_afterwards(team: Start, request: pytest.FixtureRequest) -> None:
    deployment, figures = team(AGENTSITE_LEASE_SECONDS=str(LEASE)), Figures("SIGSTOP past the lease, SIGCONT")
    jobs, delays = load.moments(deployment, TASKS, times(3, 10))
    for number, delay in enumerate(delays):
        begun = load.start(deployment, TASKS)
        time.sleep(delay)
        asleep = deployment.workers[number % 2]
        asleep.send_signal(signal.SIGSTOP)
        held = load.states(deployment, begun)
        with load.approving(deployment, begun):
            load.until_ended(deployment, begun)
        taken = [
            row for token, row in load.states(deployment, begun).items() if row["epoch"] > held[token]["epoch"] > 0
        ]
        figures.tasks += len(begun)
        figures.hit(["taken over"] * len(taken))
        asleep.send_signal(signal.SIGCONT)
        jobs += begun
    time.sleep(1)  # its remaining work
    figures.report(request)
    check(deployment, jobs)
    assert figures.hits
    assert "the database failed" not in deployment.server.output.read_text()  # it has lost its lease and knows it


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a process another host's name")
def test_tasks_of_a_dead_host_continue_after_their_leases(team: Start, request: pytest.FixtureRequest) -> None:
    """Other hosts cannot tell that its workers are dead, neither by process id nor by their files."""
    deployment, figures = team(workers=1, AGENTSITE_LEASE_SECONDS=str(LEASE)), Figures("a host dies")
    jobs: list[load.Job] = []
    for number in range(times(2, 10)):
        elsewhere = deployment.start_worker(host="elsewhere")
        begun = load.start(deployment, TASKS)
        time.sleep(number * 2 * load.STEP)
        deployment.end_worker(elsewhere)
        began, held = time.monotonic(), load.states(deployment, begun)
        lost = {token: row for token, row in held.items() if row["lease_owner"].startswith("elsewhere:")}
        figures.hit([row["state"] for row in lost.values()])
        windows.until_claimed(deployment, begun, lost, 60, partial(figures.took, "claimed again after the kill"))
        if lost:
            assert time.monotonic() - began > LEASE / 2  # leases are renewed three times in this period
        with load.approving(deployment, begun):
            load.until_ended(deployment, begun)
        figures.tasks += len(begun)
        jobs += begun
    figures.report(request)
    check(deployment, jobs)
    assert figures.hits
    check_bound(max(figures.seconds["claimed again after the kill"]), RECOVERED)


def test_rolling_restarts_fail_no_step(team: Start, request: pytest.FixtureRequest) -> None:
    """SIGTERM lets each worker finish its current steps. No outcome is unknown, and no crash is counted."""
    deployment, figures = team(), Figures("SIGTERM, rolling restarts")
    jobs: list[load.Job] = []
    for _ in range(times(1, 5)):
        begun = load.start(deployment, 20, lambda job, number: script(*load.steps(job)))
        for worker in list(deployment.workers):
            rows = load.states(deployment, begun)
            figures.hit([row["state"] for row in rows.values() if row["lease_owner"]])
            deployment.start_worker()
            deployment.end_worker(worker, signal.SIGTERM)
        load.until_ended(deployment, begun)
        figures.tasks += len(begun)
        jobs += begun
    figures.report(request)
    check(deployment, jobs)
    statuses = {entry["metadata"].get("status") for job in jobs for entry in deployment.server.entries(job.session)}
    assert "unknown" not in statuses
    assert not deployment.rows("SELECT id FROM tasks WHERE crashes > 0")


def test_five_deliveries_of_each_broker_message(team: Start, request: pytest.FixtureRequest) -> None:
    """Each message reaches two workers five times. Only one worker at a time has the task."""
    deployment, figures = team(), Figures("each message five times, two workers")
    broker = Celery(broker=deployment.redis.url)
    jobs = load.start(deployment, times(10, 60))
    with load.approving(deployment, jobs):
        for _ in range(20):
            for _ in range(5):
                for job in jobs:
                    broker.send_task("tasks_app.advance_task", args=[job.task])
            figures.hit([row["state"] for row in load.states(deployment, jobs).values() if row["lease_owner"]])
            time.sleep(load.STEP)
        load.until_ended(deployment, jobs)
    broker.close()
    figures.tasks = len(jobs)
    figures.report(request)
    check(deployment, jobs)
    assert not deployment.rows("SELECT id FROM tasks WHERE crashes > 0")
