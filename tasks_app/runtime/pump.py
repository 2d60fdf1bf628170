"""The sender of live streams, 20 times a second.

One pump sends all streams of the process, which rarely have to wake it.
"""

import asyncio
from typing import Protocol
from uuid import UUID
from weakref import WeakValueDictionary

from tasks_app.runtime import broadcast, event_loop

BATCH_SECONDS = 0.05


class Stream(Protocol):
    group: str
    task_id: UUID
    is_queued: bool

    async def send_batch(self) -> None:
        """Send all pending text and set `is_queued` to false."""


class Pump:
    """The queue of streams with pending text. `enqueue` is called from any thread, other methods on the event loop.

    It holds the newest stream of each task: the rest of an older one is already in the record. The references are weak,
    as a stream that nobody holds has ended as well. Streams without followers stay in the queue and are neither
    redacted nor sent until somebody follows.
    """

    def __init__(self) -> None:
        self._queue = WeakValueDictionary[UUID, Stream]()
        self._running: asyncio.Task[None] | None = None
        self._runs_on: asyncio.AbstractEventLoop | None = None  # set as soon as the pump is scheduled

    def enqueue(self, stream: Stream) -> None:
        """Queue a stream that has something to send."""
        previous = self._queue.get(stream.task_id)
        if previous is not None:
            previous.is_queued = False
        stream.is_queued = True
        self._queue[stream.task_id] = stream
        loop = event_loop.get()
        if self._runs_on is not loop and broadcast.is_followed(stream.group):
            self._runs_on = loop
            loop.call_soon_threadsafe(self.start)

    async def flush(self, task_id: UUID) -> None:
        """Send the pending text of a task, also without followers."""
        if stream := self._queue.pop(task_id, None):
            await stream.send_batch()

    def drop(self, task_id: UUID) -> None:
        """Forget the stream of a task that no longer runs."""
        self._queue.pop(task_id, None)

    def start(self) -> None:
        """Start sending. Called when somebody begins to follow a session, whose streams may have pending text."""
        loop = asyncio.get_running_loop()
        if self._running is None or self._running.done() or self._running.get_loop() is not loop:
            self._running = loop.create_task(self._run(loop))

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while due := self._due_or_last(loop):
                if len(due) == 1:  # saves an asyncio task
                    await self._send(*due)
                else:
                    await asyncio.gather(*map(self._send, due))
                await asyncio.sleep(BATCH_SECONDS)
        finally:
            self._runs_on = None

    def _due_or_last(self, loop: asyncio.AbstractEventLoop) -> list[UUID]:
        """Return the tasks with text to send. After an empty list, the next `enqueue` starts the pump again."""
        self._runs_on = loop
        if due := self._due():
            return due
        self._runs_on = None
        return self._due()  # a stream enqueued between the two lines above

    async def _send(self, task_id: UUID) -> None:
        try:
            await self.flush(task_id)
        except Exception as error:  # noqa: BLE001  the other streams go on after any error
            broadcast.log_failure(error)

    def _due(self) -> list[UUID]:
        """Return the tasks with pending text that somebody may follow."""
        waiting = [stream for ref in self._queue.valuerefs() if (stream := ref()) is not None]
        return [stream.task_id for stream in waiting if broadcast.is_followed(stream.group)]


pump = Pump()
