"""Slots for the threads of this process that compute or query: a limit on how many do so at the same time.

Python runs one thread at a time. A thread that queries the database releases the interpreter. If another thread wants
to run, getting it back costs two thread switches, dozens of times an iteration. So on SQLite one task at a time is
fastest; on PostgreSQL others can compute while some wait for answers.

A thread that waits for a model or a tool releases its slot. One that works for too long loses it, as it is probably
waiting for a disk or a lock, so a single slow thread never holds up the process.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

AT_ONCE = 3 if connection.vendor == "postgresql" else 1
STALLED = 0.25  # seconds until a slot is lost; an iteration works for some milliseconds


class WorkSlots:
    """At most `count` slots, granted in the order of requests. A slot is a lock that its thread waits for."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._changing = threading.Lock()
        self._started_at: dict[threading.Lock, float] = {}  # of the slots in use, the oldest first
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self) -> threading.Lock:
        """Wait for a slot and return it."""
        slot = threading.Lock()
        slot.acquire()
        with self._changing:
            self._waiting.append(slot)
            self._grant()
        while not slot.acquire(timeout=STALLED):
            with self._changing:
                self._end_stalled()
        return slot

    def release(self, slot: threading.Lock) -> None:
        """Return a slot, if it has not been lost."""
        with self._changing:
            self._started_at.pop(slot, None)
            self._grant()

    def _end_stalled(self) -> None:
        for slot, started_at in list(self._started_at.items()):
            if time.monotonic() - started_at >= STALLED:
                del self._started_at[slot]
        self._grant()

    def _grant(self) -> None:
        while self._waiting and len(self._started_at) < self._count:
            slot = self._waiting.popleft()
            self._started_at[slot] = time.monotonic()
            slot.release()


_slots = WorkSlots(AT_ONCE)
_current = threading.local()


@contextmanager
def held() -> Iterator[None]:
    """Hold a slot within the block."""
    _current.slot = _slots.acquire()
    try:
        yield
    finally:
        _slots.release(_current.slot)
        _current.slot = None


class released:  # noqa: N801  used as a function; a generator would take twice as long
    """A block in which this thread waits without its slot. Threads without a slot just run it."""

    def __enter__(self) -> None:
        self._slot = getattr(_current, "slot", None)
        if self._slot is not None:
            _slots.release(self._slot)

    def __exit__(self, *error: object) -> None:
        if self._slot is not None:
            _current.slot = _slots.acquire()
