"""Wakes a thread that waits for it, or for a descriptor beside it."""

import os
import select
from contextlib import suppress

from llm_app.transport.waiting import ready


class Bell:
    """Who rings it before anybody waits is heard by the next one that does."""

    def __init__(self) -> None:
        self._heard, self._rung = os.pipe()
        for end in (self._heard, self._rung):
            os.set_blocking(end, False)

    def ring(self) -> None:
        """From any thread."""
        with suppress(BlockingIOError):  # it has been rung thousands of times
            os.write(self._rung, b"\0")

    def wait(self, seconds: float | None = None, descriptor: int = -1, events: int = 0) -> bool:
        """Until it rings, the descriptor has one of the events of `select.poll`, or time is up; whether it has one."""
        found = ready(seconds, {self._heard: select.POLLIN, descriptor: events})
        if self._heard in found:
            os.read(self._heard, 4096)
        return descriptor in found

    def __del__(self) -> None:
        os.close(self._heard)
        os.close(self._rung)
