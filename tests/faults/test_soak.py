"""Tests with random faults at random times. The seed is printed; `FAULTS_SEED` sets it.

`SOAK_MINUTES` is the duration. The web process and one worker are suspended but never killed: their memory is measured.
"""

import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from celery import Celery

from tests.faults import load
from tests.faults.conftest import Start
from tests.faults.deployment import Team
from tests.faults.figures import SEED, SOAK_MINUTES, Figures
from tests.faults.invariants import check

pytestmark = pytest.mark.team
BATCH = 10
GROWTH = 50.0  # MB per process
WARM = 3  # batches after which caches and pools are full


def test_random_faults(team: Start, request: pytest.FixtureRequest) -> None:
    if not SOAK_MINUTES:
        pytest.skip("a soak is run by: make soak")
    print(f"seed {SEED}")
    deployment, dice, figures = team(), random.Random(SEED), Figures(f"soak of {SOAK_MINUTES:g} min, seed {SEED}")
    lasting = [deployment.server.process, deployment.workers[0]]
    end, jobs, before = time.monotonic() + 60 * SOAK_MINUTES, [], []
    try:
        while time.monotonic() < end:
            begun = load.start(deployment, BATCH)
            fault = dice.choice(_FAULTS)
            time.sleep(dice.random())
            rows = load.states(deployment, begun)
            fault(deployment, begun, dice)
            figures.hit([fault.__name__.strip("_")] * sum(bool(row["lease_owner"]) for row in rows.values()))
            with load.approving(deployment, begun):
                figures.took("all ended after a fault", load.until_ended(deployment, begun, 90))
            figures.tasks += len(begun)
            jobs += begun
            if len(jobs) % (10 * BATCH) == 0:
                check(deployment, jobs[-10 * BATCH :], verify=False)
            if len(jobs) == WARM * BATCH:
                before = [_megabytes(process) for process in lasting]
        growth = [_megabytes(process) - was for process, was in zip(lasting, before, strict=True)]
        figures.name += (
            f", memory {'; '.join(f'{name} {mb:+.1f} MB' for name, mb in zip(('web', 'worker'), growth, strict=True))}"
        )
    finally:
        figures.report(request)
    check(deployment, jobs)
    assert max(growth) < GROWTH


def _megabytes(process: "subprocess.Popen[str] | subprocess.Popen[bytes] | None") -> float:
    assert process is not None
    (line,) = [s for s in Path(f"/proc/{process.pid}/status").read_text().splitlines() if s.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def _kill(deployment: Team, jobs: list[load.Job], dice: random.Random) -> None:
    deployment.end_worker(deployment.workers[1])
    deployment.start_worker()


def _rolling_restart(deployment: Team, jobs: list[load.Job], dice: random.Random) -> None:
    worker = deployment.workers[1]
    deployment.start_worker()
    deployment.end_worker(worker, signal.SIGTERM)


def _suspend(deployment: Team, jobs: list[load.Job], dice: random.Random) -> None:
    """Suspend a worker beyond its lease. It wakes up while another one continues."""
    worker = deployment.workers[1]
    worker.send_signal(signal.SIGSTOP)
    waking = threading.Timer(16 + dice.random() * 5, worker.send_signal, [signal.SIGCONT])
    waking.start()
    if dice.random() < 0.5:
        waking.join()


def _redis_is_gone(deployment: Team, jobs: list[load.Job], dice: random.Random) -> None:
    deployment.redis.lose() if dice.random() < 0.5 else deployment.redis.stop()
    time.sleep(dice.random() * 5)
    deployment.redis.start()


def _postgres_crashes(deployment: Team, jobs: list[load.Job], dice: random.Random) -> None:
    deployment.postgres.crash()
    time.sleep(dice.random() * 3)
    deployment.postgres.start()


def _messages_come_again(deployment: Team, jobs: list[load.Job], dice: random.Random) -> None:
    broker = Celery(broker=deployment.redis.url)
    for job in jobs * 5:
        broker.send_task("tasks_app.advance_task", args=[job.task])
    broker.close()


def _people_stop(deployment: Team, jobs: list[load.Job], dice: random.Random) -> None:
    for job in dice.sample(jobs, len(jobs) // 2):
        job.may_fail = True
        deployment.server.call("POST", f"tasks/{job.task}/stop/")


_FAULTS: tuple[Callable[[Team, list[load.Job], random.Random], None], ...] = (
    *(_kill, _rolling_restart, _suspend, _redis_is_gone, _postgres_crashes, _messages_come_again, _people_stop),
)
