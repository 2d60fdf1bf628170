"""The cost of open pages on the real server: another process opens pages of one session while a task runs in it.

python -m benchmarks.pages [COUNT …]   with COUNT pages and event streams
python -m benchmarks.pages fan-out     only the deliveries of one process to its subscribers
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import floor, page_floor, peers
from benchmarks.page_clients import Report
from benchmarks.provider import Provider, fake_provider
from benchmarks.server import Server
from benchmarks.token_server import running

COUNTS = (1, 10, 100)
STEPS, TOKENS, IDLE_SECONDS = 100, 150, 4.0
ROUNDS = 9  # the median counts
TOKEN_ROUNDS = 3
SHORT, LONG = 100, 2100  # fast tokens: the difference of both answers excludes their fixed cost
FOLLOWERS, EVENTS = 200, 500
_COLUMNS = "ms an iteration   floors  messages   KiB  µs a token  a page  idle ms/s  delta p50    p99 ms"
_CONFIG = """
limits: {{max_iterations: 10000}}
providers:
  - {{name: fake, protocol: openai_native, base_url: "{fake}/v1", api_key: x}}
  - {{name: slow, protocol: openai_native, base_url: "{tokens}/stamped/{count}/v1", api_key: x}}
  - {{name: short, protocol: openai_native, base_url: "{tokens}/quick/{short}/v1", api_key: x}}
  - {{name: long, protocol: openai_native, base_url: "{tokens}/quick/{long}/v1", api_key: x}}
models:
  - {{name: loop, context_window: 10000000, providers: [{{provider: fake, model: "loop-{steps}"}}]}}
  - {{name: words, providers: [{{provider: slow, model: words}}]}}
  - {{name: short, providers: [{{provider: short, model: words}}]}}
  - {{name: long, providers: [{{provider: long, model: words}}]}}
"""


def report(counts: tuple[int, ...] = COUNTS) -> None:
    """Print a table.

    Bars, in floors more than an iteration without a page: 1.5 for one page, 2 for ten, 8 for a hundred. 60 µs per
    token without a page, 10 µs more for each page. Deltas within 200 ms. 50 ms of CPU per second for a hundred idle
    pages. 60,000 deliveries per second.
    """
    with tempfile.TemporaryDirectory(prefix="agentsite-pages-") as folder, fake_provider() as fake, running() as tokens:
        a_floor, (a_token, a_page) = _floor(fake, Path(folder)), _token_floors(tokens)
        config = _CONFIG.format(fake=fake.base_url, tokens=tokens, count=TOKENS, steps=STEPS, short=SHORT, long=LONG)
        with Server.running(Path(folder), config) as server:
            server.run_task(server.session("loop"))  # exclude imports and first connections
            title = f"open pages, CPU; floors {a_floor:.2f} ms, {a_token:.0f} and {a_page:.1f} µs"
            print(f"{title:<52} {_COLUMNS}")
            print(_row(server, fake, "pages", 0).line(a_floor), flush=True)
            for kind in ("pages", "event streams"):
                for count in counts:
                    print(_row(server, fake, kind, count).line(a_floor), flush=True)
    subprocess.run([sys.executable, "-m", "benchmarks.pages", "fan-out"], check=True)


@dataclass(frozen=True)
class Row:
    """CPU times in ms, of tokens in µs. `more` and `token_more` are the additional cost of the clients."""

    count: int
    name: str
    iteration: float
    more: float
    token: float
    token_more: float
    idle: float
    steps: Report
    words: Report

    def line(self, a_floor: float) -> str:
        per_page = self.token_more / self.count if self.count else 0.0
        received = f"{self.steps.messages / (STEPS + 1):9.2f} {self.steps.bytes / (STEPS + 1) / 1024:5.1f}"
        times = f"{self.idle:10.0f} {self.words.p50:10.0f} {self.words.p99:9.0f}"
        more = f"{self.iteration:15.2f} {self.more / a_floor:+8.2f}"
        return f"{self.name:<52} {more} {received} {self.token:11.0f} {per_page:7.1f} {times}"


def _row(server: Server, fake: Provider, kind: str, count: int) -> Row:
    """Measure a row. Each round also measures without clients, as the speed of a machine changes."""
    steps = [(_steps(server, fake, kind, 0)[0], *_steps(server, fake, kind, count)) for _ in range(ROUNDS)]
    idle, words = _words(server, kind, count)
    tokens = [(_token(server, kind, 0), _token(server, kind, count)) for _ in range(TOKEN_ROUNDS)]
    return Row(
        count=count,
        name=f"{count} {kind}",
        iteration=median(iteration for _, iteration, _ in steps),
        more=median(iteration - bare for bare, iteration, _ in steps),
        token=median(token for _, token in tokens),
        token_more=median(token - bare for bare, token in tokens),
        idle=idle,
        steps=steps[-1][2],
        words=words,
    )


def _steps(server: Server, fake: Provider, kind: str, count: int) -> tuple[float, Report]:
    """Return the cost of an iteration, and the clients' report about the task."""
    session = server.session("loop")
    fake.reset()
    with server.clients(kind, session, count) as clients:
        before = server.cpu()
        server.run_task(session)
        server.settle()
        cost = (server.cpu() - before) / (STEPS + 1)
        report_of_clients = clients()
    if count and report_of_clients.last_seq < 2 * STEPS:
        raise AssertionError(f"a client has missed entries: it has {report_of_clients.last_seq}")
    return cost, report_of_clients


