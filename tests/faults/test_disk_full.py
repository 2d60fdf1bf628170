"""Tests of a disk that is full for a while: stored data stays, people are notified, and tasks resume afterwards."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import load
from tests.faults.deployment import Embedded
from tests.faults.figures import Figures, times
from tests.faults.invariants import check
from tests.waiting import check_bound

SIZE = "200m"
RECOVERED = 30.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no small file system can be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    os.write(file.fileno(), bytes(size))
            except OSError:
                continue
    return ballast


def test_full_disk_for_a_while(small_disk: Path, request: pytest.FixtureRequest) -> None:
    deployment, figures = Embedded(small_disk), Figures("the disk is full")
    deployment.server.start()
    try:
        jobs, delays = load.moments(deployment, times(6, 10), times(1, 10))
        for delay in [delay + 0.05 for delay in delays]:
            begun = load.start(deployment, times(6, 10))
            time.sleep(delay)
            ballast = _fill(small_disk)
            rows = load.states(deployment, begun)
            figures.hit([row["state"] for row in rows.values() if row["lease_owner"]])
            begun += load.start(deployment, 2)  # they can be refused
            time.sleep(2)
            ballast.unlink()
            with load.approving(deployment, begun):
                figures.took("all ended when there was room", load.until_ended(deployment, begun, 2 * RECOVERED))
            figures.tasks += len(begun)
            jobs += begun
        check(deployment, jobs)
    finally:
        deployment.close()
        figures.report(request)
    check_bound(max(figures.seconds["all ended when there was room"]), RECOVERED)
