"""A model over real HTTP that plays the script of its conversation, and fails as providers do."""

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from llm_app.scripted.adapter import Scripted
from tests.provider import FakeProvider, Received, Reply, running

CONFIG = """
providers:
  - {{name: one, protocol: openai_native, base_url: "{url}", api_key: sk-a-key, timeout_s: 2,
      breaker: {{cooldown_s: 1}}}}
  - {{name: two, protocol: openai_native, base_url: "{url}", api_key: sk-a-key, timeout_s: 2,
      breaker: {{cooldown_s: 1}}}}
models:
  - {{name: script, providers: [{{provider: one, model: script}}, {{provider: two, model: script, priority: 2}}]}}
"""
FAULTS = ("stalls", "resets", "rubbish", "rubbish in the stream", "429", "503")


class FaultyProvider:
    """A provider with faults. `fails` is the share of faulty answers (1: all) and their possible kinds."""

    def __init__(self, fake: FakeProvider, seed: int) -> None:
        self.url, self._dice, self._lock = fake.base_url, random.Random(seed), threading.Lock()
        self._share, self._faults = 0.0, FAULTS
        self.failed: list[str] = []
        fake.replies = [self._answer]

    def fails(self, share: float, *faults: str) -> None:
        self._share, self._faults = share, faults or FAULTS

    def _answer(self, received: Received) -> Reply:
        good = asyncio.run(_played(received.raw))
        with self._lock:
            if self._dice.random() >= self._share:
                return Reply(chunks=good)
            fault = self._dice.choice(self._faults)
            self.failed.append(fault)
        return _faulty(fault, good)


def _faulty(fault: str, good: list[bytes]) -> Reply:
    half = len(good) // 2
    match fault:
        case "stalls":
            return Reply(chunks=good, stall_at=half, stall_s=10)
        case "resets":
            return Reply(chunks=[*good[:half], good[half][:10]])
        case "rubbish":
            return Reply(chunks=[b"<html>502 Bad Gateway</html>"], content_type="text/html")
        case "rubbish in the stream":
            return Reply(chunks=[*good[:half], b"data: {\xff\xfe not json\n\n", *good[half:]])
        case "429":
            return Reply(status=429, headers={"Retry-After": "1"}, content_type="application/json", chunks=[b"{}"])
        case _:
            return Reply(status=503, content_type="application/json", chunks=[b"{}"])


async def _played(body: bytes) -> list[bytes]:
    return [b"data: " + event.data.encode() + b"\n\n" async for event in Scripted()._generate(body)]


@contextmanager
def faulty(seed: int) -> Iterator[FaultyProvider]:
    with running() as fake:
        yield FaultyProvider(fake, seed)
