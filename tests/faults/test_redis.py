"""Tests of Redis restarts with and without its data, and of a longer absence: its messages are only hints."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kombu import Connection
from kombu.transport.redis import Channel

from agentsite import celery, environment
from tests.faults import load
from tests.faults.conftest import Start
from tests.faults.deployment import Team
from tests.faults.figures import Figures, times
from tests.faults.invariants import check
from tests.faults.servers import Redis
from tests.waiting import check_bound, until

pytestmark = pytest.mark.team
GONE = times(5, 60)  # seconds
RECOVERED = 30.0  # seconds after it is back


def _keeps_its_data(team: Team) -> None:
    team.redis.stop()


def _loses_its_data(team: Team) -> None:
    team.redis.lose()


def _is_gone(team: Team) -> None:
    team.redis.stop()
    time.sleep(GONE)


FAULTS: list[Callable[[Team], None]] = [_is_gone, *[_keeps_its_data, _loses_its_data] * times(1, 6)]


def test_redis_is_restarted(team: Start, request: pytest.FixtureRequest) -> None:
    deployment, figures = team(), Figures("Redis is restarted")
    jobs, delays = load.moments(deployment, times(6, 15), len(FAULTS))
    for fault, delay in zip(FAULTS, delays, strict=True):
        begun = load.start(deployment, times(6, 15))
        time.sleep(delay)
        under_way = [row for row in load.states(deployment, begun).values() if row["state"] not in load.ENDED]
        fault(deployment)
        figures.hit([f"{fault.__name__.strip('_')}, {row['state']}" for row in under_way])
        begun += load.start(deployment, 3)  # nobody is notified of them
        deployment.redis.start()
        with load.approving(deployment, begun):
            figures.took("all ended after its return", load.until_ended(deployment, begun, RECOVERED * 2))
        figures.tasks += len(begun)
        jobs += begun
    figures.report(request)
    check(deployment, jobs)
    check_bound(max(figures.seconds["all ended after its return"]), RECOVERED)


def test_worker_survives_a_full_redis(team: Start) -> None:
    deployment = team(workers=1)
    deployment.workers[0].send_signal(signal.SIGSTOP)
    jobs = load.start(deployment, 1)
    deployment.redis.hold(1)
    deployment.workers[0].send_signal(signal.SIGCONT)
    until(lambda: "maxmemory" in deployment.server.output.read_text())
    deployment.redis.hold(0)
    load.until_ended(deployment, jobs, RECOVERED * 2)


def test_worker_survives_losing_redis_before_an_acknowledgement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "EMBEDDED", False)
    monkeypatch.setattr(Channel, "do_restore", True)
    celery._disable_restore()
    redis = Redis(tmp_path)
    try:
        redis.start()
        connection = Connection(redis.url)
        queue = connection.SimpleQueue("any")
        queue.put("a wake-up")
        assert queue.get(timeout=10).payload == "a wake-up"
        redis.kill()
        connection.transport.client = None  # the state that Celery's consumer leaves if a channel could not be closed
        connection.close()
    finally:
        redis.kill()
