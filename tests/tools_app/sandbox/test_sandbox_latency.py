"""A measurement of the time that bubblewrap adds to a command. The figure is printed."""

import asyncio
import os
import statistics
import time
from pathlib import Path

import pytest

from tests.waiting import check_bound
from tools_app.files import workspace_owner
from tools_app.sandbox import ShellCommand
from tools_app.sandbox.choice import choose_sandbox

ROUNDS = 15


def test_overhead_is_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if reason := (sandbox := choose_sandbox("bubblewrap")).probe():
        pytest.skip(reason)
    if owner := workspace_owner():
        os.chown(tmp_path, *owner)

    async def sandboxed() -> None:
        command = ShellCommand(text="true", workspace=tmp_path)
        await sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)

    async def bare() -> None:
        await (await asyncio.create_subprocess_exec("bash", "-c", "true")).wait()

    async def measure() -> float:
        medians = []
        for run in (sandboxed, bare):
            times = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                await run()
                times.append(time.perf_counter() - began)
            medians.append(statistics.median(times))
        return (medians[0] - medians[1]) * 1000

    added = asyncio.run(measure())
    with capsys.disabled():
        print(f"\nbubblewrap adds {added:.1f} ms to a command")  # at most 20 ms on an idle machine
    check_bound(added / 1000, 0.25)
