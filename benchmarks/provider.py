"""The fake provider in a separate process, and its records."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles


@dataclass(frozen=True)
class Provider:
    base_url: str

    def reset(self) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.base_url}/reset", method="POST", data=b"")).read()

    def gaps(self) -> "Gaps":
        """Return the times from the end of an answer to the next request: the engine's time, without the LLM's."""
        records = json.loads(urllib.request.urlopen(f"{self.base_url}/stats").read())
        pairs = pairwise(records)
        return Gaps(
            [1000 * (later[0] - earlier[1]) for earlier, later in pairs],
            bytes_sent=sum(record[2] for record in records),
            bytes_repeated=sum(record[3] for record in records),
        )


@dataclass(frozen=True)
class Gaps:
    milliseconds: list[float]
    bytes_sent: int
    bytes_repeated: int  # the part that equals the beginning of the previous request, which a provider can cache

    @property
    def p50(self) -> float:
        return median(self.milliseconds)

    @property
    def p95(self) -> float:
        return quantiles(self.milliseconds, n=20)[18]

    @property
    def repeated_percent(self) -> float:
        return 100 * self.bytes_repeated / self.bytes_sent

    def tenth(self, number: int) -> float:
        """Return the median of the first (0) or the last (-1) tenth."""
        size = max(1, len(self.milliseconds) // 10)
        return median(self.milliseconds[:size] if number == 0 else self.milliseconds[-size:])


@contextmanager
def fake_provider() -> Iterator[Provider]:
    command = [sys.executable, "-m", "benchmarks.fake_provider", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Provider(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()
