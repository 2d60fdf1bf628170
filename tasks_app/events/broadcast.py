"""Tells followers of a session what happens in it. A message is only a hint: the rows are the truth."""

import asyncio
import logging
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from channels.layers import InMemoryChannelLayer, get_channel_layer

from tasks_app.events import event_loop
from tasks_app.models import Session, Task

logger = logging.getLogger(__name__)
_sending = set[asyncio.Task[None]]()  # the event loop alone would forget them


class OneProcess(InMemoryChannelLayer):
    """For the embedded mode. Who receives discards the channel at the end, and changes no message: so a message needs
    neither a task nor a copy for each receiver, and no search for what nobody receives any more.
    """

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        expires = time.time() + self.expiry
        for channel in self.groups.get(group, ()):
            queue = self.channels.setdefault(channel, asyncio.Queue(maxsize=self.get_capacity(channel)))
            with suppress(asyncio.QueueFull):
                queue.put_nowait((expires, message))

    def _clean_expired(self) -> None: ...


def entry_appended(session: Session, seq: int) -> None:
    _send(session, {"type": "entry", "seq": seq})


def state_changed(task: Task) -> None:
    """On the page of whoever delegated it, it is shown too; and above all, if it waits for a person."""
    _send(task.session, {"type": "state", **state_of(task)})
    if task.parent_call is not None:
        for above in {task.parent_call.session_id, task.session.root_id}:
            _send(Session(id=above), {"type": "child"})


def inbox_changed(session: Session) -> None:
    """A message waits, or waits no longer."""
    _send(session, {"type": "inbox"})


def files_changed(session: Session) -> None:
    """By a person; what a call changes is looked at with its result."""
    _send(session, {"type": "files"})


def title_changed(session: Session, title: str) -> None:
    """By a model; a person's page knows what they have written."""
    _send(session, {"type": "title", "title": title})


def state_of(task: Task) -> dict[str, Any]:
    return {"task": str(task.id), "state": task.state, "waiting_for": task.waiting_for}


async def send(group: str, message: dict[str, Any]) -> None:
    """Sends on the event loop, where the channel layer lives."""
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(group, message)


def _send(session: Session, message: dict[str, Any]) -> None:
    """Who begins to follow reads the rows after that: where this process knows of nobody, the loop is not woken."""
    layer = get_channel_layer()
    if not isinstance(layer, OneProcess) or session.group in layer.groups:
        event_loop.get().call_soon_threadsafe(_begin, session.group, message)


def _begin(group: str, message: dict[str, Any]) -> None:
    sending = asyncio.get_running_loop().create_task(send(group, message))
    _sending.add(sending)
    sending.add_done_callback(_sending.discard)
    sending.add_done_callback(log_failure)


def log_failure(future: Future[None] | asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()):
        logger.warning("an event was not sent, followers will find the row: %s", error)
