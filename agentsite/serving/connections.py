"""How many connections the server holds: bounded in all and for each address, below the limit of open files."""

import logging
import resource
from collections import defaultdict
from typing import Any

from twisted.protocols.policies import ProtocolWrapper, WrappingFactory

from agentsite.addresses import network

logger = logging.getLogger(__name__)
MOST = 10_000  # in all
_MOST_FILES = 1024**2  # where the hard limit is infinite


def raise_limit_of_files() -> int:
    """Raises the soft limit of open files to the hard one; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


class Connections(WrappingFactory):
    """Takes connections for `factory`, half of `files` at most, and half of that from one address.

    At a bound, a new one takes the place of the oldest that only waits for a request; where all are busy it is closed.
    """

    def __init__(self, factory: Any, files: int) -> None:
        super().__init__(factory)
        self._most = min(MOST, files // 2)
        self._by_address: defaultdict[str, dict[ProtocolWrapper, None]] = defaultdict(dict)

    def buildProtocol(self, address: Any) -> Any:
        if self._has_room(network(address.host)):
            return super().buildProtocol(address)
        logger.warning("a connection of %s is closed: too many are open", address.host)
        return None

    def registerProtocol(self, connection: ProtocolWrapper) -> None:
        super().registerProtocol(connection)
        self._by_address[network(connection.getPeer().host)][connection] = None

    def unregisterProtocol(self, connection: ProtocolWrapper) -> None:
        self.protocols.pop(connection, None)  # one that was dropped has gone before
        address = network(connection.getPeer().host)
        self._by_address[address].pop(connection, None)
        if not self._by_address[address]:
            del self._by_address[address]

    def _has_room(self, address: str) -> bool:
        if len(self._by_address.get(address, ())) >= self._most // 2:
            return self._drop_one_of(self._by_address[address])
        if len(self.protocols) >= self._most:
            return self._drop_one_of(max(self._by_address.values(), key=len))
        return True

    def _drop_one_of(self, connections: dict[ProtocolWrapper, None]) -> bool:
        oldest = next((one for one in connections if getattr(one.wrappedProtocol, "is_expendable", False)), None)
        if oldest is None:
            return False
        self.unregisterProtocol(oldest)
        oldest.transport.abortConnection()
        return True
