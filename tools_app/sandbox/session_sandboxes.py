"""The session sandboxes of this process. One starts with a session's first command and ends when it is idle."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tools_app.sandbox.session_sandbox import SessionSandbox

IDLE_S = 1800.0
MAX_IDLE = 8  # busy ones are bounded by the limit on running commands
MAX_IDLE_BYTES = 1024**3  # in /tmp and /dev/shm of all idle sandboxes together; a single one may hold 576 MB

StartSandbox = Callable[[], Awaitable[SessionSandbox]]


@dataclass
class _Slot:
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

    All methods run on one event loop, except `get` and `sessions`, which any thread may call.
    """

    def __init__(self) -> None:
        self._slots: dict[str, _Slot] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def acquire(self, session: str, kind: Hashable, start: StartSandbox) -> AsyncIterator[SessionSandbox]:
        """Yield the session's sandbox and keep it up inside the block. Without a session, yield a temporary one."""
        if not session:
            sandbox = await start()
            try:
                yield sandbox
            finally:
                await asyncio.shield(sandbox.end())
            return
        slot = self._slot_for(session, kind, start)
        slot.users += 1
        self._restart_timer(session, slot)
        try:
            yield await asyncio.shield(slot.starting)
        finally:
            slot.users -= 1
            self._restart_timer(session, slot)
            self._end_excess_idle()

    def get(self, session: str) -> SessionSandbox | None:
        slot = self._slots.get(session)
        return slot.starting.result() if slot and _is_up(slot.starting) else None

    def sessions(self) -> set[str]:
        return set(self._slots)

    def idle_sessions(self) -> set[str]:
        """Return the sessions without a running command. Their sandbox does not tie them to this process."""
        return {session for session, slot in list(self._slots.items()) if not slot.users}

    async def end(self, session: str) -> None:
        """End a session's sandbox and all its commands immediately."""
        if slot := self._slots.pop(session, None):
            await self._end_slot(slot)

    def _slot_for(self, session: str, kind: Hashable, start: StartSandbox) -> _Slot:
        slot = self._slots.pop(session, None)
        if slot and (not slot.is_usable or (slot.kind != kind and not slot.users)):
            self._run_in_background(self._end_slot(slot))
            slot = None
        if slot is None:
            slot = _Slot(kind, asyncio.ensure_future(start()))
        self._slots[session] = slot
        return slot

    def _restart_timer(self, session: str, slot: _Slot) -> None:
        """Restart the timer that ends an idle sandbox."""
        if slot.timer:
            slot.timer.cancel()
        if not slot.users and self._slots.get(session) is slot:
            loop = asyncio.get_running_loop()
            slot.timer = loop.call_later(IDLE_S, lambda: self._run_in_background(self.end(session)))

    def _end_excess_idle(self) -> None:
        idle = [(session, slot) for session, slot in self._slots.items() if not slot.users]
        sizes = [slot.starting.result().bytes_in_files if _is_up(slot.starting) else 0 for _, slot in idle]
        for number, (session, slot) in enumerate(idle):
            if len(idle) - number > MAX_IDLE or sum(sizes[number:]) > MAX_IDLE_BYTES:
                del self._slots[session]
                self._run_in_background(self._end_slot(slot))

    async def _end_slot(self, slot: _Slot) -> None:
        if slot.timer:
            slot.timer.cancel()
        if slot.starting.get_loop() is not asyncio.get_running_loop():
            if _is_up(slot.starting):  # its event loop has ended
                slot.starting.result().kill()
            return
        await asyncio.wait({slot.starting})
        if not slot.starting.cancelled() and not slot.starting.exception():
            await slot.starting.result().end()

    def _run_in_background(self, work: "Awaitable[None]") -> None:
        task = asyncio.ensure_future(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


sandboxes = SessionSandboxes()
