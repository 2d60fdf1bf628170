"""Pieces of text that come close together, told as one: nobody reads more often than a screen is drawn."""

import asyncio
from collections.abc import Callable
from typing import Any

DELTA_SECONDS = 1 / 30  # between two messages with text
Delta = dict[str, Any]


class Coalescer:
    """Lives on the event loop. `tell` gets one delta for each stream and kind, in the order in which they began."""

    def __init__(self, tell: Callable[[Delta], None]) -> None:
        self._tell = tell
        self._pending: dict[tuple[str, str], Delta] = {}
        self._due: asyncio.TimerHandle | None = None
        self._flushed = 0.0

    def take(self, delta: Delta) -> None:
        """Tells it at once, unless something was told a moment ago."""
        key = (delta["stream"], delta["kind"])
        if before := self._pending.get(key):
            delta = before | {"text": before["text"] + delta["text"]}
        self._pending[key] = delta
        if self._due is None:
            loop, due = asyncio.get_running_loop(), self._flushed + DELTA_SECONDS
            if loop.time() < due:
                self._due = loop.call_at(due, self.flush)
            else:
                self.flush()

    def flush(self) -> None:
        """Tells what waits."""
        self.close()
        pending, self._pending = self._pending, {}
        self._flushed = asyncio.get_running_loop().time()
        for delta in pending.values():
            self._tell(delta)

    def close(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
