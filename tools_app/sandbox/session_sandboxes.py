"""The session sandboxes of this process. One starts with a session's first command and ends when it is idle."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tools_app.sandbox.session_sandbox import SessionSandbox

IDLE_S = 1800.0
MOST_IDLE = 8  # busy ones are bounded by the limit on running commands
MOST_IDLE_BYTES = 1024**3  # in /tmp and /dev/shm of all idle sandboxes together; a single one may hold 576 MB

Start = Callable[[], Awaitable[SessionSandbox]]


@dataclass
class _Place:
    """A session's sandbox with its users. A command of another `kind` needs a new sandbox."""

    kind: Hashable
    starting: "asyncio.Task[SessionSandbox]"
    users: int = 0
    timer: asyncio.TimerHandle | None = field(default=None)

    @property
    def is_usable(self) -> bool:
        if self.starting.get_loop() is not asyncio.get_running_loop():
            return False
        return not self.starting.done() or (not self.starting.cancelled() and _is_up(self.starting))


def _is_up(starting: "asyncio.Task[SessionSandbox]") -> bool:
    return starting.done() and not starting.cancelled() and not starting.exception() and starting.result().is_up


class SessionSandboxes:
    """The sandboxes by session, least recently used first.

    All methods run on one event loop, except `found` and `sessions`, which any thread may call.
    """

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def used(self, session: str, kind: Hashable, start: Start) -> AsyncIterator[SessionSandbox]:
        """Yield the session's sandbox and keep it up inside the block. Without a session, yield a temporary one."""
        if not session:
            sandbox = await start()
            try:
                yield sandbox
            finally:
                await asyncio.shield(sandbox.end())
            return
        place = self._place(session, kind, start)
        place.users += 1
        self._rest(session, place)
        try:
            yield await asyncio.shield(place.starting)
        finally:
            place.users -= 1
            self._rest(session, place)
            self._make_room()

    def found(self, session: str) -> SessionSandbox | None:
        place = self._places.get(session)
        return place.starting.result() if place and _is_up(place.starting) else None

    def sessions(self) -> set[str]:
        return set(self._places)

    def idle(self) -> set[str]:
        """Return the sessions without a running command. Their sandbox does not tie them to this process."""
        return {session for session, place in list(self._places.items()) if not place.users}

    async def end(self, session: str) -> None:
        """End a session's sandbox and all its commands immediately."""
        if place := self._places.pop(session, None):
            await self._ended(place)

    def _place(self, session: str, kind: Hashable, start: Start) -> _Place:
        place = self._places.pop(session, None)
        if place and (not place.is_usable or (place.kind != kind and not place.users)):
            self._beside(self._ended(place))
            place = None
        if place is None:
            place = _Place(kind, asyncio.ensure_future(start()))
        self._places[session] = place
        return place

    def _rest(self, session: str, place: _Place) -> None:
        """Restart the timer that ends an idle sandbox."""
        if place.timer:
            place.timer.cancel()
        if not place.users and self._places.get(session) is place:
            loop = asyncio.get_running_loop()
            place.timer = loop.call_later(IDLE_S, lambda: self._beside(self.end(session)))

    def _make_room(self) -> None:
        idle = [(session, place) for session, place in self._places.items() if not place.users]
        held = [place.starting.result().in_files if _is_up(place.starting) else 0 for _, place in idle]
        for number, (session, place) in enumerate(idle):
            if len(idle) - number > MOST_IDLE or sum(held[number:]) > MOST_IDLE_BYTES:
                del self._places[session]
                self._beside(self._ended(place))

    async def _ended(self, place: _Place) -> None:
        if place.timer:
            place.timer.cancel()
        if place.starting.get_loop() is not asyncio.get_running_loop():
            if _is_up(place.starting):  # its event loop has ended
                place.starting.result().kill()
            return
        await asyncio.wait({place.starting})
        if not place.starting.cancelled() and not place.starting.exception():
            await place.starting.result().end()

    def _beside(self, work: "Awaitable[None]") -> None:
        task = asyncio.ensure_future(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


sandboxes = SessionSandboxes()
