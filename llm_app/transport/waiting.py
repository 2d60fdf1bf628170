"""How the thread of a call waits: for a socket, or for work on the event loop, and in both for what interrupts it."""

import asyncio
import select
import time
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
LONGEST_WAIT = 20 * 86_400.0  # seconds: `poll` counts milliseconds in 31 bits


class Runner(Protocol):
    """Waits in the caller's stead, or raises what interrupts the wait."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        """Runs a coroutine on the event loop, and returns its result."""

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        """Waits until a descriptor has one of the events of `select.poll`, or so many seconds; whether it has one."""


class TimeIsUp(Exception):
    """The caller waits no longer."""


class InTime:
    """Another runner, for so many seconds in all. Then its waits raise TimeIsUp."""

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
        if left <= 0:  # also where something is there: who reads slowly would never come to an end
            raise TimeIsUp
        if self._run.wait(min(seconds, left), descriptor, events):
            return True
        if left <= seconds:
            raise TimeIsUp
        return False


def ready(seconds: float | None, descriptors: Mapping[int, int]) -> list[int]:
    """Those that have one of their events of `select.poll`, after so many seconds at most. -1 is none."""
    poll = select.poll()
    for descriptor, events in descriptors.items():
        if descriptor >= 0:
            poll.register(descriptor, events)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)]


class Patience:
    """What one call has left of it: at most `silence_s` for the next byte, and `total_s` seconds for everything."""

    def __init__(self, run: Runner, *, silence_s: float, total_s: float) -> None:
        self.run, self.silence_s = run, silence_s
        self._until = time.monotonic() + total_s

    @property
    def left(self) -> float:
        """Seconds."""
        return max(0.0, min(self.silence_s, self._until - time.monotonic(), LONGEST_WAIT))

    def until(self, descriptor: int, events: int) -> None:
        """Raises TimeoutError, or what interrupts the wait."""
        left = self.left
        if not left or not self.run.wait(left, descriptor, events):  # also where a quick stream has always something
            raise TimeoutError

    def rest(self, seconds: float) -> None:
        self.run.wait(min(seconds, self.left))


def from_loop(stream: AsyncGenerator[T], run: Runner) -> Generator[T]:
    """What an asynchronous stream yields. It is closed in the end, and cancelled by what interrupts a wait for it."""
    try:
        while (item := run(_next(stream))) is not None:
            yield item
    finally:
        run(stream.aclose())


async def _next(stream: AsyncGenerator[T]) -> T | None:
    return await anext(stream, None)
