"""Sends what streams, 20 times a second: one pump for all streams of the process, which seldom have to wake it."""

import asyncio
from typing import Protocol
from uuid import UUID
from weakref import WeakValueDictionary

from tasks_app.runtime import broadcast, event_loop

BATCH_SECONDS = 0.05


class Stream(Protocol):
    group: str
    task_id: UUID
    waits: bool

    async def send_batch(self) -> None:
        """All that it has, at once; then it waits no more."""


class Pump:
    """`put` is called from any thread; the rest on the event loop.

    Of a task, one stream waits, the newest: what another has left is in the record by then; so it is where nobody holds
    the stream any more. What nobody follows waits until somebody does, and need not be redacted and sent.
    """

    def __init__(self) -> None:
        self._waiting = WeakValueDictionary[UUID, Stream]()
        self._running: asyncio.Task[None] | None = None
        self._runs_on: asyncio.AbstractEventLoop | None = None  # or is about to

    def put(self, stream: Stream) -> None:
        """It has something to send."""
        before = self._waiting.get(stream.task_id)
        if before is not None:
            before.waits = False
        stream.waits = True
        self._waiting[stream.task_id] = stream
        loop = event_loop.get()
        if self._runs_on is not loop and broadcast.is_followed(stream.group):
            self._runs_on = loop
            loop.call_soon_threadsafe(self.go_on)

    async def flush(self, task_id: UUID) -> None:
        """Sends what waits of a task, followed or not."""
        if stream := self._waiting.pop(task_id, None):
            await stream.send_batch()

    def drop(self, task_id: UUID) -> None:
        """The task runs no more."""
        self._waiting.pop(task_id, None)

    def go_on(self) -> None:
        """Somebody has begun to follow a session: something of it may wait."""
        loop = asyncio.get_running_loop()
        if self._running is None or self._running.done() or self._running.get_loop() is not loop:
            self._running = loop.create_task(self._run(loop))

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while due := self._due_or_last(loop):
                if len(due) == 1:  # which needs no task of its own
                    await self._send(*due)
                else:
                    await asyncio.gather(*map(self._send, due))
                await asyncio.sleep(BATCH_SECONDS)
        finally:
            self._runs_on = None

    def _due_or_last(self, loop: asyncio.AbstractEventLoop) -> list[UUID]:
        """Empty only if who puts something from now on starts the pump."""
        self._runs_on = loop
        if due := self._due():
            return due
        self._runs_on = None
        return self._due()  # since we looked

    async def _send(self, task_id: UUID) -> None:
        try:
            await self.flush(task_id)
        except Exception as error:  # noqa: BLE001  whatever it is, the other streams go on
            broadcast.log_failure(error)

    def _due(self) -> list[UUID]:
        """The tasks with text that somebody may follow."""
        waiting = [stream for ref in self._waiting.valuerefs() if (stream := ref()) is not None]
        return [stream.task_id for stream in waiting if broadcast.is_followed(stream.group)]


pump = Pump()
