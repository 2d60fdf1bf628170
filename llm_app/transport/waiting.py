"""Interruptible waits of a call's thread: for sockets, and for coroutines on the event loop."""

import asyncio
import select
import time
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
LONGEST_WAIT = 20 * 86_400.0  # seconds: `poll` counts milliseconds in 31 bits


class Runner(Protocol):
    """A function that waits for its caller, or raises the exception that interrupts the wait."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        """Run a coroutine on the event loop and return its result."""

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        """Wait for events of `select.poll` on a descriptor, at most so many seconds. Return whether one occurred."""


class TimeIsUp(Exception):
    """The deadline of an `InTime` runner has passed."""


class InTime:
    """A runner with a deadline, in seconds from now. After the deadline its waits raise TimeIsUp."""

    def __init__(self, run: Runner, seconds: float) -> None:
        self._run, self._until = run, time.monotonic() + seconds

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        return self._run(self._in_time(work))

    async def _in_time(self, work: Coroutine[Any, Any, T]) -> T:
        limit = asyncio.timeout(self._until - time.monotonic())
        try:
            async with limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise TimeIsUp from None
            raise

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        left = self._until - time.monotonic()
        if left <= 0:  # even if data is available: a slow reader would never finish
            raise TimeIsUp
        if self._run.wait(min(seconds, left), descriptor, events):
            return True
        if left <= seconds:
            raise TimeIsUp
        return False


def ready(seconds: float | None, descriptors: Mapping[int, int]) -> list[int]:
    """Return the descriptors with one of their `select.poll` events, after so many seconds at most. -1 is ignored."""
    poll = select.poll()
    for descriptor, events in descriptors.items():
        if descriptor >= 0:
            poll.register(descriptor, events)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)]


class Patience:
    """The deadlines of one call: `silence_s` seconds until the next byte, and `total_s` seconds in total."""

    def __init__(self, run: Runner, *, silence_s: float, total_s: float) -> None:
        self.run, self.silence_s = run, silence_s
        self._until = time.monotonic() + total_s

    @property
    def left(self) -> float:
        """Return the seconds until the next deadline."""
        return max(0.0, min(self.silence_s, self._until - time.monotonic(), LONGEST_WAIT))

    def until(self, descriptor: int, events: int) -> None:
        """Wait for events on a descriptor.

        Raises: TimeoutError, or the exception that interrupts the wait.
        """
        left = self.left
        if not left or not self.run.wait(left, descriptor, events):  # `not left`: a fast stream always has data
            raise TimeoutError

    def rest(self, seconds: float) -> None:
        self.run.wait(min(seconds, self.left))


def from_loop(stream: AsyncGenerator[T], run: Runner) -> Generator[T]:
    """Yield the items of an asynchronous generator.

    It is closed at the end, and cancelled if a wait for it is interrupted.
    """
    try:
        while (item := run(_next(stream))) is not None:
            yield item
    finally:
        run(stream.aclose())


async def _next(stream: AsyncGenerator[T]) -> T | None:
    return await anext(stream, None)
