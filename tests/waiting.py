"""Waiting for a condition, never for luck."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], seconds: float = 30, every: float = 0.01) -> T:
    """The condition's first true value. Fails after `seconds`: many, for a machine that has much else to do."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {condition}")
        time.sleep(every)
