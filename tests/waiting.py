"""Waiting for conditions, and bounds on time that are adapted to a busy machine."""

import argparse
import ast
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")
SLOWNESS = "AGENTSITE_TESTS_SLOWNESS"  # environment variable with the slowness that the run has measured at its start, for its workers
_QUIET = 0.35  # seconds of `_work` on a quiet machine; it has to be this long to notice other processes
_QUIET_READING = (
    0.06  # seconds of `_read` on a quiet machine; if memory is slow, it doubles while `_work` does not change
)
_SOURCE = inspect.getsource(argparse)
_MOST = 10.0
_RARELY = 0.15  # seconds between two checks of a slow condition


def until(condition: Callable[[], T], seconds: float = 30, every: float = 0.01) -> T:
    """Return the condition's first true value. Fails after `seconds`, adapted to how busy the machine is.

    It is checked after `every` seconds, then less and less often: asking a server costs both sides CPU time.
    """
    began, allowed = time.monotonic(), seconds * slowness_at_start()
    while True:
        value = condition()
        if value:
            return value
        took = time.monotonic() - began
        if took > allowed:
            allowed = seconds * measured_slowness()  # other work can have started in between
            if took > allowed:
                raise AssertionError(f"not within {seconds} s: {condition}")
        time.sleep(every)
        every = min(every * 1.3, max(every, _RARELY))


@contextmanager
def takes_less_than(seconds: float) -> Iterator[None]:
    """Check that the block takes less than `seconds`. A machine that was busy at the start of the run, or is now, gets
    more.
    """
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    check_bound(took, seconds)


def check_bound(took: float, seconds: float) -> None:
    """Fail if `took` is more than `seconds`, adapted to how busy the machine is."""
    if took >= seconds * slowness_at_start():
        allowed = seconds * measured_slowness()  # other work can have started in between
        assert took < allowed, f"took {took:.2f} s, and may take {seconds} s ({allowed:.1f} s on this busy machine)"


def slowness_at_start() -> float:
    """Return how much slower than a quiet machine this one was at the start of the run: 1 to 10."""
    if SLOWNESS not in os.environ:
        os.environ[SLOWNESS] = f"{measured_slowness():.1f}"
    return float(os.environ[SLOWNESS])


def measured_slowness() -> float:
    """Return the present slowness of computation, of threads that wake each other, and of memory."""
    slowest = max(_taken(_work) / _QUIET, _taken(_read) / _QUIET_READING)
    return min(max(slowest, 1.0), _MOST)


def _taken(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _read() -> None:
    for _ in range(3):
        ast.parse(_SOURCE)


def _work() -> None:
    asked, answered = threading.Semaphore(0), threading.Semaphore(0)

    def answer() -> None:
        for _ in range(3000):
            asked.acquire()
            answered.release()

    thread = threading.Thread(target=answer)
    thread.start()
    for _ in range(3000):
        sha256(bytes(100_000)).digest()
        asked.release()
        answered.acquire()
    thread.join()
