"""Tests of providers that stall, reset, send garbage and answer 429, until all of them are down."""

from functools import partial
from pathlib import Path

import pytest

from tests.faults import load, provider
from tests.faults.deployment import Embedded
from tests.faults.figures import SEED, Figures, times
from tests.faults.invariants import check
from tests.waiting import until

GIVEN_UP = {"provider_unavailable", "structural_error"}  # with a sentence of advice


def test_providers_fail_in_every_way(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    figures = Figures(f"providers (seed {SEED})")
    with provider.faulty(SEED) as faulty:
        deployment = Embedded(tmp_path, provider.CONFIG.format(url=faulty.url))
        deployment.server.start()
        try:
            jobs, recovered = [], []
            for _ in range(times(1, 8)):
                faulty.fails(0.2)
                jobs += (begun := load.start(deployment, times(10, 20)))
                _until_ended(deployment, begun)
                faulty.fails(1)
                jobs += (down := load.start(deployment, 3))
                _until_ended(deployment, down)
                faulty.fails(0)
                until(partial(_is_well, deployment, jobs))
                recovered += (after := load.start(deployment, 3))
                _until_ended(deployment, after)
            jobs += recovered
            check(deployment, jobs)
            rows = load.states(deployment, jobs)
        finally:
            deployment.close()
    figures.tasks, figures.faults = len(jobs), len(faulty.failed)
    for fault in faulty.failed:
        figures.hits[fault] = figures.hits.get(fault, 0) + 1
    done = {token for token, row in rows.items() if row["state"] == "done"}
    figures.report(request)
    assert {row["failure_code"] for row in rows.values()} <= GIVEN_UP | {""}
    assert done > {job.token for job in recovered}, "all that began when the provider was well, and some before"


def _is_well(deployment: Embedded, jobs: list[load.Job]) -> bool:
    """Return whether one more task, added to the jobs, passes the breakers, which stay open for a second."""
    tried = load.start(deployment, 1)
    jobs.extend(tried)
    _until_ended(deployment, tried)
    return bool(load.states(deployment, tried)[tried[0].token]["state"] == "done")


def _until_ended(deployment: Embedded, jobs: list[load.Job]) -> None:
    for job in jobs:
        job.may_fail = True
    with load.approving(deployment, jobs):
        load.until_ended(deployment, jobs, 120)
