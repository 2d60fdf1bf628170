"""What open pages cost: the real server, and pages of one session in another process, while a task runs in it.

python -m benchmarks.pages [COUNT …]   with so many pages and event streams
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from benchmarks import floor
from benchmarks.page_clients import Report
from benchmarks.provider import Provider, fake_provider
from benchmarks.token_server import running

COUNTS = (0, 1, 10, 100)
STEPS, TOKENS, IDLE_SECONDS = 100, 150, 4.0
_TICKS = os.sysconf("SC_CLK_TCK")
_TOKEN, _PASSWORD = "a-token-for-the-bench", "a password for the bench"
_COLUMNS = "ms an iteration   floors  messages   KiB  idle ms/s  delta p50    p99 ms"
_CONFIG = """
limits: {{max_iterations: 10000}}
providers:
  - {{name: fake, protocol: openai_native, base_url: "{fake}/v1", api_key: x}}
  - {{name: slow, protocol: openai_native, base_url: "{tokens}/v1", api_key: x}}
models:
  - {{name: loop, context_window: 10000000, providers: [{{provider: fake, model: "loop-{steps}"}}]}}
  - {{name: words, providers: [{{provider: slow, model: words}}]}}
"""


def report(counts: tuple[int, ...] = COUNTS) -> None:
    """Prints a table. Bars, in floors beyond an iteration without a page: 1.5 for one, 2 for ten, 8 for a hundred;
    deltas within 200 ms; 50 ms of CPU a second for a hundred that wait.
    """
    with tempfile.TemporaryDirectory(prefix="agentsite-pages-") as folder, fake_provider() as fake, running() as tokens:
        a_floor = _floor(fake, Path(folder))
        config = _CONFIG.format(fake=fake.base_url, tokens=f"{tokens}/stamped/{TOKENS}", steps=STEPS)
        with Server.running(Path(folder), config) as server:
            server.run_task(server.session("loop"))  # imports and first connections are not an iteration's cost
            print(f"{f'open pages, CPU of the server; floor {a_floor:.2f} ms':<48} {_COLUMNS}")
            bare = None
            for kind in ("pages", "event streams"):
                for count in counts:
                    if count == 0 and bare is not None:
                        continue
                    row = _row(server, fake, kind, count)
                    bare = row.iteration if bare is None else bare
                    print(row.line(bare, a_floor), flush=True)


@dataclass(frozen=True)
class Row:
    """CPU in ms; `messages` and `bytes` of a client and iteration."""

    name: str
    iteration: float
    messages: float
    bytes: float
    idle: float
    p50: float
    p99: float

    def line(self, bare: float, a_floor: float) -> str:
        more = (self.iteration - bare) / a_floor
        heard = f"{self.messages:9.2f} {self.bytes / 1024:5.1f} {self.idle:10.0f} {self.p50:10.0f} {self.p99:9.0f}"
        return f"{self.name:<52} {self.iteration:9.2f} {more:+8.2f} {heard}"


def _row(server: "Server", fake: Provider, kind: str, count: int) -> Row:
    session = server.session("loop")
    fake.reset()
    with server.clients(kind, session, count) as clients:
        before = server.cpu()
        time.sleep(IDLE_SECONDS)
        idle, before = (server.cpu() - before) / IDLE_SECONDS, server.cpu()
        server.run_task(session)
        server.settle()
        iteration = (server.cpu() - before) / (STEPS + 1)
        steps = clients()
    if count and steps.last_seq < 2 * STEPS:
        raise AssertionError(f"a client has missed entries: it has {steps.last_seq}")
    session = server.session("words")
    with server.clients(kind, session, count) as clients:
        server.run_task(session)
        words = clients()
    if words.with_text < count:
        raise AssertionError(f"only {words.with_text} of {count} clients saw the text")
    return Row(
        name=f"{count} {kind}",
        iteration=iteration,
        messages=steps.messages / (STEPS + 1),
        bytes=steps.bytes / (STEPS + 1),
        idle=idle,
        p50=words.p50,
        p99=words.p99,
    )


def _floor(fake: Provider, folder: Path) -> float:
    """CPU of the barest loop, ms an iteration."""
    floor.run(fake, 5, folder)
    began = time.process_time()
    floor.run(fake, STEPS, folder)
    return 1000 * (time.process_time() - began) / (STEPS + 1)


class Server:
    """`manage.py serve` on data of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self._process = process
        self._base = f"http://127.0.0.1:{port}"

    @classmethod
    @contextmanager
    def running(cls, folder: Path, config: str, **settings: str) -> Iterator["Server"]:
        path = folder / "agentsite.yml"
        path.write_text(config)
        environment = {
            "PATH": os.environ["PATH"],
            "AGENTSITE_VAR": str(folder / "var"),
            "AGENTSITE_CONFIG": str(path),
            "AGENTSITE_ADMIN_TOKEN": _TOKEN,
            "AGENTSITE_ADMIN_PASSWORD": _PASSWORD,
            "AGENTSITE_WORKSHOP": "0",
            **settings,
        }
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "manage.py", "serve", "--port", str(port)]
        with (folder / "output.txt").open("w") as output:
            process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            server = cls(process, port)
            server._wait(folder / "output.txt")
            yield server
        finally:
            process.terminate()
            process.wait()

    def _wait(self, output: Path) -> None:
        while True:
            try:
                urllib.request.urlopen(f"{self._base}/healthz", timeout=1).close()
                return
            except OSError:
                if self._process.poll() is not None:
                    raise RuntimeError(output.read_text()) from None
                time.sleep(0.1)

    def cpu(self) -> float:
        """Milliseconds that the process has used, with those of the children that have ended."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return 1000 * sum(map(int, fields[11:15])) / _TICKS

    def peak_memory(self) -> float:
        """MiB that the process has had at most."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def settle(self) -> None:
        """Waits until the clients have everything: the server rests."""
        before = self.cpu()
        while True:
            time.sleep(0.5)
            if (now := self.cpu()) - before < 100:
                return
            before = now

    def call(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._base}/api/v1/{path}", data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def session(self, model: str) -> str:
        return str(self.call("POST", "sessions/", {"model": model})["id"])

    def run_task(self, session: str) -> None:
        """Asked for seldom, as that costs the server, too."""
        task = self.call("POST", f"sessions/{session}/messages/", {"content": "go"})["task"]
        while (found := self.call("GET", f"tasks/{task}/"))["state"] not in ("done", "failed"):
            time.sleep(0.4)
        if found["state"] != "done":
            raise RuntimeError(found["failure"]["detail"])

    @contextmanager
    def clients(self, kind: str, session: str, count: int) -> Iterator[Any]:
        """Yields a function that ends them, and returns what they heard since all of them had begun."""
        if count == 0:
            yield lambda: Report(0, 0, 0, 0, 0, 0)
            return
        address = f"{self._base.replace('http', 'ws')}/ws/sessions/{session}/"
        header = ["Cookie", self._cookie()]
        if kind != "pages":
            address, header = f"{self._base}/api/v1/sessions/{session}/events/", ["Authorization", f"Bearer {_TOKEN}"]
        command = [sys.executable, "-m", "benchmarks.page_clients", address, str(count), *header]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the clients did not begin")
            yield lambda: Report(**json.loads(process.communicate()[0]))

    def _cookie(self) -> str:
        """Of the administrator, signed in by the form as a person is."""
        jar = CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        address = f"{self._base}/accounts/login/"
        page = browser.open(address).read().decode()
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert found is not None
        form = {"csrfmiddlewaretoken": found[1], "login": "admin", "password": _PASSWORD}
        browser.open(urllib.request.Request(address, urllib.parse.urlencode(form).encode(), {"Referer": address}))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


if __name__ == "__main__":
    report(tuple(map(int, sys.argv[1:])) or COUNTS)
