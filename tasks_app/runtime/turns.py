"""Turns: a limit on the threads of this process that compute or query at the same time.

Python runs one thread at a time. A thread that queries the database releases the interpreter. If another thread wants
to run, getting it back costs two thread switches, dozens of times an iteration. So on SQLite one task at a time is
fastest; on PostgreSQL others can compute while some wait for answers.

A thread that waits for a model or a tool gives its turn away. One that works for too long loses it, as it is probably
waiting for a disk or a lock, so a single slow thread never holds up the process.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

AT_ONCE = 3 if connection.vendor == "postgresql" else 1
STALLED = 0.25  # seconds until a turn is lost; an iteration works for some milliseconds


class Turns:
    """At most `at_once` turns, granted in the order of requests."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._changing = threading.Lock()
        self._had: dict[threading.Lock, float] = {}  # with the time of their start, the oldest first
        self._awaited: deque[threading.Lock] = deque()

    def take(self) -> threading.Lock:
        """Wait for a turn and return it."""
        turn = threading.Lock()
        turn.acquire()
        with self._changing:
            self._awaited.append(turn)
            self._pass_on()
        while not turn.acquire(timeout=STALLED):
            with self._changing:
                self._end_the_stalled()
        return turn

    def give(self, turn: threading.Lock) -> None:
        """Return a turn, if it has not been lost."""
        with self._changing:
            self._had.pop(turn, None)
            self._pass_on()

    def _end_the_stalled(self) -> None:
        for turn, came in list(self._had.items()):
            if time.monotonic() - came >= STALLED:
                del self._had[turn]
        self._pass_on()

    def _pass_on(self) -> None:
        while self._awaited and len(self._had) < self._at_once:
            turn = self._awaited.popleft()
            self._had[turn] = time.monotonic()
            turn.release()


_turns = Turns(AT_ONCE)
_here = threading.local()


@contextmanager
def taken() -> Iterator[None]:
    """Hold a turn within the block."""
    _here.turn = _turns.take()
    try:
        yield
    finally:
        _turns.give(_here.turn)
        _here.turn = None


class given_away:  # noqa: N801  used as a function; a generator would take twice as long
    """A block in which this thread waits without its turn. Threads without a turn just run it."""

    def __enter__(self) -> None:
        self._turn = getattr(_here, "turn", None)
        if self._turn is not None:
            _turns.give(self._turn)

    def __exit__(self, *error: object) -> None:
        if self._turn is not None:
            _here.turn = _turns.take()
