"""Deployments under faults: the server as one process, or a team's web and workers on servers of this suite."""

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.servers import Postgres, Redis
from tests.faults.tool_log import ToolLog
from tests.server import KEYS, ROOT, Server, configured
from tests.waiting import until

PLUGIN = Path(__file__).with_name("plugin")
CONFIG = """
providers:
  - {name: scripted, protocol: scripted}
models:
  - {name: script, providers: [{provider: scripted, model: script}]}
  - {name: tour, providers: [{provider: scripted, model: demo}]}
"""


class Deployment:
    """A deployment. `server` is the web process that people use. `rows` reads the database directly,
    without our code.
    """

    server: Server
    tools: ToolLog

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        """Return the rows of a query. `?` is a placeholder."""
        raise NotImplementedError

    def key(self, uuid: str) -> str:
        """Return a UUID in the database's form."""
        return uuid

    def close(self) -> None:
        raise NotImplementedError

    def dead(self, owner: str) -> bool:
        """Return whether the process of a lease has ended: its file is not locked."""
        try:
            with open(self.server.var / "run" / owner.partition(":")[2]) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True

    def replay_verifies(self) -> str:
        """Return the output if a request cannot be rebuilt byte for byte, otherwise ""."""
        command = [sys.executable, "manage.py", "replay", "--all", "--verify"]
        done = subprocess.run(
            command, cwd=ROOT, env=self.server.environment, capture_output=True, text=True, check=False
        )
        return "" if done.returncode == 0 else (done.stdout + done.stderr)[-2000:]


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(PLUGIN),
        "FAULTS_LOG": str(folder / "runs.jsonl"),
        "AGENTSITE_ADMIN_USERNAME": "ada",
        "AGENTSITE_MAX_RUNNING": "1000",
        "AGENTSITE_MAX_RUNNING_PER_USER": "1000",
    }


class Embedded(Deployment):
    def __init__(self, folder: Path, config: str = CONFIG, **environment: str) -> None:
        self.server = configured(folder, config, **_environment(folder), **environment)
        self.tools = ToolLog(folder / "runs.jsonl")

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        connection = sqlite3.connect(f"file:{self.server.var / 'agentsite.sqlite3'}?mode=ro", uri=True, timeout=30)
        try:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(statement, values)]
        finally:
            connection.close()

    def key(self, uuid: str) -> str:
        return uuid.replace("-", "")

    def close(self) -> None:
        self.server.kill()


class Team(Deployment):
    """A team. Tests can kill the servers `postgres` and `redis`. `through` is the port of a proxy in front of
    PostgreSQL.
    """

    def __init__(
        self, folder: Path, postgres: Postgres, database: str, redis: Redis, *, through: int = 0, **environment: str
    ) -> None:
        (folder / "agentsite.yml").write_text(environment.pop("config", CONFIG))
        self.postgres, self.redis, self._database = postgres, redis, database
        self.server = Server(
            folder / "var",
            DATABASE_URL=postgres.url(database, through),
            REDIS_URL=redis.url,
            AGENTSITE_CONFIG=str(folder / "agentsite.yml"),
            **{**KEYS, **_environment(folder), **environment},
        )
        self.tools = ToolLog(folder / "runs.jsonl")
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started = 0

    def start_worker(self, host: str = "") -> subprocess.Popen[bytes]:
        """Start a worker, and return when it takes tasks. `host` overrides the name of its machine."""
        self._started += 1
        command = [sys.executable, "-m", "celery", "-A", "agentsite", "worker", "-P", "threads", "-c", "64"]
        command += ["--without-gossip", "--without-mingle", "-n", f"w{self._started}@%h", "--loglevel", "WARNING"]
        if host:
            command = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host, *command]
        before = self._processes()
        with self.server.output.open("a") as output:
            worker = subprocess.Popen(
                command, cwd=ROOT, env=self.server.environment, stdout=output, stderr=subprocess.STDOUT
            )
        self.workers.append(worker)
        until(lambda: self._processes() - before or worker.poll() is not None, 120)
        assert worker.poll() is None, self.server.output.read_text()[-5000:]
        return worker

    def end_worker(self, worker: subprocess.Popen[bytes], how: signal.Signals = signal.SIGKILL) -> None:
        worker.send_signal(how)
        worker.wait(120)
        self.workers.remove(worker)

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        with psycopg.connect(self.postgres.url(self._database), row_factory=psycopg.rows.dict_row) as connection:
            return connection.execute(statement.replace("?", "%s").encode(), values).fetchall()

    def _processes(self) -> set[str]:
        return {row["name"] for row in self.rows("SELECT name FROM engine_processes")}

    def close(self) -> None:
        for worker in self.workers:
            os.kill(worker.pid, signal.SIGCONT)
            worker.kill()
            worker.wait()
        self.server.kill()


def kill_all(deployment: Deployment, workers: Sequence[subprocess.Popen[bytes]] = ()) -> None:
    """Kill all processes together, as in a power failure."""
    for worker in workers:
        worker.kill()
    deployment.server.kill()
    for worker in workers:
        worker.wait()
