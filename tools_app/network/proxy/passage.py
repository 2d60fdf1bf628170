"""The right to use the proxy: a credential, a policy, and a limit on what may come back."""

import asyncio
import secrets

from tools_app.errors import FetchFailed, ToolError
from tools_app.network.policy import NetworkPolicy

MOST_BYTES = 200 * 1000**2  # that come back between two calls of `renew`


class Passage:
    """Made by the proxy. `fault` is why the last failed request failed.

    `closed_hosts` are never reached, whatever the policy says.
    """

    def __init__(self, policy: NetworkPolicy, closed_hosts: frozenset[str]) -> None:
        self.user, self.password = secrets.token_hex(8), secrets.token_urlsafe(32)
        self.policy, self.closed_hosts = policy, closed_hosts
        self.fault: ToolError | None = None
        self._left = MOST_BYTES
        self._connections: set[asyncio.Task[None]] = set()

    def renew(self, policy: NetworkPolicy) -> None:
        """Before each piece of work: applies what an administrator has changed."""
        if policy != self.policy:
            self.policy = policy
            self.cut()
        self.fault, self._left = None, MOST_BYTES

    def cut(self) -> None:
        """Ends all connections."""
        for connection in self._connections:
            connection.cancel()

    def carry(self, connection: "asyncio.Task[None]") -> None:
        """Counts a connection in, until it ends."""
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    def count(self, size: int) -> None:
        """Raises FetchFailed when more came back than may."""
        self._left -= size
        if self._left < 0:
            self.fault = FetchFailed(f"More than {MOST_BYTES // 1000**2} MB came back; the rest was not read.")
            raise self.fault
