"""Notices an agent that repeats itself. Pure: it sees only the fingerprints of calls."""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any


def fingerprint(name: str, arguments: Any) -> str:
    """The hash of a call: its name and its arguments in canonical form."""
    return hashlib.sha256(_canonical([name, arguments]).encode(errors="surrogatepass")).hexdigest()


def uncounted(exact: str) -> str:
    """That of a call which may be made again and again: an approval is bound to it, and it makes no loop."""
    return f"{UNCOUNTED}{exact[:-1]}"


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode
LONGEST_CYCLE = 4  # calls
CYCLE_REPEATS = 4
UNCOUNTED = "-"  # begins no hash


class LoopDetector:
    """Among the last `window` calls, `threshold` identical ones may run; so many `refusals` among them end the task.

    A sequence of 2 to 4 calls that has just come round the fourth time is a cycle: it refuses nothing.
    """

    def __init__(self, *, window: int, threshold: int, refusals: int) -> None:
        self._threshold, self._refusals = threshold, refusals
        self._calls: deque[tuple[str, bool]] = deque(maxlen=window)

    def load(self, calls: Iterable[tuple[str, bool]]) -> None:
        """What is already in the record: fingerprint and whether it was refused as a repetition, oldest first."""
        self._calls.extend(calls)

    def repeats(self, call: str) -> bool:
        """Whether this call must be refused."""
        return self._calls.count((call, False)) >= self._threshold

    def cycle(self) -> list[str]:
        """The calls of the cycle that the newest call has completed, if it has: told once, not at each further turn."""
        if not self._calls or self._calls.count(self._calls[-1]) < CYCLE_REPEATS:
            return []
        calls = [seen for seen, refused in self._calls if not refused]
        if len(calls) < len(self._calls):
            return []
        lengths = range(1, LONGEST_CYCLE + 1)
        shortest = next((n for n in lengths if _turned(calls, n) >= CYCLE_REPEATS * n), 0)
        is_complete = shortest > 1 and _turned(calls, shortest) == CYCLE_REPEATS * shortest
        return calls[-shortest:] if is_complete else []

    def note(self, call: str, *, refused: bool) -> None:
        self._calls.append((call, refused))

    def is_hopeless(self) -> bool:
        """Whether the refusals are enough to end the task."""
        return sum(refused for _, refused in self._calls) >= self._refusals

    def forget(self) -> None:
        """A person wrote: what was a repetition may now make sense."""
        self._calls.clear()


def _turned(calls: Sequence[str], length: int) -> int:
    """How many of the newest calls are one sequence of `length` over and over."""
    count = min(length, len(calls))
    while count < len(calls) and calls[-count - 1] == calls[-count - 1 + length]:
        count += 1
    return count
