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
QUIET_SECONDS = 5.0  # after a warning: while Redis is away, every piece of every stream fails
_quiet_until = 0.0
_sending = set[asyncio.Task[None]]()  # the event loop alone would forget them


class OneProcess(InMemoryChannelLayer):
    """For the embedded mode. Who receives leaves the group at the end, and changes no message: so a message needs
    neither a task nor a copy for each receiver, a queue stays, and nobody searches for what is not received any more.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._listeners: dict[str, Callable[[dict[str, Any]], None]] = {}

    def listen(self, channel: str, hear: Callable[[dict[str, Any]], None]) -> None:
        """It is called with each message from now on, after those that wait."""
        waiting = self._queue(channel)
        while not waiting.empty():
            hear(waiting.get_nowait()[1])
        self._listeners[channel] = hear

    def put(self, group: str, message: dict[str, Any]) -> None:
        """On the event loop."""
        for channel in list(self.groups.get(group, ())):  # one may leave
            if hear := self._listeners.get(channel):
                hear(message)
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


class RowsDue(asyncio.Event):
    """Set from a hint on until somebody begins to read the rows. What becomes of these meanwhile, the `channel` need
    not hear: in one process, the event loop is not even woken for it.
    """

    channel = ""
    _channels: ClassVar[set[str]] = set()

    def set(self) -> None:
        super().set()
        self._channels.add(self.channel)

    def clear(self) -> None:
        """Before the rows are read: what is stored after that is hinted at again."""
        super().clear()
        self._channels.discard(self.channel)

    @classmethod
    def is_news(cls, layer: OneProcess, group: str) -> bool:
        """Whether anybody would read the rows for a hint who does not do so anyway. From any thread."""
        return not layer.groups.get(group, {}).keys() <= cls._channels


def entry_appended(session: Session, seq: int) -> None:
    _hint(session, {"type": "entry", "seq": seq})


def state_changed(task: Task) -> None:
    """Also for the pages of the sessions above: they show delegated tasks, above all one that waits for a person."""
    _hint(task.session, {"type": "state", **state_of(task)})
    if task.parent_call_id is not None:
        for above in {task.parent_call.session_id, task.session.root_id}:
            _hint(Session(id=above), {"type": "child"})


def inbox_changed(session: Session) -> None:
    """A message waits, or waits no longer."""
    _send(session, {"type": "inbox"})


def silence_changed(session: Session) -> None:
    """The provider at work has fallen silent, or is heard again."""
    _send(session, {"type": "silence"})


def files_changed(session: Session) -> None:
    """By a person; what a call changes is looked at with its result."""
    _send(session, {"type": "files"})


def title_changed(session: Session, title: str) -> None:
    """By a model, or by a person, on whichever page or by REST."""
    _send(session, {"type": "title", "title": title})


def state_of(task: Task) -> dict[str, Any]:
    """`silence` is there only while the provider at work sends nothing."""
    state = {"task": str(task.id), "state": task.state, "waiting_for": task.waiting_for}
    return state | ({"silence": silence} if (silence := task.silent_provider) else {})


def is_followed(group: str) -> bool:
    """Whether anybody may follow: other processes are not asked. On the event loop."""
    layer = get_channel_layer()
    return not isinstance(layer, OneProcess) or bool(layer.groups.get(group))


async def send(group: str, message: dict[str, Any]) -> None:
    """Sends on the event loop, where the channel layer lives."""
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(group, message)


def _hint(session: Session, message: dict[str, Any]) -> None:
    """Says nothing but that the rows are not as they were."""
    layer = get_channel_layer()
    if not isinstance(layer, OneProcess) or RowsDue.is_news(layer, session.group):
        _send(session, message)


def _send(session: Session, message: dict[str, Any]) -> None:
    """Who begins to follow reads the rows after that: where this process knows of nobody, the loop is not woken."""
    layer = get_channel_layer()
    if not isinstance(layer, OneProcess):
        event_loop.get().call_soon_threadsafe(_begin, session.group, message)
    elif session.group in layer.groups:
        event_loop.get().call_soon_threadsafe(layer.put, session.group, message)


def _begin(group: str, message: dict[str, Any]) -> None:
    sending = asyncio.get_running_loop().create_task(send(group, message))
    _sending.add(sending)
    sending.add_done_callback(_sending.discard)
    sending.add_done_callback(log_failure_of)


def unreachable() -> tuple[type[Exception], ...]:
    """Return the errors that mean that Redis is away: Kombu's own, and those of connections that it passes on."""
    from redis.exceptions import RedisError

    return OperationalError, OSError, RedisError


def log_failure(error: BaseException) -> None:
    global _quiet_until
    if time.monotonic() >= _quiet_until:
        _quiet_until = time.monotonic() + QUIET_SECONDS
        logger.warning("an event was not sent, followers will find the row: %s", error)


def log_failure_of(future: Future[None] | asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()):
        log_failure(error)


def drop_broken_connections() -> None:
    """Closes this thread's connection, and those of the pool that are broken. Does not wait for the database."""
    if not connection.in_atomic_block:
        connection.close()
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed:
        pool.check()
