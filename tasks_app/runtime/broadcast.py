"""Broadcasts to the followers of a session. A message is only a hint: the rows are the truth."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar

from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.db import connection
from kombu.exceptions import OperationalError

from tasks_app.models import Session, Task
from tasks_app.runtime import event_loop

logger = logging.getLogger(__name__)
QUIET_SECONDS = 5.0  # between warnings: while Redis is away, every chunk of every stream fails
_quiet_until = 0.0
_sending = set[asyncio.Task[None]]()  # strong references: the event loop keeps weak ones


class InProcessLayer(InMemoryChannelLayer):
    """The channel layer of the embedded mode.

    Receivers leave their group at the end and never change a message. So messages are not copied and need no task for
    each receiver, queues persist, and there is no search for expired messages.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._listeners: dict[str, Callable[[dict[str, Any]], None]] = {}

    def listen(self, channel: str, on_message: Callable[[dict[str, Any]], None]) -> None:
        """Call `on_message` with each waiting message and each later one."""
        waiting = self._queue(channel)
        while not waiting.empty():
            on_message(waiting.get_nowait()[1])
        self._listeners[channel] = on_message

    def put(self, group: str, message: dict[str, Any]) -> None:
        """Send a message, on the event loop."""
        for channel in list(self.groups.get(group, ())):  # a listener may leave
            if on_message := self._listeners.get(channel):
                on_message(message)
                continue
            with suppress(asyncio.QueueFull):
                self._queue(channel).put_nowait((0, message))

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.put(group, message)

    async def receive(self, channel: str) -> dict[str, Any]:
        _, message = await self._queue(channel).get()
        return message

    async def group_discard(self, group: str, channel: str) -> None:
        await super().group_discard(group, channel)
        self._listeners.pop(channel, None)
        self.channels.pop(channel, None)

    def _queue(self, channel: str) -> "asyncio.Queue[tuple[float, dict[str, Any]]]":
        if channel not in self.channels:
            self.channels[channel] = asyncio.Queue(maxsize=self.get_capacity(channel))
        queue: asyncio.Queue[tuple[float, dict[str, Any]]] = self.channels[channel]
        return queue


class ReadDue(asyncio.Event):
    """An event that is set from a hint until its follower reads the rows.

    While it is set, further hints to its `channel` are dropped: within one process, the event loop is not even woken.
    """

    channel = ""
    _channels: ClassVar[set[str]] = set()

    def set(self) -> None:
        super().set()
        self._channels.add(self.channel)

    def clear(self) -> None:
        """Clear the event before reading the rows: later changes cause a new hint."""
        super().clear()
        self._channels.discard(self.channel)

    @classmethod
    def is_hint_needed(cls, layer: InProcessLayer, group: str) -> bool:
        """Return whether a follower needs a hint, as no read of the rows is due for it. From any thread."""
        return not layer.groups.get(group, {}).keys() <= cls._channels


def entry_appended(session: Session, seq: int) -> None:
    _hint(session, {"type": "entry", "seq": seq})


def state_changed(task: Task) -> None:
    """Notify followers of the task, and of the sessions above it, whose pages show delegated tasks."""
    _hint(task.session, {"type": "state", **state_of(task)})
    if task.parent_call_id is not None:
        for above in {task.parent_call.session_id, task.session.root_id}:
            _hint(Session(id=above), {"type": "child"})


def inbox_changed(session: Session) -> None:
    """Notify followers that a message waits or no longer waits."""
    _send(session, {"type": "inbox"})


def silence_changed(session: Session) -> None:
    """Notify followers that a provider has fallen silent or sends again."""
    _send(session, {"type": "silence"})


def files_changed(session: Session) -> None:
    """Notify followers that a person changed files. Changes by a call are shown with its result."""
    _send(session, {"type": "files"})


def title_changed(session: Session, title: str) -> None:
    """Notify followers of a new title."""
    _send(session, {"type": "title", "title": title})


def state_of(task: Task) -> dict[str, Any]:
    """Return {task, state, waiting_for}, and `silence` while the provider at work sends nothing."""
    state = {"task": str(task.id), "state": task.state, "waiting_for": task.waiting_for}
    return state | ({"silence": silence} if (silence := task.silent_provider) else {})


def is_followed(group: str) -> bool:
    """Return whether the group may have followers. Followers of other processes are not known. On the event loop."""
    layer = get_channel_layer()
    return not isinstance(layer, InProcessLayer) or bool(layer.groups.get(group))


async def send(group: str, message: dict[str, Any]) -> None:
    """Send a message, on the event loop, where the channel layer lives."""
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(group, message)


def _hint(session: Session, message: dict[str, Any]) -> None:
    """Notify followers that rows have changed, unless they are about to read them anyway."""
    layer = get_channel_layer()
    if not isinstance(layer, InProcessLayer) or ReadDue.is_hint_needed(layer, session.group):
        _send(session, message)


def _send(session: Session, message: dict[str, Any]) -> None:
    """Send a message from any thread.

    A new follower joins its group before it reads the rows. So if this process has no follower, the loop is not woken.
    """
    layer = get_channel_layer()
    if not isinstance(layer, InProcessLayer):
        event_loop.get().call_soon_threadsafe(_start_sending, session.group, message)
    elif session.group in layer.groups:
        event_loop.get().call_soon_threadsafe(layer.put, session.group, message)


def _start_sending(group: str, message: dict[str, Any]) -> None:
    sending = asyncio.get_running_loop().create_task(send(group, message))
    _sending.add(sending)
    sending.add_done_callback(_sending.discard)
    sending.add_done_callback(log_failure_of)


def unreachable() -> tuple[type[Exception], ...]:
    """Return the errors that mean that Redis is away: Kombu's own, and connection errors that it passes on."""
    from redis.exceptions import RedisError

    return OperationalError, OSError, RedisError


def log_failure(error: BaseException) -> None:
    global _quiet_until
    if time.monotonic() >= _quiet_until:
        _quiet_until = time.monotonic() + QUIET_SECONDS
        logger.warning("could not send an event, followers will read the rows: %s", error)


def log_failure_of(future: Future[None] | asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()):
        log_failure(error)


def drop_broken_connections() -> None:
    """Close this thread's connection, and the broken ones of the pool, without waiting for the database."""
    if not connection.in_atomic_block:
        connection.close()
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed:
        pool.check()
