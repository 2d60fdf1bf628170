"""New connections to a server or its proxy."""

import asyncio
import errno
import os
import select
import socket
from collections.abc import Sequence

from aiohappyeyeballs import AddrInfoType, start_connection

from llm_app import errors
from llm_app.transport.address import Address
from llm_app.transport.answer import Answer
from llm_app.transport.connection import TLS, Connection, Plain
from llm_app.transport.waiting import Patience

LONGEST_CONNECT = 15.0  # seconds
_NEXT_ADDRESS = 0.25  # seconds until the host's next IP address is tried in parallel. Source: RFC 8305, 5


def opened(address: Address, patience: Patience) -> Connection:
    """Open a connection.

    Raises: ConnectionFailed, or the exception that interrupts the wait.
    """
    try:
        return _opened(address, patience)
    except TimeoutError as error:
        raise errors.ConnectionFailed("no connection in time") from error
    except (OSError, ValueError) as error:  # ValueError: an invalid host name
        raise errors.ConnectionFailed(f"{(address.proxy or address).authority}: {error}") from error


def _opened(address: Address, patience: Patience) -> Connection:
    first = address.proxy or address
    seconds = min(patience.left, LONGEST_CONNECT)
    brief = Patience(patience.run, silence_s=seconds, total_s=seconds)
    bare = _connected(_found(first, brief), brief)
    connection: Connection = Plain(bare, brief)
    try:
        if first.is_secure:
            connection = TLS(connection, first.host)
        if address.is_tunnelled:
            _ask_for_tunnel(connection, address)
            connection = TLS(connection, address.host)
    except BaseException:
        bare.close()
        raise
    connection.patience = patience
    return connection


def _found(server: Address, patience: Patience) -> Sequence[AddrInfoType]:
    """Return the IP addresses of a host. Names are resolved on the event loop, so that the wait can be interrupted."""
    try:
        return socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return patience.run(_looked_up(server.host, server.port, patience.left))


async def _looked_up(host: str, port: int, seconds: float) -> Sequence[AddrInfoType]:
    async with asyncio.timeout(seconds):
        return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


def _connected(found: Sequence[AddrInfoType], patience: Patience) -> socket.socket:
    """Connect to the IP address that answers first. Several addresses are tried in parallel, on the event loop."""
    if len(found) == 1:
        connected = _connected_to(found[0], patience)
    else:
        connected = patience.run(_first_connected(found, patience.left))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connected


def _connected_to(address: AddrInfoType, patience: Patience) -> socket.socket:
    family, kind, protocol, _, where = address
    connecting = socket.socket(family, kind, protocol)
    connecting.setblocking(False)
    try:
        if (error := connecting.connect_ex(where)) == errno.EINPROGRESS:
            patience.until(connecting.fileno(), select.POLLOUT)
            error = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))
    except BaseException:
        connecting.close()
        raise
    return connecting


async def _first_connected(found: Sequence[AddrInfoType], seconds: float) -> socket.socket:
    async with asyncio.timeout(seconds):
        loop = asyncio.get_running_loop()
        return await start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS, loop=loop)


def _ask_for_tunnel(connection: Connection, address: Address) -> None:
    """Ask the proxy for a tunnel. Source: RFC 9110, 9.3.6."""
    assert address.proxy is not None
    host = f"[{address.host}]" if ":" in address.host else address.host
    to = f"{host}:{address.port}"
    lines = [f"CONNECT {to} HTTP/1.1", f"Host: {to}", *address.proxy.authorization("Proxy-Authorization")]
    connection.send("\r\n".join([*lines, "", ""]).encode())
    answer = Answer()
    try:
        while not answer.has_head:
            answer.feed(connection.receive())
    except errors.StreamCut as error:
        raise OSError("the proxy hung up") from error
    if answer.status != 200:
        raise OSError(f"the proxy answers {answer.status}")
