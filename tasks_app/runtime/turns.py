"""How many tasks of this process work at once; the others wait for a model, for a tool, or here for their turn.

Python runs one thread at a time. Whoever asks the database lets go of it, and where another wants to run, wins it back
with two switches of threads, dozens of times an iteration: on SQLite one task at a time is quickest, and on PostgreSQL
others compute while some wait for their answers. Whoever waits for a model or a tool gives its turn away meanwhile, and
who keeps it for long loses it: it waits for a disk or a lock, and the others go on. So the work of a process is what
bounds it, and never the slowest of those that it waits for.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

AT_ONCE = 3 if connection.vendor == "postgresql" else 1
STALLED = 0.25  # seconds: an iteration works for some milliseconds


class Turns:
    """`at_once` threads have one each; those that wait get theirs in the order in which they came."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._changing = threading.Lock()
        self._had: dict[threading.Lock, float] = {}  # with when they came: the longest first
        self._awaited: deque[threading.Lock] = deque()

    def take(self) -> threading.Lock:
        """Waits for a turn, and returns it."""
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
        """Ends a turn, if it has not been lost."""
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
    """This thread works, once it has its turn."""
    _here.turn = _turns.take()
    try:
        yield
    finally:
        _turns.give(_here.turn)
        _here.turn = None


class given_away:  # noqa: N801  used as a function; a generator would take twice as long to enter and leave
    """While this thread waits. One that has no turn just waits."""

    def __enter__(self) -> None:
        self._turn = getattr(_here, "turn", None)
        if self._turn is not None:
            _turns.give(self._turn)

    def __exit__(self, *error: object) -> None:
        if self._turn is not None:
            _here.turn = _turns.take()
