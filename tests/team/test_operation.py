"""The probes and the doctor of a team's deployment, on a real PostgreSQL and Redis."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.servers import Redis
from tests.server import ROOT
from tests.team.conftest import POSTGRES, started
from tests.waiting import until

pytestmark = pytest.mark.team


def probe(team: Any, path: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{team.server.base_url}{path}", timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def manage(team: Any, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=False,
        cwd=ROOT,
        env=team.server.environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_probe_and_doctor_report_ready_only_with_a_worker(team: Any) -> None:
    assert probe(team, "/readyz") == (
        503,
        {"status": "not ok", "checks": {"database": "ok", "broker": "ok", "worker": "not ok"}},
    )
    worker = team.start_worker()
    until(lambda: probe(team, "/readyz")[0] == 200, 30)
    findings = {
        check["name"]: check["status"] for check in json.loads(manage(team, "doctor", "--json").stdout)["checks"]
    }
    assert {name: findings[name] for name in ("database", "broker", "channel layer", "worker", "model")} == {
        "database": "ok",
        "broker": "ok",
        "channel layer": "ok",
        "worker": "ok",
        "model": "ok",
    }
    worker.kill()
    worker.wait()
    until(lambda: probe(team, "/readyz")[0] == 503, 5)


def test_alive_but_not_ready_without_the_database(own_team: Any) -> None:
    name = own_team.server.environment["DATABASE_URL"].rsplit("/", 1)[1]
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
    assert probe(own_team, "/healthz")[0] == 200
    status, body = probe(own_team, "/readyz")
    assert (status, body["checks"]["database"]) == (503, "not ok")
    doctor = manage(own_team, "doctor")
    assert doctor.returncode == 1
    assert "The database cannot be reached" in doctor.stdout


def test_not_ready_while_redis_rejects_writes(postgres: str, tmp_path: Path) -> None:
    redis = Redis(tmp_path)
    redis.start()
    try:
        with started(postgres, redis.url, tmp_path) as team:
            team.start_worker()
            until(lambda: probe(team, "/readyz")[0] == 200, 30)
            redis.hold(1)
            status, body = probe(team, "/readyz")
            assert (status, body["checks"]["broker"]) == (503, "not ok")
            assert "or takes no messages: OutOfMemoryError" in manage(team, "doctor").stdout
            redis.hold(0)
            until(lambda: probe(team, "/readyz")[0] == 200, 30)
    finally:
        redis.kill()


def test_configuration_is_applied_on_postgresql_and_is_idempotent(team: Any, tmp_path: Any) -> None:
    path = tmp_path / "more.yml"
    path.write_text("roles: [{name: a, tools: {deny: [shell]}}]\nusers: [{username: ada, password: pw, roles: [a]}]\n")
    assert "user ada: created" in manage(team, "configure", str(path)).stdout
    assert manage(team, "configure", str(path)).stdout == f"{path} changed nothing.\n"


def test_concurrent_starts_apply_a_file_once(team: Any, tmp_path: Any) -> None:
    path = tmp_path / "shared.yml"
    path.write_text("roles: [{name: b}, {name: c}]\nusers: [{username: bea, password: pw, roles: [b]}]\n")
    start = "import django; django.setup()\nfrom agentsite.configuration import apply_at_start\nprint(len(apply_at_start()))"
    environment = team.server.environment | {"AGENTSITE_CONFIG": str(path)}
    starts = [
        subprocess.Popen([sys.executable, "-c", start], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    changes = sorted(int(process.communicate(timeout=60)[0]) for process in starts)
    assert changes == [0, 0, 0, 4]
