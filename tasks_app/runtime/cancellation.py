"""Cancellation of a running task's work when a person stops it or writes a message.

The task's thread waits for its socket, its coroutine or a signal, whichever comes first. A signal can come without a
cause, so the rows decide whether the work is cancelled. `services.messages` writes the row; `engine.preflight`
then ends the task.
"""

import asyncio
import logging
import os
import select
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import Error, connection

from llm_app.transport import ready_descriptors
from tasks_app.runtime import event_loop, work_slots


class WakeupPipe:
    """A wake-up for a waiting thread. One that comes before the wait ends the next wait."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)

    def set(self) -> None:
        """Wake the thread, from any thread."""
        with suppress(BlockingIOError):  # the pipe is full of signals
            os.write(self._writer, b"\0")

    def wait(self, seconds: float | None = None, descriptor: int = -1, events: int = 0) -> bool:
        """Wait for a signal, an event of the descriptor (as in `select.poll`), or the timeout.

        Return whether the descriptor has an event.
        """
        ready = ready_descriptors(seconds, {self._reader: select.POLLIN, descriptor: events})
        if self._reader in ready:
            os.read(self._reader, 4096)
        return descriptor in ready

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


logger = logging.getLogger(__name__)
T = TypeVar("T")
_running: dict[UUID, "Interruption"] = {}


class WorkAborted(Exception):
    """The work was ended because a person interrupted it."""


class Interruption:
    """The waits of one task, which a person can interrupt. `is_wanted` asks the rows whether a person does."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self._is_wanted = is_wanted
        self._wakeup = WakeupPipe()
        self._signalled = False
        self.provider_wait: tuple[str, float] | None = None
        self._waiting_since: float | None = None
        self._gives_up_at = 0.0

    def silence(self, at_least: float) -> "Silence | None":
        """Return the wait for a provider that has sent nothing for at least so many seconds. Called from any thread."""
        provider_wait, since, gives_up_at = self.provider_wait, self._waiting_since, self._gives_up_at
        if provider_wait is None or since is None or time.monotonic() - since < at_least:
            return None
        provider, silence_s = provider_wait
        return Silence(provider=provider, since=since, gives_up_at=gives_up_at or since + silence_s)

    def signal(self) -> None:
        self._signalled = True
        self._wakeup.set()

    def run(self, work: Coroutine[Any, Any, T], /) -> T:
        """Run `work` on the event loop and return its result.

        Raises: WorkAborted, and the exceptions of `work`.
        """
        connection.close_if_unusable_or_obsolete()  # a waiting thread returns its connection to the pool
        self._waiting_since, self._gives_up_at = time.monotonic(), 0.0
        running = _Work(work, self._wakeup)
        cancelled = False
        if self._signalled:  # the signal came as the previous work ended
            self._wakeup.set()
        with work_slots.released():
            while not running.is_done():
                self._wakeup.wait()
                if self._signalled and not cancelled and not running.is_done() and self._is_confirmed():
                    running.cancel()
                    cancelled = True
        self._waiting_since = None
        if cancelled and not running.is_cancelled():
            self._signalled = True  # the work ended in the same instant: cancel the next one instead
        return running.result()

    __call__ = run  # the interface of a Runner

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        """Wait until a descriptor has one of the events of `select.poll`, or until the timeout in seconds.

        Return whether the descriptor has an event.

        Raises: WorkAborted.
        """
        if not self._signalled and self._wakeup.wait(0, descriptor, events):
            return True
        connection.close_if_unusable_or_obsolete()
        now = time.monotonic()
        until = now + seconds
        if descriptor >= 0:
            self._waiting_since, self._gives_up_at = now, until
        try:
            return self._wait_until(until, descriptor, events)
        finally:
            self._waiting_since = None

    def _wait_until(self, until: float, descriptor: int, events: int) -> bool:
        with work_slots.released():
            while True:
                if self._signalled and self._is_confirmed():
                    raise WorkAborted
                if self._wakeup.wait(remaining := until - time.monotonic(), descriptor, events):
                    return True
                if remaining <= 0:
                    return False

    def _is_confirmed(self) -> bool:
        self._signalled = False
        try:
            return self._is_wanted()
        except Error as error:
            logger.warning("could not check for an interruption, the next signal will: %s", error)
            return False
        finally:
            connection.close_if_unusable_or_obsolete()


@dataclass(frozen=True, kw_only=True)
class Silence:
    """A wait for a provider that sends nothing. Times are those of the monotonic clock."""

    provider: str
    since: float
    gives_up_at: float


class _Work(Generic[T]):
    """A coroutine on the event loop.

    To cancel it is to end its asyncio task, whose `finally` runs before the caller goes on.
    """

    def __init__(self, work: Coroutine[Any, Any, T], wakeup: WakeupPipe) -> None:
        self._work, self._wakeup = work, wakeup
        self._task: asyncio.Task[T] | None = None
        event_loop.get().call_soon_threadsafe(self._start)

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(lambda _: self._wakeup.set())

    def is_done(self) -> bool:
        return self._task is not None and self._task.done()

    def is_cancelled(self) -> bool:
        return self._task is not None and self._task.cancelled()

    def cancel(self) -> None:
        event_loop.get().call_soon_threadsafe(lambda: self._task and self._task.cancel())

    def result(self) -> T:
        assert self._task is not None
        try:
            return self._task.result()
        except asyncio.CancelledError as error:
            raise WorkAborted from error


@contextmanager
def interruptible(task_id: UUID, interruption: Interruption) -> Iterator[None]:
    """Make `signal(task_id)` reach this task within the block."""
    _running[task_id] = interruption
    try:
        yield
    finally:
        del _running[task_id]


def is_running(task_id: UUID) -> bool:
    """Return whether a thread of this process runs the task."""
    return task_id in _running


def signal(task_id: UUID) -> bool:
    """Signal a task if it runs in this process. Return whether it does."""
    interruption = _running.get(task_id)
    if interruption is not None:
        interruption.signal()
    return interruption is not None


def begin_provider_wait(task_id: UUID, provider: str, silence_s: float) -> None:
    """Record that the task waits for this provider, which is given up after `silence_s` seconds without a byte."""
    if interruption := _running.get(task_id):
        interruption.provider_wait = provider, silence_s


def end_provider_wait(task_id: UUID) -> None:
    if interruption := _running.get(task_id):
        interruption.provider_wait = None


def silences(at_least: float) -> dict[UUID, Silence]:
    """Return the tasks of this process whose provider has sent nothing for at least so many seconds."""
    waits = {task_id: interruption.silence(at_least) for task_id, interruption in list(_running.items())}
    return {task_id: silence for task_id, silence in waits.items() if silence is not None}


def running_tasks() -> list[UUID]:
    return list(_running)
