"""What open pages cost: the real server, and pages of one session in another process, while a task runs in it.

python -m benchmarks.pages [COUNT …]   with so many pages and event streams
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import floor
from benchmarks.provider import Provider, fake_provider
from benchmarks.server import Server
from benchmarks.token_server import running

COUNTS = (0, 1, 10, 100)
STEPS, TOKENS, IDLE_SECONDS = 100, 150, 4.0
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


def _row(server: Server, fake: Provider, kind: str, count: int) -> Row:
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


if __name__ == "__main__":
    report(tuple(map(int, sys.argv[1:])) or COUNTS)
