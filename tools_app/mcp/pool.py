"""The connections of this process: one for each session and server, closed when it is idle."""

import asyncio
from collections.abc import Callable

from tools_app.errors import ToolError
from tools_app.mcp.connection import Connection
from tools_app.mcp.target import Target
from tools_app.sandbox.base import Started

IDLE_S = 300.0
MOST = 40  # each is a process of ours, and of a server on stdio another one


class Pool:
    """All of it runs on one event loop."""

    def __init__(self) -> None:
        self._connections: dict[tuple[str, str], Connection] = {}
        self._idle: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, session: str, target: Target, started: Callable[[Started], None]) -> Connection:
        """The session's connection to a server; a new one where an administrator has changed the way to it.

        Raises ToolError if there are too many.
        """
        key = (session, target.name)
        connection = self._connections.get(key)
        if connection is not None and connection.target != target:
            self._close(key)
            connection = None
        if connection is None:
            if len(self._connections) >= MOST:
                raise ToolError("Too many connections to MCP servers are open on this server. Try again later.")
            connection = self._connections[key] = Connection(target, started)
        self._used(key)
        return connection

    def close(self, session: str) -> None:
        """Closes all connections of a session."""
        for key in [key for key in self._connections if key[0] == session]:
            self._close(key)

    def _used(self, key: tuple[str, str]) -> None:
        if timer := self._idle.pop(key, None):
            timer.cancel()
        seconds = IDLE_S + self._connections[key].target.timeout_s
        self._idle[key] = asyncio.get_running_loop().call_later(seconds, self._close, key)

    def _close(self, key: tuple[str, str]) -> None:
        if timer := self._idle.pop(key, None):
            timer.cancel()
        if connection := self._connections.pop(key, None):
            task = asyncio.create_task(connection.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


pool = Pool()
