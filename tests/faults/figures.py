"""The amount of work and its results. FAULTS_LONG=0 runs a short form of each family, `make soak` (1) the
complete one.
"""

import os
import random
from dataclasses import dataclass, field

import pytest

WANTED = "FAULTS_LONG" in os.environ  # unset: only tests that need one server, in the short form
LONG = os.environ.get("FAULTS_LONG") == "1"
SOAK_MINUTES = float(os.environ.get("SOAK_MINUTES", "30" if LONG else "0"))
SEED = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1_000_000))


def times(short: int, long: int) -> int:
    return long if LONG else short


@dataclass
class Figures:
    """The figures of one family. `hits` counts faults that met a running task, by what the task was doing."""

    name: str
    tasks: int = 0
    faults: int = 0
    hits: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def hit(self, windows: list[str]) -> None:
        self.faults += 1
        for window in windows:
            self.hits[window] = self.hits.get(window, 0) + 1

    def took(self, what: str, seconds: float) -> None:
        self.seconds.setdefault(what, []).append(seconds)

    def __str__(self) -> str:
        windows = ", ".join(f"{window} {count}" for window, count in sorted(self.hits.items()))
        times = "; ".join(
            f"{what} p50 {percentile(values, 50):.2f} s, p95 {percentile(values, 95):.2f} s, max {max(values):.2f} s"
            for what, values in self.seconds.items()
        )
        hit = sum(self.hits.values())
        return f"Faults, {self.name}: {self.tasks} tasks, {self.faults} faults, {hit} tasks hit ({windows}); {times}"

    def report(self, record: "pytest.FixtureRequest") -> None:
        """Print the figures in the closing lines of the run."""
        record.node.user_properties.append(("closing line", str(self)))


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]
