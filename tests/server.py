"""A real server as a separate process: `manage.py serve` with its own data, as `make run` starts it."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.waiting import until

ROOT = Path(__file__).resolve().parent.parent
POSTGRES = os.environ.get("TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432")
REDIS = os.environ.get("TEST_REDIS", "redis://127.0.0.1:6379")
TOKEN = "a-token-for-tests"
PASSWORD = "a password for tests"
# A fixed key: a stream holds back text that could be the beginning of a key, and tests must not depend on chance.
KEYS = {
    "SECRET_KEY": "~~~ for tests, and not a secret: long enough for Django ~~~",
    "FIELD_ENCRYPTION_KEY": "_" * 42 + "8=",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def migrated() -> Path:
    """Return the folder of an empty, migrated database, made once for all workers."""
    var = Path(os.environ["AGENTSITE_TESTS_SHARED"]) / "migrated"
    with var.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not var.exists():
            migrate(AGENTSITE_VAR=str(var), **KEYS)
    return var


def migrate(**environment: str) -> None:
    """Migrate an empty database in a separate process."""
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(command, cwd=ROOT, env={"PATH": os.environ["PATH"], **environment}, check=True)


def configured(folder: Path, config: str, **environment: str) -> "Server":
    """Return a server with a configuration file and migrated tables."""
    path = folder / "agentsite.yml"
    path.write_text(config)
    shutil.copytree(migrated(), folder / "var")
    return Server(folder / "var", **{"AGENTSITE_CONFIG": str(path), **KEYS, **environment})


@contextmanager
def ended_unless_up(process: "subprocess.Popen[Any]") -> Iterator[None]:
    """Kill the process if its start fails."""
    try:
        yield
    except BaseException:
        process.kill()
        process.wait()
        raise


class Server:
    """A server with `start`, `kill` (as `kill -9`) and `stop` (as Ctrl-C). The data stays between them."""

    def __init__(self, var: Path, **environment: str) -> None:
        self.var, self.port = var, free_port()
        self.environment = {
            "PATH": os.environ["PATH"],
            "AGENTSITE_VAR": str(var),
            "AGENTSITE_ADMIN_PASSWORD": PASSWORD,
            "AGENTSITE_ADMIN_TOKEN": TOKEN,
            "AGENTSITE_WORKSHOP": "0",
            "DJANGO_SETTINGS_MODULE": "agentsite.settings",
            **environment,
        }
        self.process: subprocess.Popen[str] | None = None
        self.files = 0  # limit of open files; 0: as for the tests
        self.output = var / "output.txt"

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, seconds: float = 60) -> "Server":
        self.var.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "manage.py", "serve", "--port", str(self.port)]
        if self.files:
            command = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(self.files), *command]
        with self.output.open("a") as output:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=output, stderr=subprocess.STDOUT, text=True
            )
        with ended_unless_up(self.process):
            until(self._is_up, seconds)
        return self

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def revive(self) -> None:
        """Start the server unless it runs, after a test that killed it."""
        if not self._is_running:
            self.start()

    @property
    def _is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None and self._is_running:
            self.process.send_signal(how)
            self.process.wait(30)

    def _is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.output.read_text()
        try:
            return urllib.request.urlopen(f"{self.base_url}/healthz", timeout=1).status == 200
        except OSError:
            return False

    # --- REST -------------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Any = None, token: str = TOKEN) -> Any:
        """Return the answer's JSON.

        Raises: HTTPError for an error status.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base_url}/api/v1/{path}", data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read().decode()
        return json.loads(text) if text else None

    def raw(self, path: str) -> bytes:
        request = urllib.request.Request(f"{self.base_url}/api/v1/{path}", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return bytes(response.read())

    def task(self, task_id: str) -> Any:
        return self.call("GET", f"tasks/{task_id}/")

    def until_task(self, task_id: str, seconds: float = 60, **fields: Any) -> Any:
        """Wait until the task has the given fields, and return it."""

        def reached() -> Any:
            task = self.task(task_id)
            return task if all(task[name] == value for name, value in fields.items()) else None

        return until(reached, seconds)

    def entries(self, session_id: str) -> list[Any]:
        entries, path = [], f"sessions/{session_id}/entries/?limit=1000"
        page = self.call("GET", path)
        entries += page["results"]
        return entries

    def events(self, session_id: str, after: int | None = None, **headers: str) -> Iterator[dict[str, Any]]:
        """Yield server-sent events as {event, id?, data} while the caller reads."""
        query = "" if after is None else f"?after={after}"
        request = urllib.request.Request(
            f"{self.base_url}/api/v1/sessions/{session_id}/events/{query}",
            headers={"Authorization": f"Bearer {TOKEN}", **headers},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            event: dict[str, Any] = {}
            for raw in response:
                line = raw.decode().rstrip("\n")
                if not line and "data" in event:
                    yield event | {"data": json.loads(event["data"])}
                    event = {}
                elif line.startswith(":"):
                    continue
                elif line:
                    name, _, value = line.partition(":")
                    event[name] = event.get(name, "") + value.removeprefix(" ")
