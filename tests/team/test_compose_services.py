"""The services of docker-compose.yml with their commands, on this machine's PostgreSQL and Redis."""

import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsite import secret_files
from tests.acceptance.test_main_job import start
from tests.agentsite.test_compose import OURS, SERVICES
from tests.server import ROOT, TOKEN, Server
from tests.tasks_app.engine.conftest import result, script
from tests.team.test_make_team import CONFIG
from tests.waiting import until

pytestmark = pytest.mark.team


@pytest.fixture
def composed(postgres: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Web, worker and beat with the command and environment of their services. Secrets come from files."""
    monkeypatch.chdir(tmp_path)
    secret_files.main()
    Path("secrets", "database_url").write_text(postgres)
    Path("secrets", "redis_url").write_text(redis_url)
    Path("agentsite.yml").write_text(CONFIG)
    server = Server(tmp_path / "var")
    server.var.mkdir()
    here = {"AGENTSITE_CONFIG": str(tmp_path / "agentsite.yml"), "AGENTSITE_WORKSHOP": "0", "PORT": str(server.port)}
    running = []
    for name in OURS:
        said = {
            key: str(value or "").replace("/run/secrets", str(tmp_path / "secrets"))
            for key, value in SERVICES[name]["environment"].items()
        }
        environment = {
            **said,
            **here,
            "PATH": _path(),
            "AGENTSITE_VAR": str(server.var),
            "AGENTSITE_ADMIN_TOKEN": TOKEN,
        }
        with server.output.open("a") as output:
            running.append(
                subprocess.Popen(
                    _command(name), cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, text=True
                )
            )
    server.process, server.environment = running[0], environment
    yield server
    for process in running:
        process.terminate()
    for process in running:
        assert process.wait(60) in (0, -15)


def _path() -> str:
    return f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


def _command(name: str) -> list[str]:
    """Return the command of a service, by default the image's."""
    of_image = re.findall(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[0]
    return list(SERVICES[name].get("command") or shlex.split(of_image.strip("[]").replace(",", "")))


def _is_healthy(name: str, server: Any) -> bool:
    kind, *check = SERVICES[name]["healthcheck"]["test"]
    shell = check if kind == "CMD" else ["sh", "-c", *check]
    here = [part.replace(":8000", f":{server.port}").replace("$(hostname)", socket.gethostname()) for part in shell]
    ended = subprocess.run(here, cwd=ROOT, env=server.environment, capture_output=True, check=False, timeout=120)
    return ended.returncode == 0


def test_each_service_starts_and_becomes_healthy(composed: Any) -> None:
    until(lambda: _is_healthy("web", composed), 60, every=0.3)
    _, task = start(composed, script(result("Composed.")))
    composed.until_task(task, state="done")
    until(lambda: _is_healthy("worker", composed), 60)
    until(lambda: _is_healthy("beat", composed), 60)
    assert "Traceback" not in composed.output.read_text()
