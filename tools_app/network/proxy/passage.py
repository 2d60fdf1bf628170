"""The right to use the proxy: a credential, a policy, and a limit on received data."""

import asyncio
import secrets

from tools_app.errors import FetchFailed, ToolError
from tools_app.network.policy import NetworkPolicy

MOST_BYTES = 200 * 1000**2  # received between two calls of `renew`


class Passage:
    """A client's right to use the proxy, created by the proxy.

    `fault` is the reason why the last failed request failed. `closed_hosts` are refused regardless of the policy.
    """

    def __init__(self, policy: NetworkPolicy, closed_hosts: frozenset[str]) -> None:
        self.user, self.password = secrets.token_hex(8), secrets.token_urlsafe(32)
        self.policy, self.closed_hosts = policy, closed_hosts
        self.fault: ToolError | None = None
        self._left = MOST_BYTES
        self._connections: set[asyncio.Task[None]] = set()

    def renew(self, policy: NetworkPolicy) -> None:
        """Apply the current policy and reset the counters, before each new action."""
        if policy != self.policy:
            self.policy = policy
            self.cut()
        self.fault, self._left = None, MOST_BYTES

    def cut(self) -> None:
        """Cancel all connections."""
        for connection in self._connections:
            connection.cancel()

    def carry(self, connection: "asyncio.Task[None]") -> None:
        """Track a connection until it ends."""
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    def count(self, size: int) -> None:
        """Count received bytes.

        Raises: FetchFailed beyond the limit.
        """
        self._left -= size
        if self._left < 0:
            self.fault = FetchFailed(f"More than {MOST_BYTES // 1000**2} MB came back; the rest was not read.")
            raise self.fault
