"""Session hubs: one subscription and one database read for all subscribers of a session in this process."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from tasks_app.hub.access_watch import Standing, Watch
from tasks_app.hub.fragments import SELDOM_SECONDS
from tasks_app.hub.snapshot import PAGE, Look, SessionGone
from tasks_app.hub.streams import Prose, TextSoFar
from tasks_app.hub.updates import Coalescer, Event, Member, News
from tasks_app.pages.fragments import Viewer
from tasks_app.runtime import broadcast
from tasks_app.runtime.broadcast import ReadDue
from tasks_app.runtime.event_loop import in_thread
from tasks_app.runtime.listener import Listener

logger = logging.getLogger(__name__)
GATHER_SECONDS = 0.03  # from a change to the refresh, as a call, its result and its states often arrive together
LOOK_SECONDS = 0.12  # minimum between two refreshes
Hint = dict[str, Any]


class Room:
    """The hub of one session: its subscribers, its snapshot, and the hints that start a refresh.

    Used on the event loop. Messages of the channel layer are only hints: updates are read from the database. Text
    deltas are sent as they arrive. The first delta of a stream waits if a refresh is due, so that a call arrives before
    its output.
    """

    def __init__(self, session_id: UUID) -> None:
        self.session_id = session_id
        self.look = Look(session_id)
        self.members: dict[Member, None] = {}
        self._listener = Listener(f"session.{session_id.hex}", self._take, self._fail)
        self._needs_look = ReadDue()
        self._is_looking = False
        self._inbox = True
        self._last_state: Any = None
        self._hints: list[Hint] = []  # events sent after the next refresh
        self._held: list[Hint] = []  # deltas sent after the next refresh
        self._prose = Prose(session_id, self.members)
        self._text = TextSoFar(ended=self._prose.end)
        self._deltas = Coalescer(self._tell_text)
        self._looking_later: asyncio.TimerHandle | None = None
        self._work: list[asyncio.Task[None]] = []
        self._opening: asyncio.Task[None] | None = None
        self.fault: Exception | None = None  # the error that ended this hub

    # --- coming and going ---------------------------------------------------------------------------------------

    async def opened(self) -> None:
        """Wait until the hub listens and has read the session once.

        Raises: the fault that ended the hub.
        """
        if self._opening is None:
            self._opening = asyncio.create_task(self._run(self._open))
        await asyncio.shield(self._opening)
        if self.fault is not None:
            raise self.fault

    async def _open(self) -> None:
        await self._listener.join()
        self._needs_look.channel = self._listener.channel
        await self._look_once()
        if self.look.task is not None:
            await self._take_up(str(self.look.task.pk))
        self._work = [asyncio.create_task(self._run(self._look_on))]
        self._listener.start()

    async def _take_up(self, task: str) -> None:
        """Send the stored text of running streams, except text that is already in an entry."""
        for stream in {part["stream"] for part in await self._text.stored(task)}:
            if await in_thread(partial(self.look.is_recorded, stream)):
                self._text.end(stream)
        for part in self._text.so_far():
            self._prose.take(part)

    def enter(self, member: Member) -> None:
        """Add a subscriber that has all entries that the hub has read."""
        if self.fault is not None:
            member.end(self.fault)
        self.members[member] = None
        self._needs_look.set()

    def leave(self, member: Member) -> None:
        self.members.pop(member, None)

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._opening
        await self._prose.close()
        self._deltas.close()
        if self._looking_later is not None:
            self._looking_later.cancel()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self._needs_look.clear()
        await self._listener.leave()

    async def _run(self, work: Any) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  logged and sent to the subscribers
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, broadcast.unreachable()):
            logger.warning("session %s cannot be followed, clients come back: %s", self.session_id, error)
        elif not isinstance(error, SessionGone):
            logger.exception("following session %s failed", self.session_id)
        self.fault = error
        for member in list(self.members):
            member.end(error)

    # --- hints --------------------------------------------------------------------------------------------------

    def _take(self, hint: Hint) -> None:
        kind = hint["type"]
        if kind == "delta":
            self._take_delta(hint)
        elif kind == "reset":
            self._held = [delta for delta in self._held if delta["stream"] != hint["stream"]]
            self._deltas.flush()
            self._text.end(hint["stream"])
            self._tell(Event(hint))
        elif kind == "entry":
            self.look_at(hint["seq"])
        elif kind == "state":
            self.look_unless(hint.get("task"), hint.get("state"), hint.get("waiting_for"))
        elif kind in ("child", "files", "silence"):
            self.look.pieces.files_may_differ |= kind == "files"
            self._needs_look.set()
        else:
            self._inbox |= kind == "inbox"
            self._hints.append(hint)
            self._needs_look.set()

    def look_at(self, seq: int) -> None:
        """Refresh if entry `seq` was not read yet."""
        if self.look.seq is None or seq > self.look.seq:
            self._needs_look.set()

    def look_unless(self, *stands: str | None) -> None:
        """Refresh unless the newest task was last read with this id, state and reason to wait."""
        task = self.look.task
        seen = (str(task.pk), task.state, task.waiting_for) if task else (None, None, None)
        if self._is_looking or stands != seen:
            self._needs_look.set()

    def look_again(self) -> None:
        self._needs_look.set()

    # --- text ---------------------------------------------------------------------------------------------------

    def _take_delta(self, delta: Hint) -> None:
        lacks = self._text.lacks_what_precedes(delta)
        if lacks:
            self._needs_look.set()
        if lacks or self._waits_for_look(delta):
            self._held.append(delta)
        else:
            self._tell_parts(self._text.unseen(delta))

    def _waits_for_look(self, delta: Hint) -> bool:
        return (self._needs_look.is_set() or self._is_looking) and not self._text.knows(delta["stream"])

    async def _take_held(self) -> None:
        """Send the held deltas, with text that a lost message has left out."""
        held, self._held = self._held, []
        for delta in held:
            if self._waits_for_look(delta):
                self._held.append(delta)
                continue
            if self._text.lacks_what_precedes(delta):
                self._tell_parts(await self._text.stored(delta["task"]))
            self._tell_parts(self._text.unseen(delta))

    def _tell_parts(self, parts: Iterable[Hint]) -> None:
        for part in parts:
            self._deltas.take(part)

    def _tell_text(self, part: Hint) -> None:
        self._tell(Event(part))
        self._prose.take(part)

    def _tell(self, event: Event) -> None:
        for member in list(self.members):  # a subscriber may leave in the loop
            if not member.is_new:
                member.hear(event)

    # --- looks --------------------------------------------------------------------------------------------------

    async def _look_on(self) -> None:
        while True:
            await self._needs_look.wait()
            await asyncio.sleep(GATHER_SECONDS)
            await self._look_once()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look_once(self) -> None:
        self._needs_look.clear()
        hints, self._hints = self._hints, []
        inbox, self._inbox = self._inbox, False
        present = set(self.members)
        guests = {member.guest for member in present if member.has_page}
        newcomers = any(member.is_new for member in present)
        self._is_looking = True
        try:
            news = await in_thread(partial(self.look.again, guests, inbox=inbox, newcomers=newcomers))
        finally:
            self._is_looking = False
        self._publish(news, hints, present)
        await self._take_held()
        if len(news.appended) == PAGE:
            self._needs_look.set()
        if self._looking_later is not None:
            self._looking_later.cancel()
        if self.look.pieces.is_behind:
            self._looking_later = asyncio.get_running_loop().call_later(SELDOM_SECONDS, self._needs_look.set)

    def _publish(self, news: News, hints: list[Hint], present: set[Member]) -> None:
        self._deltas.flush()
        for one in news.appended:
            self._text.end(one.entry.metadata.get("stream", ""))
        events = list(map(Event, hints))
        if news.state and news.state.content != self._last_state:
            self._last_state = news.state.content
            events.insert(0, news.state)
        for member in list(self.members):
            viewer = self.look.viewer_of(member.guest)
            if viewer is None:
                member.end(SessionGone())
            elif member in present:
                self._inform(member, viewer, news, events)
            elif news.appended:
                member.leave_behind()

    def _inform(self, member: Member, viewer: Viewer, news: News, events: list[Event]) -> None:
        if member.is_new:
            self._prose.tell_all(member)
            events = [*([news.state] if news.state else []), *map(Event, self._text.so_far())]
        if member.learn(news, viewer):
            for event in events:
                member.hear(event)


WATCH_SECONDS = 0.6  # upper bound for delivery after access is revoked, and for the delay after a lost broadcast


class Lobby:
    """The hubs of one event loop. It ends when the last subscriber leaves."""

    _of_loops: ClassVar[dict[asyncio.AbstractEventLoop, "Lobby"]] = {}

    def __init__(self) -> None:
        self._rooms: dict[UUID, Room] = {}
        self._guests: dict[Room, dict[Any, None]] = {}
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    def here(cls) -> "Lobby":
        return cls._of_loops.setdefault(asyncio.get_running_loop(), cls())

    def enter(self, session_id: UUID, guest: Any) -> Room:
        room = self._rooms.get(session_id)
        if room is None or room.fault is not None:  # a slow subscriber may still be in the failed one
            room = self._rooms[session_id] = Room(session_id)
        self._guests.setdefault(room, {})[guest] = None
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return room

    async def leave(self, room: Room, guest: Any) -> None:
        room.leave(guest)
        self._guests[room].pop(guest, None)
        if self._guests[room]:
            return
        del self._guests[room]
        if self._rooms.get(room.session_id) is room:
            del self._rooms[room.session_id]
        if not self._guests and self._watching is not None:
            watching, self._watching = self._watching, None
            watching.cancel()
            self._of_loops.pop(asyncio.get_running_loop(), None)
            await asyncio.gather(watching, return_exceptions=True)
        await room.close()

    # --- the watch ----------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        watch = Watch()
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await self._look_around(watch)
            except Exception:
                logger.exception("nobody knows whether those who follow sessions still may")

    async def _look_around(self, watch: Watch) -> None:
        admissions = {guest.admission for guests in self._guests.values() for guest in guests}
        standings, refused = await in_thread(partial(watch.look, list(self._rooms), admissions))
        for room, guests in list(self._guests.items()):
            for guest in list(guests):
                if guest.admission in refused:
                    guest.end(refused[guest.admission])
                elif guest.admission in admissions:  # subscribed before the check began
                    guest.guest.user.is_staff = guest.admission.user_id in watch.staff
            self._compare(room, standings.get(room.session_id))

    def _compare(self, room: Room, standing: Standing | None) -> None:
        if standing is None or standing.rights != room.look.rights:
            room.look.rights_may_differ = True
            room.look_again()
        else:
            room.look_at(standing.last_seq)
            room.look_unless(*standing.task)
