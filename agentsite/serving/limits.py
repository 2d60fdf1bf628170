"""Limits on the size of request bodies and on the number of connections.

A body is accepted by its announced size, its sender and its route, before any of it is stored. A cookie or token in the
headers may be invented. So if a body is larger than an anonymous one may be, the connection is not read until a thread
has found the session or token in the database. An unknown one counts as anonymous.

Connections are limited in total and per address, below the limit of open files.
"""

import logging
import re
import resource
from collections import defaultdict
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.db import connection
from django.http import HttpRequest, parse_cookie
from rest_framework.exceptions import AuthenticationFailed
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory

from agentsite.addresses import client_network, is_in
from agentsite.serving.back_pressure import ClientConnection
from tasks_app.api.authentication import BearerToken

logger = logging.getLogger(__name__)

ANONYMOUS_BYTES = 64 * 1024  # bytes; a sign-in has 1 KB
UPLOAD_BYTES = 64 * 1024**2  # bytes: a file of 50 MB, its message, and the form around them
_UPLOADS = re.compile(
    rb"/|/s/[^/]+/(messages|files)/|(/api/v1)?/(sessions/import|projects/[^/]+/library)/|/api/v1/sessions/[^/]+/files/.+"
)
MAX_CONNECTIONS = 10_000  # connections in all
_MAX_FILES = 1024**2  # if the hard limit is infinite


def max_body_bytes(uri: bytes) -> int:
    """Return the largest body in bytes that a route takes from a signed-in user. Its view may accept less."""
    return UPLOAD_BYTES if _UPLOADS.fullmatch(uri.partition(b"?")[0]) else settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def belongs_to_a_user(cookies: str, authorization: str) -> bool:
    """Return whether these headers belong to a user. Queries the database: do not call it on the event loop."""
    request = HttpRequest()
    request.META["HTTP_AUTHORIZATION"] = authorization
    key = parse_cookie(cookies).get(settings.SESSION_COOKIE_NAME)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    try:
        return auth.get_user(request).is_authenticated or BearerToken().authenticate(request) is not None
    except AuthenticationFailed:
        return False
    finally:
        connection.close()


def raise_open_file_limit() -> int:
    """Raise the soft limit of open files to the hard one, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


class ConnectionLimiter(WrappingFactory):
    """A factory that limits the connections of `factory` to half of `files`, and to half of that per address.

    Trusted proxies are not limited by address. At a limit, a new connection replaces the oldest one that only waits
    for a request. If all are busy, the new one is closed.
    """

    protocol = ClientConnection

    def __init__(self, factory: Any, files: int) -> None:
        super().__init__(factory)
        self._limit = min(MAX_CONNECTIONS, files // 2)
        self._by_address: defaultdict[str, dict[ProtocolWrapper, None]] = defaultdict(dict)

    def buildProtocol(self, address: Any) -> Any:
        if self._can_accept(address.host):
            return super().buildProtocol(address)
        logger.warning("closed a connection from %s: too many are open", address.host)
        return None

    def registerProtocol(self, connection: ProtocolWrapper) -> None:
        super().registerProtocol(connection)
        self._by_address[client_network(connection.getPeer().host)][connection] = None

    def unregisterProtocol(self, connection: ProtocolWrapper) -> None:
        self.protocols.pop(connection, None)  # a dropped one is already gone
        address = client_network(connection.getPeer().host)
        self._by_address[address].pop(connection, None)
        if not self._by_address[address]:
            del self._by_address[address]

    def _can_accept(self, host: str) -> bool:
        address = client_network(host)
        is_proxy = is_in(host, settings.TRUSTED_PROXIES)  # it carries the connections of all clients
        if not is_proxy and len(self._by_address.get(address, ())) >= self._limit // 2:
            return self._drop_oldest(self._by_address[address])
        if len(self.protocols) >= self._limit:
            return self._drop_oldest(max(self._by_address.values(), key=len))
        return True

    def _drop_oldest(self, connections: dict[ProtocolWrapper, None]) -> bool:
        for candidate in connections:  # the oldest first
            if getattr(candidate.wrappedProtocol, "is_expendable", False):
                self.unregisterProtocol(candidate)
                candidate.transport.abortConnection()
                return True
        return False
