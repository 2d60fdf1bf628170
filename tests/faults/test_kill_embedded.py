"""Tests of `kill -9` on the entire server, in 20 ms steps over running tasks."""

import time
from functools import partial
from pathlib import Path

import pytest

from tests.faults import load, windows
from tests.faults.deployment import Embedded
from tests.faults.figures import LONG, Figures, times
from tests.faults.invariants import check
from tests.waiting import check_bound

TASKS = times(8, 20)  # running at each kill
RECOVERED = 3.0  # seconds after the server is up again


def test_kill_at_each_moment(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    deployment, figures = Embedded(tmp_path), Figures("kill -9 of the embedded server")
    deployment.server.start()
    try:
        jobs, delays = load.moments(deployment, TASKS, times(3, 50))
        for delay in delays:
            begun = load.start(deployment, TASKS)
            time.sleep(delay)
            deployment.server.kill()
            hit = windows.of_hit(deployment, begun, deployment.dead)
            figures.tasks += len(begun)
            figures.hit([row["window"] for row in hit.values()])
            _restart(deployment, figures, begun, hit)
            with load.approving(deployment, begun):
                load.until_ended(deployment, begun)
            jobs += begun
        check(deployment, jobs)
    finally:
        deployment.close()
        figures.report(request)
    assert not LONG or sum(figures.hits.values()) > figures.tasks / 4  # a few kills can come between two tasks
    check_bound(max(figures.seconds.get("claimed again after the restart", [0.0])), RECOVERED)


def _restart(deployment: Embedded, figures: Figures, jobs: list[load.Job], hit: dict[str, windows.Hit]) -> None:
    """Restart the server, and check that each leased task is claimed again."""
    began = time.monotonic()
    deployment.server.start()
    figures.took("start", time.monotonic() - began)
    windows.until_claimed(deployment, jobs, hit, 30, partial(figures.took, "claimed again after the restart"))
