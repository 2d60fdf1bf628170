"""The pool of this process's connections: one for each session and server, closed when idle."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tools_app.contract import McpEndpoint
from tools_app.errors import ToolError
from tools_app.mcp.connection import McpConnection

IDLE_S = 300.0
MAX_CONNECTIONS = 40  # each has two processes of ours, and a stdio server has one more
_Key = tuple[str, str]


class McpPool:
    """A pool of connections. It must be used on one event loop, except `sessions`."""

    def __init__(self) -> None:
        self._connections: dict[_Key, McpConnection] = {}  # ordered by last use, the oldest first
        self._active_calls: dict[_Key, int] = {}
        self._idle_timers: dict[_Key, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def sessions(self) -> set[str]:
        """Return the sessions that have connections. Safe to call from any thread."""
        return {session for session, _ in list(self._connections)}

    @contextmanager
    def using(self, session: str, target: McpEndpoint) -> Iterator[McpConnection]:
        """Yield the session's connection to a server. It is replaced if an administrator has changed the server.

        The connection counts as busy in this block, and is not closed to make room.

        Raises: ToolError if all other connections are busy too.
        """
        key = (session, target.name)
        if key in self._connections and self._connections[key].target != target:
            self._close(key)
        if key not in self._connections:
            self._make_room()
            self._connections[key] = McpConnection(target)
        self._active_calls[key] = self._active_calls.get(key, 0) + 1
        self._cancel_idle_timer(key)
        try:
            yield self._connections[key]
        finally:
            self._end_call(key)

    async def close(self, session: str) -> None:
        """Close all connections of a session, and wait until they are closed."""
        for key in [key for key in self._connections if key[0] == session]:
            self._close(key)
        if self._closing:
            await asyncio.wait(self._closing)

    def _make_room(self) -> None:
        if len(self._connections) < MAX_CONNECTIONS:
            return
        idle = next((key for key in self._connections if key not in self._active_calls), None)
        if idle is None:
            raise ToolError(f"All {MAX_CONNECTIONS} connections to MCP servers are in use. Try again in a moment.")
        self._close(idle)

    def _end_call(self, key: _Key) -> None:
        self._active_calls[key] -= 1
        if self._active_calls[key]:
            return
        del self._active_calls[key]
        if key in self._connections:
            self._connections[key] = self._connections.pop(key)  # move to the end
            self._idle_timers[key] = asyncio.get_running_loop().call_later(IDLE_S, self._close, key)

    def _cancel_idle_timer(self, key: _Key) -> None:
        if timer := self._idle_timers.pop(key, None):
            timer.cancel()

    def _close(self, key: _Key) -> None:
        self._cancel_idle_timer(key)
        if connection := self._connections.pop(key, None):
            task = asyncio.create_task(connection.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


pool = McpPool()
