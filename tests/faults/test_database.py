"""Tests of PostgreSQL restarts in mid-transaction, and of commits whose answers are lost."""

import time
from pathlib import Path

import pytest

from tests.faults import load
from tests.faults.conftest import Start
from tests.faults.figures import Figures, times
from tests.faults.invariants import check
from tests.faults.proxy import Proxy
from tests.faults.servers import Postgres
from tests.tasks_app.engine.conftest import script
from tests.waiting import check_bound, until

pytestmark = pytest.mark.team
BETWEEN = 10.0  # seconds
TOLD = 5.0  # seconds until a request reports that the database is away
RECOVERED = 30.0  # seconds after the database is back, without a person's help


def test_restarts_in_mid_transaction(team: Start, postgres: Postgres, request: pytest.FixtureRequest) -> None:
    """All connections are cut off as by a crash. Running tasks end, and each new one is accepted."""
    deployment, figures = team(), Figures("PostgreSQL crashes and restarts")
    jobs, delays = load.moments(deployment, times(8, 20), times(1, 30))
    for delay in delays:
        begun = load.start(deployment, times(8, 20))
        time.sleep(delay)
        held = load.states(deployment, begun)
        postgres.crash()
        figures.hit([row["state"] for row in held.values() if row["lease_owner"]])
        postgres.start()
        with load.approving(deployment, begun):
            figures.took("all ended after the restart", load.until_ended(deployment, begun, RECOVERED * 2))
        figures.tasks += len(begun)
        jobs += begun
    figures.report(request)
    check(deployment, jobs)
    check_bound(max(figures.seconds["all ended after the restart"]), RECOVERED)


def test_restarts_every_ten_seconds(team: Start, postgres: Postgres, request: pytest.FixtureRequest) -> None:
    """Restart for minutes, whatever runs at that time."""
    deployment, figures = team(), Figures(f"PostgreSQL restarts every {BETWEEN:g} s")
    jobs, delays = load.moments(deployment, 8, times(2, 30))
    with load.approving(deployment, jobs):
        for delay in delays:
            time.sleep(BETWEEN - delay)  # between two faults
            jobs += load.start(deployment, 8)
            time.sleep(delay)
            rows = load.states(deployment, jobs)
            postgres.crash()
            figures.hit([row["state"] for row in rows.values() if row["lease_owner"]])
            postgres.start()
        figures.took("all ended after the last one", load.until_ended(deployment, jobs, RECOVERED * 2))
    until(lambda: load.send(deployment, jobs[0], _message(jobs[0], 1), "one key") == 202)
    jobs[0].said.append(f"{jobs[0].token}m1")
    load.until_ended(deployment, jobs[:1])
    figures.tasks = len(jobs)
    figures.report(request)
    check(deployment, jobs)
    check_bound(figures.seconds["all ended after the last one"][0], RECOVERED)


def test_lost_answers_to_commits(
    team: Start, postgres: Postgres, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    proxy, figures = Proxy(postgres.port), Figures("the answer to a commit is lost")
    deployment, jobs = team(through=proxy.port), []
    for number in range(times(1, 12)):
        begun = load.start(deployment, times(8, 20))
        proxy.lose(5, every=3 + number)
        with load.approving(deployment, begun):
            load.until_ended(deployment, begun)
        figures.tasks += len(begun)
        jobs += begun
    figures.faults, figures.hits = proxy.lost, {"commits": proxy.lost}
    figures.report(request)
    check(deployment, jobs)
    assert proxy.lost


def test_message_is_resent_after_a_lost_answer_or_an_absent_database(team: Start, postgres: Postgres) -> None:
    proxy = Proxy(postgres.port)
    deployment = team(workers=1, through=proxy.port)
    (job,) = load.start(deployment, 1)
    load.until_ended(deployment, [job])
    proxy.lose(1)
    statuses = [load.send(deployment, job, _message(job, 1), "one key") for _ in range(2)]
    assert (statuses[1], proxy.lost) == (202, 1)
    load.until_ended(deployment, [job])
    postgres.crash()
    for _ in range(3):
        began = time.monotonic()
        assert load.send(deployment, job, _message(job, 2), "another key") == 503
        check_bound(time.monotonic() - began, TOLD)
    postgres.start()
    began = time.monotonic()
    assert until(lambda: load.send(deployment, job, _message(job, 2), "another key") == 202)
    check_bound(time.monotonic() - began, RECOVERED)
    job.said += [f"{job.token}m1", f"{job.token}m2"]
    load.until_ended(deployment, [job])
    check(deployment, [job], verify=False)


def _message(job: load.Job, number: int) -> str:
    return f"{job.token}m{number}\n{script(*load.steps(job)[-1:])}"
