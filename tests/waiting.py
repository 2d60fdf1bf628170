"""Waiting for a condition, never for luck; and bounds on time that a busy machine does not miss."""

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
SLOWNESS = "AGENTSITE_TESTS_SLOWNESS"  # in the environment: what the run has measured at its start, for its workers
_QUIET = 0.35  # seconds: `_work` takes less on a quiet machine, and needs to be as long to feel what others do
_QUIET_READING = 0.06  # the same of `_read`: where the memory is what is slow, twice as long for the same `_work`
_SOURCE = inspect.getsource(argparse)
_MOST = 10.0
_RARELY = 0.15  # seconds between two looks at a condition that takes long to come true


def until(condition: Callable[[], T], seconds: float = 30, every: float = 0.01) -> T:
    """The condition's first true value. Fails after `seconds`, or what they are on a machine as busy as this one.

    It is asked after `every` seconds, and then less and less often: to ask a server costs both sides much of a core.
    """
    began, allowed = time.monotonic(), seconds * slowness_at_start()
    while True:
        value = condition()
        if value:
            return value
        took = time.monotonic() - began
        if took > allowed:
            allowed = seconds * measured_slowness()  # other work may have come since
            if took > allowed:
                raise AssertionError(f"not within {seconds} s: {condition}")
        time.sleep(every)
        every = min(every * 1.3, max(every, _RARELY))


@contextmanager
def takes_less_than(seconds: float) -> Iterator[None]:
    """Holds the block to a bound. A machine that was busy at the start of the run, or is now, has more time."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    check_bound(took, seconds)


def check_bound(took: float, seconds: float) -> None:
    """Fails if `took` is more than `seconds`, or than what they are on a machine as busy as this one."""
    if took >= seconds * slowness_at_start():
        allowed = seconds * measured_slowness()  # other work may have come since
        assert took < allowed, f"took {took:.2f} s, and may take {seconds} s ({allowed:.1f} s on this busy machine)"


def slowness_at_start() -> float:
    """How much slower this machine was than a quiet one when the run began: 1 to 10."""
    if SLOWNESS not in os.environ:
        os.environ[SLOWNESS] = f"{measured_slowness():.1f}"
    return float(os.environ[SLOWNESS])


def measured_slowness() -> float:
    """The same, now: by what computes, and by threads that wake each other; and by what goes through much memory."""
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
