"""Tests of a database clock that jumps by an hour, forward or back, while tasks run with leases and wake-ups.

The jump is simulated: the times in the rows are moved instead.
"""

import sqlite3
import time
from pathlib import Path

import pytest

from tests.faults import load
from tests.faults.deployment import Embedded
from tests.faults.figures import Figures, times
from tests.faults.invariants import check
from tests.waiting import check_bound

RECOVERED = 30.0
_MOVED = """
    UPDATE tasks SET lease_expires_at = strftime('%Y-%m-%d %H:%M:%f', lease_expires_at, :jump),
                     woken_at = strftime('%Y-%m-%d %H:%M:%f', woken_at, :jump),
                     created_at = strftime('%Y-%m-%d %H:%M:%f', created_at, :jump)
"""


def _jump(deployment: Embedded, jump: str) -> None:
    with sqlite3.connect(deployment.server.var / "agentsite.sqlite3", timeout=30) as connection:
        connection.execute(_MOVED, {"jump": jump})
    connection.close()


def test_clocks_jump(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    deployment, figures = Embedded(tmp_path), Figures("the clock jumps by an hour")
    deployment.server.start()
    try:
        jobs, delays = load.moments(deployment, times(6, 10), times(2, 10))
        for number, delay in enumerate(delays):
            begun = load.start(deployment, times(6, 10))
            time.sleep(delay)
            _jump(deployment, "+1 hour" if number % 2 else "-1 hour")
            rows = load.states(deployment, begun)
            figures.hit([row["state"] for row in rows.values() if row["lease_owner"]])
            if number % 2:  # leases of dead workers now seem to last for an hour
                deployment.server.kill()
                deployment.server.start()
            with load.approving(deployment, begun):
                figures.took("all ended", load.until_ended(deployment, begun))
            figures.tasks += len(begun)
            jobs += begun
        check(deployment, jobs)
    finally:
        deployment.close()
        figures.report(request)
    check_bound(max(figures.seconds["all ended"]), RECOVERED)
