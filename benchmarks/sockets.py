"""A thousand open pages on one web, a hundred of them at running tasks, which all lose their connection together.

python -m benchmarks.sockets [PAGES WATCHING TASKS WORKERS]   with WORKERS, a team on PostgreSQL and Redis
"""

import asyncio
import random
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

import aiohttp

from benchmarks.page_clients import Received
from benchmarks.server import Server
from benchmarks.token_server import SLOW_PACE, running

COUNTS = 1000, 100, 50, 0  # pages, of them at tasks, tasks, workers
TOKENS, UNTIL_CUT = 600, 6.0  # tokens of an answer; seconds until all connections are cut
CHANGED_PAGES = 10  # idle pages whose sessions change while they are disconnected
AT_ONCE, TIMEOUT_SECONDS = 16, 90.0
_WORD = re.compile(r"@\d+\.\d+")
_CONFIG = """
providers: [{{name: slow, protocol: openai_native, base_url: "{address}/v1", api_key: x}}]
models: [{{name: words, providers: [{{provider: slow, model: words}}]}}]
"""
_NO_LIMITS = {"AGENTSITE_MAX_RUNNING": "1000", "AGENTSITE_MAX_RUNNING_PER_USER": "1000"}


@dataclass
class Page:
    """A page that reconnects after the pause of `live.js` whenever its connection is lost."""

    session: str
    received: Received = field(default_factory=Received)
    word_count: int = 0  # in the newest entry
    faults: list[str] = field(default_factory=list)
    took: list[float] = field(default_factory=list)  # seconds from each attempt until it was answered
    is_there: asyncio.Event = field(default_factory=asyncio.Event)
    _socket: Any = None

    async def follow(self, client: aiohttp.ClientSession, address: str) -> None:
        while True:
            began = time.monotonic()
            try:
                async with client.ws_connect(
                    f"{address}?after={self.received.last_seq}", max_msg_size=0
                ) as self._socket:
                    await self._listen(began)
            except (aiohttp.ClientError, OSError) as error:
                self.faults.append(repr(error))
            self.is_there.clear()
            await asyncio.sleep(0.3 * random.uniform(0.5, 1))

    async def _listen(self, began: float) -> None:
        async for message in self._socket:
            if not self.is_there.is_set():
                self.took.append(time.monotonic() - began)
                self.is_there.set()
            before = self.received.last_seq
            self.received.add(message.data)
            if self.received.last_seq > before:
                self.word_count = len(_WORD.findall(message.data))

    def cut(self) -> None:
        self.is_there.clear()
        with suppress(OSError):
            self._socket.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def report(pages: int = COUNTS[0], watching: int = COUNTS[1], tasks: int = COUNTS[2], workers: int = COUNTS[3]) -> None:
    """Print the results. Bars: deltas within 500 ms at p99, nothing lost."""
    with tempfile.TemporaryDirectory(prefix="agentsite-sockets-") as folder, running() as tokens:
        config = _CONFIG.format(address=f"{tokens}/stamped/{TOKENS}")
        start = Server.team(Path(folder), config, workers, **_NO_LIMITS) if workers else None
        with start or Server.running(Path(folder), config, **_NO_LIMITS) as server:
            asyncio.run(_measure(server, pages, watching, tasks))
        print((Path(folder) / "output.txt").read_text()[-3000:])


async def _measure(server: Server, pages: int, watching: int, tasks: int) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        sessions = list(threads.map(server.session, ["words"] * (tasks + pages - watching)))
        busy, idle = sessions[:tasks], sessions[tasks:]
        print(f"{pages} pages, {watching} of them at {tasks} tasks", flush=True)
        open_ = [Page(session) for session in [*(busy * watching)[:watching], *idle]]
        headers = {"Cookie": server.cookie(), "Origin": server.base_url}
        connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(headers=headers, connector=connector, timeout=timeout) as client:
            following = [asyncio.create_task(page.follow(client, server.socket(page.session))) for page in open_]
            print(f"  all open after {await _all_there(open_):.1f} s; {_summary(open_)}", flush=True)
            await asyncio.to_thread(server.settle)
            before = server.cpu(), time.monotonic()
            await asyncio.sleep(3)
            print(f"  while nothing happens: {(server.cpu() - before[0]) / (time.monotonic() - before[1]):.0f} ms/s")
            loop = asyncio.get_running_loop()
            posts = [loop.run_in_executor(threads, _post, server, session) for session in busy]
            before = server.cpu(), time.monotonic()
            await asyncio.gather(*posts)
            print(f"  {tasks} posts: {time.monotonic() - before[1]:.1f} s", flush=True)
            await asyncio.sleep(UNTIL_CUT)
            print(f"  while they write: {(server.cpu() - before[0]) / (time.monotonic() - before[1]):.0f} ms/s")
            print(f"  deltas before the cut: {_delays(open_[:watching])}", flush=True)
            for page in open_:
                page.cut()
                page.received.delays.clear()
            posts = [loop.run_in_executor(threads, _post, server, session) for session in idle[:CHANGED_PAGES]]
            print(f"  all back after {await _all_there(open_):.1f} s; {_summary(open_)}", flush=True)
            await asyncio.gather(*posts)
            changed = open_[: watching + CHANGED_PAGES]
            seconds = 2 * TOKENS * SLOW_PACE + TIMEOUT_SECONDS
            await _until(lambda: all(page.word_count >= TOKENS for page in changed), seconds)
            print(f"  deltas after the cut: {_delays(open_[:watching])}")
            lost = [page for page in changed if page.word_count < TOKENS]
            print(f"  {len(lost)} of {len(changed)} pages whose session changed have lost something")
            print(f"  memory at most: {server.peak_memory()}", flush=True)
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)


def _post(server: Server, session: str) -> None:
    server.call("POST", f"sessions/{session}/messages/", {"content": "go"})


async def _all_there(pages: Sequence[Page]) -> float:
    began = time.monotonic()
    await _until(lambda: all(page.is_there.is_set() for page in pages), TIMEOUT_SECONDS)
    return time.monotonic() - began


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110  there is no event for a thousand pages
                await asyncio.sleep(0.05)


def _summary(pages: Sequence[Page]) -> str:
    took = [page.took[-1] for page in pages if page.took] or [float("nan")] * 2
    faults = [fault for page in pages for fault in page.faults]
    missing = sum(not page.is_there.is_set() for page in pages)
    waits = f"one waits {quantiles(took, n=100)[49]:.2f} s at p50, {max(took):.2f} s at most"
    return f"{waits}; {missing} missing; {len(faults)} faults {set(faults)}"


def _delays(pages: Sequence[Page]) -> str:
    delays = [delay for page in pages for delay in page.received.delays]
    hundredths = quantiles(delays, n=100) if len(delays) > 1 else [float("nan")] * 99
    return f"{hundredths[49]:.0f} ms at p50, {hundredths[98]:.0f} ms at p99"


if __name__ == "__main__":
    report(*map(int, sys.argv[1:]))
