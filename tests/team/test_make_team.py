"""The team of `make team`: its processes are restarted, and one Ctrl-C ends them all."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_main_job import start
from tests.processes import below, command_line, living
from tests.server import ROOT, Server
from tests.tasks_app.engine.conftest import result, script
from tests.waiting import until

pytestmark = pytest.mark.team
CONFIG = "providers: [{name: scripted, protocol: scripted}]\nmodels: [{name: script, providers: [{provider: scripted, model: script}]}]\n"


@pytest.fixture
def supervised(postgres: str, redis_url: str, tmp_path: Path) -> Iterator[Server]:
    """One web, one worker and beat. The keys are generated, and all processes have the same."""
    (tmp_path / "agentsite.yml").write_text(CONFIG)
    server = Server(
        tmp_path / "var",
        DATABASE_URL=postgres,
        REDIS_URL=redis_url,
        WEBS="1",
        WORKERS="1",
        AGENTSITE_CONFIG=str(tmp_path / "agentsite.yml"),
    )
    server.environment["PORT"] = str(server.port)
    server.var.mkdir()
    with server.output.open("w") as output:
        command = [sys.executable, "-m", "agentsite.team"]
        team = subprocess.Popen(
            command, cwd=ROOT, env=server.environment, stdout=output, stderr=subprocess.STDOUT, text=True
        )
    server.process = team
    yield server
    server.kill()


def test_team_runs_tasks_replaces_a_dead_worker_and_ends_immediately(supervised: Any) -> None:
    until(supervised._is_up, 60)
    _, task = start(supervised, script(result("One.")))
    supervised.until_task(task, state="done")
    children = below(supervised.process.pid)
    worker = next(pid for pid in children if "worker1@" in command_line(pid))
    os.kill(worker, signal.SIGKILL)
    until(lambda: "worker.1 | ended with status -9, and starts again in 1 s." in supervised.output.read_text())
    _, task = start(supervised, script(result("Two.")))
    supervised.until_task(task, state="done")
    started = below(supervised.process.pid)
    supervised.process.send_signal(signal.SIGINT)
    assert supervised.process.wait(30) == 0
    until(lambda: not started & living())
    said = supervised.output.read_text()
    assert "Traceback" not in said
    assert f"web.1    |   Ready at  {supervised.base_url}/" in said
