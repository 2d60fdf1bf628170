"""Live subscribers of a session: pages, event streams and long polls. Each gets the backlog first, then updates."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed

from tasks_app.access import SignedOut
from tasks_app.hub import streams
from tasks_app.hub.access_watch import Credential
from tasks_app.hub.session_hub import HubRegistry, SessionHub
from tasks_app.hub.snapshot import SessionGone, backlog
from tasks_app.hub.updates import Event, SubscriberIdentity, Update
from tasks_app.models import ENDED, Task
from tasks_app.pages.fragments import Viewer
from tasks_app.runtime import broadcast
from tasks_app.runtime.event_loop import in_thread

NO_ENTRIES = 2**31  # higher than every entry: a subscriber that starts here gets no backlog
MAX_QUEUED_MESSAGES, MAX_QUEUED_CHARS = 500, 1024**2  # per subscriber. A slower one catches up from the record
AWAY_SECONDS = 2.0  # before a long poll is answered while Redis is away
_PAGE_EVENTS = ("delta", "prose", "reset", "title")  # pages get HTML for all others, and for Markdown deltas
T = TypeVar("T", str, bytes)


class Subscriber(Generic[T]):
    """A page or event stream of one user that gets the entries after `last_seq`.

    `is_new` says that it has had no update since it subscribed. Methods that the hub calls never block.
    """

    needs_html = False

    def __init__(
        self, user: Any, session_id: UUID, last_seq: int, credential: Credential, language: str = settings.LANGUAGE_CODE
    ) -> None:
        self.identity, self.credential = SubscriberIdentity(user, language), credential
        self.is_new = True
        self._session_id, self._seq = session_id, last_seq
        self._delivered_seq = last_seq  # the last entry that the client was given
        self._queue: list[T] = []
        self._queued_chars = 0
        self._wakeup = asyncio.Event()
        self._is_behind = False
        self._error: Exception | None = None

    async def messages(self, idle_seconds: float | None = None) -> AsyncGenerator[list[T]]:
        """Yield batches of messages without end. Yield an empty batch after `idle_seconds` without a message.

        Raises: SessionGone, SignedOut, AuthenticationFailed, or the error that ended the hub.
        """
        registry = HubRegistry.current()
        self._hub = hub = registry.subscribe(self._session_id, self)
        try:
            await hub.wait_until_open()
            while True:
                while batch := await self._read_backlog(hub):
                    yield batch
                self.is_new, self._is_behind = True, False
                hub.subscribe(self)
                while not self._is_behind:
                    yield await self._next_batch(idle_seconds)
        finally:
            await asyncio.shield(registry.unsubscribe(hub, self))  # completes even if this task is cancelled again

    async def _read_backlog(self, hub: SessionHub) -> list[T]:
        """Return one page of the entries that the hub has read and this subscriber lacks, or an empty list."""
        if hub.snapshot.seq is None or self._seq >= hub.snapshot.seq:
            return []
        read = partial(backlog, self._session_id, self.identity, with_html=self.needs_html)
        update, viewer = await in_thread(partial(read, self._seq, hub.snapshot.seq))
        message = self._backlog_message(update, viewer)
        self._seq = self._delivered_seq = update.last_seq
        return [message]

    async def _next_batch(self, idle_seconds: float | None) -> list[T]:
        if not self._queue and self._error is None and not self._is_behind:
            self._wakeup.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(idle_seconds):  # without a limit if None
                    await self._wakeup.wait()
        if self._error is not None:
            raise self._error
        batch, self._queue, self._queued_chars, self._delivered_seq = self._queue, [], 0, self._seq
        return batch

    # --- called by the hub --------------------------------------------------------------------------------------------

    def receive(self, event: Event) -> None:
        raise NotImplementedError

    def receive_update(self, update: Update, viewer: Viewer) -> bool:
        """Queue an update. Return False if the subscriber must catch up first."""
        if not self._accepts(update):
            self.fall_behind()
            return False
        message = self._live_message(update, viewer)
        self._seq = max(self._seq, update.last_seq)
        self.is_new = False
        self._enqueue(message)
        return not self._is_behind

    def _accepts(self, update: Update) -> bool:
        return True

    def _live_message(self, update: Update, viewer: Viewer) -> T:
        raise NotImplementedError

    def _backlog_message(self, update: Update, viewer: Viewer) -> T:
        raise NotImplementedError

    def fall_behind(self) -> None:
        """Drop the queue and live updates. The subscriber catches up from the record."""
        self._hub.unsubscribe(self)
        self._queue, self._queued_chars, self._seq = [], 0, self._delivered_seq
        self._is_behind = True
        self._wakeup.set()

    def end(self, error: Exception) -> None:
        self._error = error
        self._wakeup.set()

    def _enqueue(self, message: T) -> None:
        if not message or self._is_behind:
            return
        self._queue.append(message)
        self._queued_chars += len(message)
        self._wakeup.set()
        is_full = len(self._queue) > MAX_QUEUED_MESSAGES or self._queued_chars > MAX_QUEUED_CHARS
        if is_full and len(self._queue) > 1:  # one large message must pass
            self.fall_behind()


class PageSubscriber(Subscriber[str]):
    """The subscriber of a page. Each message is HTML, or the JSON of streaming text."""

    needs_html = True

    def receive(self, event: Event) -> None:
        is_markdown = event.content["type"] == "delta" and event.content["kind"] in streams.KINDS
        if event.content["type"] in _PAGE_EVENTS and not is_markdown:
            self._enqueue(event.as_json)

    def _accepts(self, update: Update) -> bool:
        return update.has_nothing_after(self._seq) or update.continues(self._seq)

    def _live_message(self, update: Update, viewer: Viewer) -> str:
        items = "" if update.has_nothing_after(self._seq) else update.items[viewer]
        return items + (update.whole if self.is_new else update.changed)[viewer]

    def _backlog_message(self, update: Update, viewer: Viewer) -> str:
        return update.items[viewer]


class EventSubscriber(Subscriber[bytes]):
    """The subscriber of an event stream. Messages are server-sent events.

    `end_event` is the event that reported the end of the newest task.
    """

    end_event: bytes | None = None

    def receive(self, event: Event) -> None:
        if event.content["type"] == "state":
            self.end_event = event.as_sse if event.content["state"] in ENDED else None
        self._enqueue(event.as_sse)

    def _live_message(self, update: Update, viewer: Viewer) -> bytes:
        return update.as_sse(self._seq)

    def _backlog_message(self, update: Update, viewer: Viewer) -> bytes:
        return update.as_sse(self._seq)


class StateSubscriber(Subscriber[str]):
    """The subscriber of a long poll, which gets only the state of the newest task."""

    def __init__(self, user: Any, session_id: UUID, credential: Credential) -> None:
        super().__init__(user, session_id, NO_ENTRIES, credential)

    async def wait_for_change(self, task: Task, seconds: float) -> None:
        """Return when the newest task's state differs from `task`'s, after `seconds`, or when access is lost."""
        current = Event({"type": "state", **broadcast.state_of(task)}).as_json
        with suppress(TimeoutError, SessionGone, SignedOut, AuthenticationFailed):
            async with asyncio.timeout(seconds):
                try:
                    async with aclosing(self.messages()) as batches:
                        async for batch in batches:
                            if any(state != current for state in batch):
                                return
                except broadcast.unreachable():
                    await asyncio.sleep(AWAY_SECONDS)  # else clients would poll without a pause

    def receive(self, event: Event) -> None:
        if event.content["type"] == "state":
            self._enqueue(event.as_json)

    def _live_message(self, update: Update, viewer: Viewer) -> str:
        return ""

    def _backlog_message(self, update: Update, viewer: Viewer) -> str:
        return ""
