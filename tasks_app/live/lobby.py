"""The rooms of this process, and the watch over those who are in them."""

import asyncio
import logging
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from tasks_app.events.event_loop import in_thread
from tasks_app.live.room import Room
from tasks_app.live.watch import Standing, Watch

logger = logging.getLogger(__name__)
WATCH_SECONDS = 0.6  # how long a revoked right still hears, and what a lost broadcast costs


class Lobby:
    """Of one event loop; it is gone when nobody follows anything. Used on that loop."""

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
        if room is None or room.fault is not None:  # who is slow leaves that one later
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
                elif guest.admission in admissions:  # was there when it was asked
                    guest.guest.user.is_staff = guest.admission.user_id in watch.staff
            self._compare(room, standings.get(room.session_id))

    def _compare(self, room: Room, standing: Standing | None) -> None:
        if standing is None or standing.rights != room.look.rights:
            room.look.rights_may_differ = True
            room.look_again()
        else:
            room.look_at(standing.last_seq)
            room.look_unless(*standing.task)
