"""Notices an agent that repeats itself. Pure: fingerprints in, a verdict out."""

import hashlib
import json
from collections import deque
from collections.abc import Iterable
from typing import Any


def fingerprint(name: str, arguments: Any) -> str:
    """The hash of a call: its name and its arguments in canonical form."""
    canonical = json.dumps([name, arguments], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


class LoopDetector:
    """Among the last `window` calls, `threshold` identical ones may run; so many `refusals` among them end the task."""

    def __init__(self, *, window: int, threshold: int, refusals: int) -> None:
        self._threshold, self._refusals = threshold, refusals
        self._calls: deque[tuple[str, bool]] = deque(maxlen=window)

    def load(self, calls: Iterable[tuple[str, bool]]) -> None:
        """What is already in the record: fingerprint and whether it was refused as a repetition, oldest first."""
        self._calls.extend(calls)

    def repeats(self, call: str) -> bool:
        """Whether this call must be refused."""
        return sum(seen == call and not refused for seen, refused in self._calls) >= self._threshold

    def note(self, call: str, *, refused: bool) -> None:
        self._calls.append((call, refused))

    def is_hopeless(self) -> bool:
        """Whether the refusals are enough to end the task."""
        return sum(refused for _, refused in self._calls) >= self._refusals

    def forget(self) -> None:
        """A person wrote: what was a repetition may now make sense."""
        self._calls.clear()
