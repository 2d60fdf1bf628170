"""Following a session live: the backlog first, then what happens. Page, websocket and REST all follow through here."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from tasks_app.events import broadcast, stream_buffer
from tasks_app.models import ContextEntry, Session, Task
from tasks_app.record import redact_entries

_in_thread = partial(database_sync_to_async, thread_sensitive=False)  # many follow: none holds a thread of its own
CHECK_SECONDS = 3.0  # how long a lost broadcast can cost
Event = ContextEntry | dict[str, Any]


class SessionGone(Exception):
    """The session is deleted, or no longer shared with this user."""


class Follower:
    """Yields entries and events (`delta`, `reset`, `state`, `inbox`) for one user.

    Messages of the channel layer are hints: entries are read from the database, in order, none missing and none twice.
    """

    def __init__(self, user: Any, session_id: UUID, after: int = 0) -> None:
        self._user, self._session_id, self._seq = user, session_id, after
        self._hints: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._seen: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._concluded: set[str] = set()
        self._checked = 0.0

    async def events(self) -> AsyncGenerator[Event]:
        """Never ends by itself. Raises Gone."""
        session = await self._session()
        listening = asyncio.create_task(self._listen(session.group))
        try:
            async for entry in self._catch_up():
                yield entry
            async for state in self._current():
                yield state
            while True:
                async for event in self._next():
                    yield event
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def _listen(self, group: str) -> None:
        """One receiver for the whole time: layers take a cancelled receive for the end of the consumer."""
        layer = get_channel_layer()
        assert layer is not None
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        try:
            while True:
                self._hints.put_nowait(await layer.receive(channel))
        finally:
            await layer.group_discard(group, channel)

    async def _next(self) -> AsyncIterator[Event]:
        hint: dict[str, Any] = {"type": "check"}
        with suppress(TimeoutError):
            hint = await asyncio.wait_for(self._hints.get(), CHECK_SECONDS)
        kind = hint["type"]
        if kind in ("entry", "check") or time.monotonic() - self._checked > CHECK_SECONDS:
            async for entry in self._catch_up():
                yield entry
        if kind == "delta":
            async for event in self._delta(hint):
                yield event
        elif kind == "reset":
            self._concluded.add(hint["stream"])
            yield hint
        elif kind not in ("entry", "check"):
            yield hint

    async def _catch_up(self) -> AsyncIterator[ContextEntry]:
        self._checked = time.monotonic()
        for entry in await self._entries_after(self._seq):
            self._seq = entry.seq
            self._concluded.add(entry.metadata.get("stream", ""))
            yield entry

    async def _current(self) -> AsyncIterator[dict[str, Any]]:
        """The current state: that of the newest task, and the text that is streaming now."""
        task = await self._newest_task()
        if task is None:
            return
        yield {"type": "state", **broadcast.state_of(task)}
        pieces = await stream_buffer.store.chunks_of(task.id)
        if pieces and await self._is_recorded(task, pieces[0].stream):
            self._concluded.add(pieces[0].stream)
        for piece in pieces:
            for event in self._unseen(piece.event(task.id)):
                yield event

    async def _delta(self, event: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """The part of a delta that is new. After a gap, the whole text is read again."""
        if event["offset"] > self._seen[event["stream"], event["kind"]]:
            for piece in await stream_buffer.store.chunks_of(UUID(event["task"])):
                for part in self._unseen(piece.event(UUID(event["task"]))):
                    yield part
        for part in self._unseen(event):
            yield part

    def _unseen(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        key = (event["stream"], event["kind"])
        seen, offset = self._seen[key], event["offset"]
        end = offset + len(event["text"])
        if event["stream"] in self._concluded or end <= seen:
            return
        start = max(seen, offset)
        self._seen[key] = end
        yield event | {"offset": start, "text": event["text"][start - offset :]}

    # --- the database, never on the event loop ------------------------------------------------------------------

    @_in_thread
    def _session(self) -> Session:
        return self._visible()

    @_in_thread
    def _entries_after(self, seq: int) -> list[ContextEntry]:
        session = self._visible()
        return redact_entries(session, ContextEntry.objects.in_session(session).after(seq).select_related("task"))

    @_in_thread
    def _newest_task(self) -> Task | None:
        return Task.objects.filter(session=self._visible()).order_by("-created_at").first()

    @_in_thread
    def _is_recorded(self, task: Task, stream: str) -> bool:
        """Whether the streamed text is in an entry by now: a page that starts after it must not show it twice."""
        return ContextEntry.objects.filter(task=task, metadata__stream=stream).exists()

    def _visible(self) -> Session:
        """Queried each time: access may be revoked while a client follows."""
        session = Session.objects.visible_to(self._user).filter(pk=self._session_id).first()
        if session is None:
            raise SessionGone()
        return session
