"""Live subscribers of a session: pages, event streams and long polls. Each gets the backlog first, then updates."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed

from tasks_app.access import SignedOut
from tasks_app.hub import streams
from tasks_app.hub.access_watch import Admission
from tasks_app.hub.session_hub import Lobby, Room
from tasks_app.hub.snapshot import SessionGone, backlog
from tasks_app.hub.updates import Event, Guest, News
from tasks_app.models import ENDED, Task
from tasks_app.pages.fragments import Viewer
from tasks_app.runtime import broadcast
from tasks_app.runtime.event_loop import in_thread

NO_ENTRIES = 2**31  # higher than every entry: a subscriber from here gets no backlog
MOST_WAITING, MOST_CHARS = 500, 1024**2  # per subscriber. A slower one catches up from the record
AWAY_SECONDS = 2.0  # before a long poll is answered while Redis is away
_ON_PAGES = ("delta", "prose", "reset", "title")  # pages get HTML for all other events
T = TypeVar("T", str, bytes)


class Follower(Generic[T]):
    """A page or event stream of one user that follows a session from the entry after `after`."""

    has_page = False

    def __init__(
        self, user: Any, session_id: UUID, after: int, admission: Admission, language: str = settings.LANGUAGE_CODE
    ) -> None:
        self.guest, self.admission = Guest(user, language), admission
        self.is_new = True
        self._session_id, self._seq = session_id, after
        self._taken_seq = after  # the last entry whose message was taken
        self._waiting: list[T] = []
        self._chars = 0  # in the queue
        self._is_woken = asyncio.Event()
        self._is_behind = False
        self._ended: Exception | None = None

    async def messages(self, silence: float | None = None) -> AsyncGenerator[list[T]]:
        """Yield batches of messages without end. Yield an empty batch after `silence` seconds without a message.

        Raises: SessionGone, SignedOut, AuthenticationFailed, or the fault that ended the hub.
        """
        lobby = Lobby.here()
        self._room = room = lobby.enter(self._session_id, self)
        try:
            await room.opened()
            while True:
                while missed := await self._missing(room):
                    yield missed
                self.is_new, self._is_behind = True, False
                room.enter(self)
                while not self._is_behind:
                    yield await self._next(silence)
        finally:
            await asyncio.shield(lobby.leave(room, self))  # completes even if this task is cancelled again

    async def _missing(self, room: Room) -> list[T]:
        """Return one page of the entries that the hub has read and this subscriber lacks, or an empty list."""
        if room.look.seq is None or self._seq >= room.look.seq:
            return []
        work = partial(backlog, self._session_id, self.guest, self._seq, room.look.seq, renders=self.has_page)
        news, viewer = await in_thread(work)
        missed = self._missed(news, viewer)
        self._seq = self._taken_seq = news.last_seq
        return [missed]

    async def _next(self, silence: float | None) -> list[T]:
        if not self._waiting and self._ended is None and not self._is_behind:
            self._is_woken.clear()
            await self._woken(silence)
        if self._ended is not None:
            raise self._ended
        return self._take()

    async def _woken(self, silence: float | None) -> None:
        if silence is None:
            await self._is_woken.wait()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(silence):
                await self._is_woken.wait()

    # --- called by the hub --------------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        raise NotImplementedError

    def learn(self, news: News, viewer: Viewer) -> bool:
        """Queue an update. Return False if entries before it are missing: the subscriber then catches up."""
        if not self._can_take(news):
            self.leave_behind()
            return False
        said = self._said(news, viewer)
        self._seq, self.is_new = max(self._seq, news.last_seq), False
        self._put(said)
        return not self._is_behind

    def _can_take(self, news: News) -> bool:
        raise NotImplementedError

    def _said(self, news: News, viewer: Viewer) -> T:
        raise NotImplementedError

    def _missed(self, news: News, viewer: Viewer) -> T:
        raise NotImplementedError

    def leave_behind(self) -> None:
        """Drop the queue and live updates. The subscriber catches up from the record."""
        self._room.leave(self)
        self._waiting, self._chars, self._seq = [], 0, self._taken_seq
        self._is_behind = True
        self._is_woken.set()

    def end(self, reason: Exception) -> None:
        self._ended = reason
        self._is_woken.set()

    def _put(self, message: T) -> None:
        if not message or self._is_behind:
            return
        self._waiting.append(message)
        self._chars += len(message)
        self._is_woken.set()
        if len(self._waiting) > 1 and (len(self._waiting) > MOST_WAITING or self._chars > MOST_CHARS):
            self.leave_behind()

    def _take(self) -> list[T]:
        taken, self._waiting, self._chars, self._taken_seq = self._waiting, [], 0, self._seq
        return taken


class Page(Follower[str]):
    """The subscriber of a page. Each message is HTML, or the JSON of streaming text."""

    has_page = True

    def hear(self, event: Event) -> None:
        if event.content["type"] in _ON_PAGES and not _comes_as_html(event.content):
            self._put(event.as_json)

    def _can_take(self, news: News) -> bool:
        return news.is_known_to(self._seq) or news.continues(self._seq)

    def _said(self, news: News, viewer: Viewer) -> str:
        items = "" if news.is_known_to(self._seq) else news.items[viewer]
        return items + (news.whole if self.is_new else news.changed)[viewer]

    def _missed(self, news: News, viewer: Viewer) -> str:
        return news.items[viewer]


def _comes_as_html(content: Mapping[str, Any]) -> bool:
    return content["type"] == "delta" and content["kind"] in streams.KINDS


class EventStream(Follower[bytes]):
    """The subscriber of an event stream. Messages are server-sent events.

    `farewell` is the event that reported the end of the newest task.
    """

    farewell: bytes | None = None

    def hear(self, event: Event) -> None:
        if event.content["type"] == "state":
            self.farewell = event.in_stream if event.content["state"] in ENDED else None
        self._put(event.in_stream)

    def _can_take(self, news: News) -> bool:
        return True

    def _said(self, news: News, viewer: Viewer) -> bytes:
        return news.in_stream(self._seq)

    def _missed(self, news: News, viewer: Viewer) -> bytes:
        return news.in_stream(self._seq)


class StateChange(Follower[str]):
    """The subscriber of a long poll, which gets only the state of the newest task."""

    def __init__(self, user: Any, session_id: UUID, admission: Admission) -> None:
        super().__init__(user, session_id, NO_ENTRIES, admission)

    async def from_(self, task: Task, seconds: float) -> None:
        """Return when the task's state differs, after `seconds`, or when the client loses access."""
        known = Event({"type": "state", **broadcast.state_of(task)}).as_json
        with suppress(TimeoutError, SessionGone, SignedOut, AuthenticationFailed):
            async with asyncio.timeout(seconds):
                try:
                    async with aclosing(self.messages()) as batches:
                        async for batch in batches:
                            if any(state != known for state in batch):
                                return
                except broadcast.unreachable():
                    await asyncio.sleep(AWAY_SECONDS)  # else clients would poll without a pause

    def hear(self, event: Event) -> None:
        if event.content["type"] == "state":
            self._put(event.as_json)

    def _can_take(self, news: News) -> bool:
        return True

    def _said(self, news: News, viewer: Viewer) -> str:
        return ""

    def _missed(self, news: News, viewer: Viewer) -> str:
        return ""
