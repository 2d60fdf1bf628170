"""Connections to a provider or its proxy, over TCP and TLS. Their waits are limited by the deadlines of the call."""

import asyncio
import errno
import os
import select
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Protocol, TypeVar

from aiohappyeyeballs import AddrInfoType, start_connection

from llm_app import errors
from llm_app.transport.address import Address
from llm_app.transport.response import IncomingResponse
from llm_app.transport.waiting import Deadlines

T = TypeVar("T")
LONGEST_CONNECT = 15.0  # seconds
_NEXT_ADDRESS = 0.25  # seconds until the host's next IP address is tried in parallel. Source: RFC 8305, 5
_READ_SIZE = 65_536  # bytes


class ByteStream(Protocol):
    """A connection that sends and receives bytes.

    Raises: OSError if it is broken, TimeoutError at a deadline, and the exception that interrupts a wait.
    """

    deadlines: Deadlines | None  # None between two calls

    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes:
        """Wait for data and return it; empty when the peer closed the connection."""

    def receive_available(self) -> bytes | None:
        """Return available data without waiting; None if there is none."""

    def close(self) -> None: ...


class TCPStream:
    """A connection over TCP."""

    def __init__(self, connected: socket.socket, deadlines: Deadlines) -> None:
        self._socket = connected
        self.deadlines: Deadlines | None = deadlines
        self._descriptor = connected.fileno()

    def send(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            try:
                unsent = unsent[self._socket.send(unsent) :]
            except BlockingIOError:
                self._wait(select.POLLOUT)

    def receive(self) -> bytes:
        self._wait(select.POLLIN)
        while (data := self.receive_available()) is None:
            self._wait(select.POLLIN)
        return data

    def receive_available(self) -> bytes | None:
        try:
            return self._socket.recv(_READ_SIZE)
        except BlockingIOError:
            return None

    def close(self) -> None:
        self._socket.close()

    def _wait(self, events: int) -> None:
        assert self.deadlines is not None
        self.deadlines.wait_for(self._descriptor, events)


class TLSStream:
    """A TLS connection on top of another connection."""

    def __init__(self, below: ByteStream, host: str) -> None:
        """Perform the handshake.

        Raises: OSError, also for an invalid certificate.
        """
        self._below = below
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _tls_context().wrap_bio(self._incoming, self._outgoing, server_hostname=host.rstrip("."))
        self._complete(self._tls.do_handshake)

    @property
    def deadlines(self) -> Deadlines | None:
        return self._below.deadlines

    @deadlines.setter
    def deadlines(self, deadlines: Deadlines | None) -> None:
        self._below.deadlines = deadlines

    def send(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            unsent = unsent[self._complete(partial(self._tls.write, unsent)) :]

    def receive(self) -> bytes:
        """Return all available records: each may hold one token, and the caller pauses between two reads."""
        records = [self._complete(self._read)]
        with suppress(ssl.SSLWantReadError):
            while records[-1]:
                records.append(self._read())
        return b"".join(records)

    def receive_available(self) -> bytes | None:
        try:
            return self._read()
        except ssl.SSLWantReadError:
            if (data := self._below.receive_available()) is None:
                return None
            self._feed(data)
            return self.receive_available()

    def close(self) -> None:
        self._below.close()

    def _read(self) -> bytes:
        try:
            return self._tls.read(_READ_SIZE)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):  # the HTTP parser decides whether this end is too early
            return b""

    def _complete(self, step: Callable[[], T]) -> T:
        """Repeat a step of the TLS protocol, with the bytes that it needs, until it succeeds."""
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._flush()
                self._feed(self._below.receive())
            except ssl.SSLError:
                with suppress(OSError):  # send the TLS alert, if the peer still reads
                    self._flush()
                raise
            else:
                self._flush()
                return result

    def _feed(self, data: bytes) -> None:
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._below.send(self._outgoing.read())


@lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    """Return the TLS settings with the system's certificates. Cached, because loading them takes 20 ms."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


# --- opening ---------------------------------------------------------------------------------------------------------


def connect(address: Address, deadlines: Deadlines) -> ByteStream:
    """Open a connection to a server or its proxy.

    Raises: ConnectionFailed, or the exception that interrupts the wait.
    """
    try:
        return _connect(address, deadlines)
    except TimeoutError as error:
        raise errors.ConnectionFailed("no connection in time") from error
    except (OSError, ValueError) as error:  # ValueError: an invalid host name
        raise errors.ConnectionFailed(f"{(address.proxy or address).authority}: {error}") from error


def _connect(address: Address, deadlines: Deadlines) -> ByteStream:
    first_hop = address.proxy or address
    seconds = min(deadlines.seconds_left, LONGEST_CONNECT)
    connect_deadlines = Deadlines(deadlines.run, silence_s=seconds, total_s=seconds)
    connected = _connect_any(_resolve(first_hop, connect_deadlines), connect_deadlines)
    stream: ByteStream = TCPStream(connected, connect_deadlines)
    try:
        if first_hop.is_secure:
            stream = TLSStream(stream, first_hop.host)
        if address.is_tunnelled:
            _request_tunnel(stream, address)
            stream = TLSStream(stream, address.host)
    except BaseException:
        connected.close()
        raise
    stream.deadlines = deadlines
    return stream


def _resolve(server: Address, deadlines: Deadlines) -> Sequence[AddrInfoType]:
    """Return the IP addresses of a host. Names are resolved on the event loop, so that the wait can be interrupted."""
    try:
        return socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return deadlines.run(_resolve_name(server.host, server.port, deadlines.seconds_left))


async def _resolve_name(host: str, port: int, seconds: float) -> Sequence[AddrInfoType]:
    async with asyncio.timeout(seconds):
        return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


def _connect_any(ip_addresses: Sequence[AddrInfoType], deadlines: Deadlines) -> socket.socket:
    """Connect to the IP address that answers first. Several addresses are tried in parallel, on the event loop."""
    if len(ip_addresses) == 1:
        connected = _connect_one(ip_addresses[0], deadlines)
    else:
        connected = deadlines.run(_connect_fastest(ip_addresses, deadlines.seconds_left))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connected


def _connect_one(ip_address: AddrInfoType, deadlines: Deadlines) -> socket.socket:
    family, kind, protocol, _, socket_address = ip_address
    connecting = socket.socket(family, kind, protocol)
    connecting.setblocking(False)
    try:
        if (error := connecting.connect_ex(socket_address)) == errno.EINPROGRESS:
            deadlines.wait_for(connecting.fileno(), select.POLLOUT)
            error = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))
    except BaseException:
        connecting.close()
        raise
    return connecting


async def _connect_fastest(ip_addresses: Sequence[AddrInfoType], seconds: float) -> socket.socket:
    async with asyncio.timeout(seconds):
        loop = asyncio.get_running_loop()
        return await start_connection(ip_addresses, happy_eyeballs_delay=_NEXT_ADDRESS, loop=loop)


def _request_tunnel(stream: ByteStream, address: Address) -> None:
    """Ask the proxy for a tunnel. Source: RFC 9110, 9.3.6."""
    assert address.proxy is not None
    host = f"[{address.host}]" if ":" in address.host else address.host
    target = f"{host}:{address.port}"
    credentials = address.proxy.authorization_lines("Proxy-Authorization")
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", *credentials]
    stream.send("\r\n".join([*lines, "", ""]).encode())
    response = IncomingResponse()
    try:
        while not response.has_head:
            response.feed(stream.receive())
    except errors.StreamCut as error:
        raise OSError("the proxy hung up") from error
    if response.status != 200:
        raise OSError(f"the proxy answers {response.status}")
