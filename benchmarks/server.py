"""The real server, or an entire team with its workers, on a new database."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import psycopg
import redis

from agentsite.team import DATABASE_HERE, REDIS_HERE
from benchmarks.page_clients import Report
from tests.processes import below, command_line

_TICKS = os.sysconf("SC_CLK_TCK")
_QUIET_SECONDS = 20.0  # the server closes a connection after 30
_TOKEN, _PASSWORD = "a-token-for-the-bench", "a password for the bench"


class Server:
    """A running `manage.py serve`, or `make team` with one web on this machine's PostgreSQL and Redis."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, *, is_team: bool) -> None:
        self._process, self._is_team = process, is_team
        self._local = threading.local()
        self.base_url = f"http://127.0.0.1:{port}"

    @classmethod
    @contextmanager
    def running(cls, folder: Path, config: str, **settings: str) -> Iterator["Server"]:
        with cls._started(folder, config, ["manage.py", "serve"], settings) as server:
            yield server

    @classmethod
    @contextmanager
    def team(cls, folder: Path, config: str, workers: int, **settings: str) -> Iterator["Server"]:
        name = f"agentsite_bench_{uuid.uuid4().hex[:12]}"
        address = DATABASE_HERE.rpartition("/")[0]
        stores = {"DATABASE_URL": f"{address}/{name}", "REDIS_URL": _empty_redis()}
        try:
            with cls._started(
                folder, config, ["-m", "agentsite.team"], {"WEBS": "1", "WORKERS": str(workers), **stores, **settings}
            ) as server:
                yield server
        finally:
            redis.Redis.from_url(stores["REDIS_URL"]).flushdb()
            with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
                connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    @classmethod
    @contextmanager
    def _started(cls, folder: Path, config: str, command: list[str], settings: dict[str, str]) -> Iterator["Server"]:
        path = folder / "agentsite.yml"
        path.write_text(config)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = {
            "PATH": os.environ["PATH"],
            "PORT": str(port),
            "AGENTSITE_VAR": str(folder / "var"),
            "AGENTSITE_CONFIG": str(path),
            "AGENTSITE_ADMIN_TOKEN": _TOKEN,
            "AGENTSITE_ADMIN_PASSWORD": _PASSWORD,
            "AGENTSITE_WORKSHOP": "0",
            **settings,
        }
        with (folder / "output.txt").open("w") as output:
            process = subprocess.Popen([sys.executable, *command], env=environment, stdout=output, stderr=output)
        try:
            server = cls(process, port, is_team=command[0] == "-m")
            server._wait(folder / "output.txt")
            yield server
        finally:
            process.terminate()
            process.wait()

    def _wait(self, output: Path) -> None:
        while True:
            try:
                urllib.request.urlopen(f"{self.base_url}/healthz", timeout=1).close()
                return
            except OSError:
                if self._process.poll() is not None:
                    raise RuntimeError(output.read_text()) from None
                time.sleep(0.1)

    # --- resources --------------------------------------------------------------------------------------------------

    def _processes(self) -> dict[str, int]:
        """Return the process ids of web and workers, or of the one embedded process."""
        if not self._is_team:
            return {"server": self._process.pid}
        children = {pid: command_line(pid) for pid in below(self._process.pid)}
        names = {pid: re.search(r"(?<=manage.py )serve|worker\d+(?=@)", line) for pid, line in children.items()}
        return {match[0]: pid for pid, match in names.items() if match}

    def cpu(self, *names: str) -> float:
        """Return the CPU time in ms of all processes or the named ones, including their ended children."""
        processes = self._processes()
        return sum(map(_cpu, (processes[name] for name in names) if names else processes.values()))

    def peak_memory(self) -> dict[str, float]:
        """Return the peak memory of each process in MiB."""
        return {name: _peak_memory(pid) for name, pid in self._processes().items()}

    def settle(self) -> None:
        """Wait until the server is idle, because its clients have received everything."""
        before = self.cpu()
        while True:
            time.sleep(0.5)
            if (now := self.cpu()) - before < 100:
                return
            before = now

    # --- requests ---------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"}
        connection = self._connection()
        connection.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text)

    def _connection(self) -> http.client.HTTPConnection:
        """Return this thread's connection, or a new one if the server may have closed it."""
        now, (used_at, connection) = time.monotonic(), getattr(self._local, "connection", (0.0, None))
        if connection is None or now - used_at > _QUIET_SECONDS:
            connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.base_url).netloc)
        self._local.connection = now, connection
        return connection

    def session(self, model: str) -> str:
        return str(self.call("POST", "sessions/", {"model": model})["id"])

    def run_task(self, session: str, every: float = 0.4) -> None:
        """Run a task to its end. Ask for its state only `every` so many seconds, as that costs the server CPU."""
        task = self.call("POST", f"sessions/{session}/messages/", {"content": "go"})["task"]
        while (state := self.call("GET", f"tasks/{task}/"))["state"] not in ("done", "failed"):
            time.sleep(every)
        if state["state"] != "done":
            raise RuntimeError(state["failure"]["detail"])

    def count_streamed_entries(self, session: str) -> int:
        """Return the number of entries in the session's event stream until a task has ended."""
        address = f"{self.base_url}/api/v1/sessions/{session}/events/"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {_TOKEN}"})
        count = 0
        with urllib.request.urlopen(request) as stream:
            for line in stream:
                count += line == b"event: entry\n"
                if line.startswith(b"data: ") and b'"state":"done"' in line:
                    break
        return count

    @contextmanager
    def clients(self, kind: str, session: str, count: int) -> Iterator[Any]:
        """Yield a function that ends the clients and returns their report since all of them had begun."""
        if count == 0:
            yield lambda: Report(0, 0, 0, 0, 0, 0)
            return
        header = ["Cookie", self.cookie()] if kind == "pages" else ["Authorization", f"Bearer {_TOKEN}"]
        address = self.socket(session) if kind == "pages" else f"{self.base_url}/api/v1/sessions/{session}/events/"
        command = [sys.executable, "-m", "benchmarks.page_clients", address, str(count), *header]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the clients did not begin")
            yield lambda: Report(**json.loads(process.communicate()[0]))

    def socket(self, session: str) -> str:
        return f"{self.base_url.replace('http', 'ws')}/ws/sessions/{session}/"

    def cookie(self) -> str:
        """Return the session cookie of the administrator, after a sign-in with the form."""
        jar = CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        address = f"{self.base_url}/accounts/login/"
        page = browser.open(address).read().decode()
        match = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert match is not None
        form = {"csrfmiddlewaretoken": match[1], "login": "admin", "password": _PASSWORD}
        browser.open(urllib.request.Request(address, urllib.parse.urlencode(form).encode(), {"Referer": address}))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def _empty_redis() -> str:
    """Return the address of an empty numbered database of Redis."""
    for number in range(1, 16):
        url = f"{REDIS_HERE.rpartition('/')[0]}/{number}"
        client = redis.Redis.from_url(url)
        if client.dbsize() == 0 and client.set("agentsite-bench", "1", nx=True):
            return url
    raise RuntimeError("no empty database of Redis is here")


def _cpu(pid: int) -> float:
    """Return the CPU time in ms: exact for the process, in ticks of 10 ms for its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (time.clock_gettime(~pid << 3 | 2) + sum(map(int, fields[13:15])) / _TICKS)


def _peak_memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