def _token(server: Server, kind: str, count: int) -> float:
    """Return the cost of one token of a quick stream in µs."""
    costs = []
    for model in ("short", "long"):
        session = server.session(model)
        with server.clients(kind, session, count) as clients:
            before = server.cpu()
            server.run_task(session, every=3.0)
            costs.append(server.cpu() - before)
            clients()
    return 1000 * (costs[1] - costs[0]) / (LONG - SHORT)


def _words(server: Server, kind: str, count: int) -> tuple[float, Report]:
    """Return the cost of idle clients, and their report about a stream as slow as a model's."""
    session = server.session("words")
    with server.clients(kind, session, count) as clients:
        before = server.cpu()
        time.sleep(IDLE_SECONDS)
        idle = (server.cpu() - before) / IDLE_SECONDS
        server.run_task(session)
        report_of_clients = clients()
    if report_of_clients.with_text < count:
        raise AssertionError(f"only {report_of_clients.with_text} of {count} clients saw the text")
    return idle, report_of_clients


def _floor(fake: Provider, folder: Path) -> float:
    """Return the CPU time of the minimal loop in ms per iteration."""
    floor.run(fake, 5, folder)
    costs = []
    for _ in range(ROUNDS):
        began = time.process_time()
        floor.run(fake, STEPS, folder)
        costs.append(1000 * (time.process_time() - began) / (STEPS + 1))
    return median(costs)


def _token_floors(address: str) -> tuple[float, float]:
    """Return two floors in µs of CPU per token: for reading and parsing the stream, and for sending it to one page."""
    used, took = [], []
    for tokens in (SHORT, LONG):
        began, used_before = time.monotonic(), time.process_time()
        asyncio.run(peers.floor(address, tokens, []))
        took.append(time.monotonic() - began)
        used.append(time.process_time() - used_before)
    batches = (took[1] - took[0]) / page_floor.BATCH_SECONDS
    tokens = LONG - SHORT
    return 1e6 * (used[1] - used[0]) / tokens, batches * page_floor.microseconds() / tokens


# --- in one process ---------------------------------------------------------------------------------------------


def fan_out() -> None:
    """Print the deliveries of a hub to pages per second of CPU. Events are encoded once, and sockets not counted."""
    with tempfile.TemporaryDirectory(prefix="agentsite-pages-") as folder:
        os.environ |= {"AGENTSITE_VAR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django

        django.setup()
        from agentsite.serving import first_start
        from tasks_app import services

        first_start.migrate()
        owner = first_start.ensure_admin().user
        deliveries = asyncio.run(_hand_out(services.create_session(owner)))
        print(f"fan-out to {FOLLOWERS} pages of a process: {deliveries:,.0f} a second")


async def _hand_out(session: Any) -> float:
    from tasks_app.hub.access_watch import Credential
    from tasks_app.hub.subscriber import PageSubscriber
    from tasks_app.runtime import broadcast, event_loop

    event_loop.adopt(asyncio.get_running_loop())
    received = [0] * FOLLOWERS

    async def follow(number: int) -> None:
        admission = Credential(user_id=session.owner_id, token=str(number), check=lambda: None)
        async for batch in PageSubscriber(session.owner, session.pk, 0, admission).messages():
            received[number] += len(batch)

    following = [asyncio.create_task(follow(number)) for number in range(FOLLOWERS)]
    while not all(received):  # noqa: ASYNC110  there is no event for all
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)
    before, began = list(received), time.process_time()
    for number in range(1, EVENTS + 1):
        await broadcast.send(session.group, {"type": "reset", "stream": str(number)})  # delivered without a delay
        while any(now - then < number for now, then in zip(received, before, strict=True)):  # noqa: ASYNC110
            await asyncio.sleep(0)
    used = time.process_time() - began
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    return FOLLOWERS * EVENTS / used


if __name__ == "__main__":
    if sys.argv[1:] == ["fan-out"]:
        fan_out()
    else:
        report(tuple(map(int, sys.argv[1:])) or COUNTS)
