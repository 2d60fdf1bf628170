"""Interruptible waits of a call's thread: for sockets, and for coroutines on the event loop."""

import asyncio
import select
import time
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping
from typing import Any, TypeVar

from llm_app.types import Runner

T = TypeVar("T")
LONGEST_WAIT = 20 * 86_400.0  # seconds: `poll` counts milliseconds in 31 bits


class DeadlinePassed(Exception):
    """The deadline of a `RunnerWithDeadline` has passed."""


class RunnerWithDeadline:
    """A runner with a deadline, in seconds from now. After the deadline its waits raise DeadlinePassed."""

    def __init__(self, run: Runner, seconds: float) -> None:
        self._run, self._deadline = run, time.monotonic() + seconds

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        return self._run(self._limited(work))

    async def _limited(self, work: Coroutine[Any, Any, T]) -> T:
        timeout = asyncio.timeout(self._deadline - time.monotonic())
        try:
            async with timeout:
                return await work
        except TimeoutError:
            if timeout.expired():
                raise DeadlinePassed from None
            raise

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        seconds_left = self._deadline - time.monotonic()
        if seconds_left <= 0:  # even if data is available: a slow reader would never finish
            raise DeadlinePassed
        if self._run.wait(min(seconds, seconds_left), descriptor, events):
            return True
        if seconds_left <= seconds:
            raise DeadlinePassed
        return False


def ready_descriptors(seconds: float | None, descriptors: Mapping[int, int]) -> list[int]:
    """Return the descriptors with one of their `select.poll` events, after so many seconds at most. -1 is ignored."""
    poll = select.poll()
    for descriptor, events in descriptors.items():
        if descriptor >= 0:
            poll.register(descriptor, events)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)]


class Deadlines:
    """The deadlines of one call: `silence_s` seconds until the next byte, and `total_s` seconds in total."""

    def __init__(self, run: Runner, *, silence_s: float, total_s: float) -> None:
        self.run, self.silence_s = run, silence_s
        self._end = time.monotonic() + total_s

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the next deadline."""
        return max(0.0, min(self.silence_s, self._end - time.monotonic(), LONGEST_WAIT))

    def wait_for(self, descriptor: int, events: int) -> None:
        """Wait for events on a descriptor.

        Raises: TimeoutError, or the exception that interrupts the wait.
        """
        seconds = self.seconds_left
        if not seconds or not self.run.wait(seconds, descriptor, events):  # a fast stream always has data
            raise TimeoutError

    def pause(self, seconds: float) -> None:
        self.run.wait(min(seconds, self.seconds_left))


def iterate_on_loop(stream: AsyncGenerator[T], run: Runner) -> Generator[T]:
    """Yield the items of an asynchronous generator. It is closed at the end, and cancelled if a wait is interrupted."""
    try:
        while (item := run(_next(stream))) is not None:
            yield item
    finally:
        run(stream.aclose())


async def _next(stream: AsyncGenerator[T]) -> T | None:
    return await anext(stream, None)
