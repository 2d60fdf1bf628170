"""Connections to a provider, over TCP and TLS. Their waits are limited by the deadlines of the current call."""

import select
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from typing import Protocol, TypeVar

from llm_app.transport.waiting import Patience

T = TypeVar("T")
_SIZE = 65_536  # bytes per read


class Connection(Protocol):
    """A connection that sends and receives bytes.

    Raises: OSError if it is broken, TimeoutError at a deadline, and the exception that interrupts a wait.
    """

    patience: Patience | None  # None between two calls

    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes:
        """Wait for data and return it; empty when the peer closed the connection."""

    def received(self) -> bytes | None:
        """Return available data without waiting; None if there is none."""

    def close(self) -> None: ...


class Plain:
    """A connection over TCP."""

    def __init__(self, connected: socket.socket, patience: Patience) -> None:
        self._socket = connected
        self.patience: Patience | None = patience
        self._descriptor = connected.fileno()

    def send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                self._wait(select.POLLOUT)

    def receive(self) -> bytes:
        self._wait(select.POLLIN)
        while (data := self.received()) is None:
            self._wait(select.POLLIN)
        return data

    def received(self) -> bytes | None:
        try:
            return self._socket.recv(_SIZE)
        except BlockingIOError:
            return None

    def close(self) -> None:
        self._socket.close()

    def _wait(self, events: int) -> None:
        assert self.patience is not None
        self.patience.until(self._descriptor, events)


class TLS:
    """A TLS connection on top of another connection."""

    def __init__(self, below: Connection, host: str) -> None:
        """Perform the handshake.

        Raises: OSError, also for an invalid certificate.
        """
        self._below = below
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _context().wrap_bio(self._incoming, self._outgoing, server_hostname=host.rstrip("."))
        self._until_done(self._tls.do_handshake)

    @property
    def patience(self) -> Patience | None:
        return self._below.patience

    @patience.setter
    def patience(self, patience: Patience | None) -> None:
        self._below.patience = patience

    def send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._until_done(partial(self._tls.write, left)) :]

    def receive(self) -> bytes:
        """Return all available records: each may hold one token, and the caller pauses between two reads."""
        pieces = [self._until_done(self._read)]
        with suppress(ssl.SSLWantReadError):
            while pieces[-1]:
                pieces.append(self._read())
        return b"".join(pieces)

    def received(self) -> bytes | None:
        try:
            return self._read()
        except ssl.SSLWantReadError:
            if (data := self._below.received()) is None:
                return None
            self._take(data)
            return self.received()

    def close(self) -> None:
        self._below.close()

    def _read(self) -> bytes:
        try:
            return self._tls.read(_SIZE)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):  # the HTTP parser decides whether this end is too early
            return b""

    def _until_done(self, step: Callable[[], T]) -> T:
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._flush()
                self._take(self._below.receive())
            except ssl.SSLError:
                with suppress(OSError):  # send the TLS alert, if the peer still reads
                    self._flush()
                raise
            else:
                self._flush()
                return done

    def _take(self, data: bytes) -> None:
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._below.send(self._outgoing.read())


@lru_cache(maxsize=1)
def _context() -> ssl.SSLContext:
    """Return the TLS settings with the system's certificates. Cached, because loading them takes 20 ms."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
