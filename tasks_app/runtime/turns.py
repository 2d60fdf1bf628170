"""How many tasks of this process work at once; the others wait for a model, for a tool, or here for their turn.

Python runs one thread at a time, and each that wants to run asks for it 200 times a second: a hundred of them spend
more on that than on their work. Whoever waits for something else gives its turn away meanwhile, so the work of a
process is what bounds it, and never the slowest provider.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 8  # enough that some wait for the database while others compute
_turns = threading.BoundedSemaphore(AT_ONCE)
_here = threading.local()


@contextmanager
def taken() -> Iterator[None]:
    """This thread works, once it has its turn."""
    with _turns:
        _here.has_turn = True
        try:
            yield
        finally:
            _here.has_turn = False


@contextmanager
def given_away() -> Iterator[None]:
    """While this thread waits. One that has no turn just waits."""
    if not getattr(_here, "has_turn", False):
        yield
        return
    _turns.release()
    try:
        yield
    finally:
        _turns.acquire()
