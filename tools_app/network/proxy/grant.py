"""The right to use the proxy: a credential, a policy, and a limit on received data."""

import asyncio
import secrets

from tools_app.errors import FetchFailed, ToolError
from tools_app.network.policy import NetworkPolicy

MAX_RECEIVED = 200 * 1000**2  # received between two calls of `renew`


class ProxyGrant:
    """A client's right to use the proxy, created by the proxy.

    `last_error` is the reason why the last failed request failed. `blocked_hosts` are refused regardless of the policy.
    """

    def __init__(self, policy: NetworkPolicy, blocked_hosts: frozenset[str]) -> None:
        self.user, self.password = secrets.token_hex(8), secrets.token_urlsafe(32)
        self.policy, self.blocked_hosts = policy, blocked_hosts
        self.last_error: ToolError | None = None
        self._remaining = MAX_RECEIVED
        self._connections: set[asyncio.Task[None]] = set()

    def renew(self, policy: NetworkPolicy) -> None:
        """Apply the current policy and reset the counters, before each new action."""
        if policy != self.policy:
            self.policy = policy
            self.disconnect()
        self.last_error, self._remaining = None, MAX_RECEIVED

    def disconnect(self) -> None:
        """Cancel all connections."""
        for connection in self._connections:
            connection.cancel()

    def track(self, connection: "asyncio.Task[None]") -> None:
        """Track a connection until it ends."""
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    def count_received(self, size: int) -> None:
        """Count received bytes.

        Raises: FetchFailed beyond the limit.
        """
        self._remaining -= size
        if self._remaining < 0:
            self.last_error = FetchFailed(f"More than {MAX_RECEIVED // 1000**2} MB came back; the rest was not read.")
            raise self.last_error
