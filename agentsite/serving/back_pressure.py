"""Back pressure: an application waits in `send` while its client reads slowly. Daphne would keep the output in memory.

Twisted pauses a channel once 64 KiB of its output wait for the client, and resumes it once all of it is sent. These
calls reach the same channel after its connection has become a websocket.
"""

# Importing Daphne installs the reactor's event loop: see web.py.
import daphne.server  # isort: skip

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from twisted.internet import reactor, tcp
from twisted.protocols.policies import ProtocolWrapper

logger = logging.getLogger(__name__)
_RECONNECT_CODES = range(1011, 1014)  # RFC 6455: internal error, service restart, try again later
MAX_FRAMES = 120  # from a websocket's client, per minute
STALLED_SECONDS = 120.0  # while output waits: the client is gone, or reconnects and continues


class ClientConnection(ProtocolWrapper):
    """The connection of a client, with the output that it has not yet taken."""

    def __init__(self, factory: Any, protocol: Any) -> None:
        super().__init__(factory, protocol)
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._deadline: Any = None
        self._chunks: list[bytes] | None = None  # output of the reply that is being handled

    @contextmanager
    def batch_writes(self) -> Iterator[None]:
        """Collect the output of the block and send it at its end, directly to the socket if no output waits.

        The reactor's way would cost as much as the rest of the reply.
        """
        self._chunks = []
        try:
            yield
        finally:
            self._send_chunks()

    def _send_chunks(self) -> None:
        chunks, self._chunks = self._chunks, None
        if chunks:
            data = b"".join(chunks)
            super().write(data[self._write_to_socket(data) :])

    def write(self, data: bytes) -> None:
        if self._chunks is None:
            super().write(data)
        else:
            self._chunks.append(data)

    def writeSequence(self, data: Sequence[bytes]) -> None:
        if self._chunks is None:
            super().writeSequence(data)
        else:
            self._chunks.extend(data)

    def loseConnection(self) -> None:
        """Close the connection after the collected output is sent."""
        self._send_chunks()
        super().loseConnection()

    def _write_to_socket(self, data: bytes) -> int:
        """Write to the socket directly and return the number of bytes that it took. The reactor handles its errors."""
        socket: Any = self.transport
        if not isinstance(socket, tcp.Connection) or not socket.connected:
            return 0
        if socket.disconnecting or socket.dataBuffer or socket._tempDataBuffer:
            return 0
        result = socket.writeSomeData(data)
        return result if isinstance(result, int) else 0

    async def wait_until_taken(self) -> None:
        """Wait until the client has taken its output or is gone."""
        await self._can_write.wait()

    def pause(self) -> None:
        """Pause the application, and stop reading from a websocket: each of its pings would add an answer."""
        self._can_write.clear()
        self._deadline = self._deadline or reactor.callLater(STALLED_SECONDS, self._close_stalled)
        if self._is_websocket:
            self.transport.pauseProducing()

    def resume(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            if self._is_websocket:
                self.transport.resumeProducing()
        self._can_write.set()

    @property
    def _is_websocket(self) -> bool:
        return isinstance(self.wrappedProtocol, daphne.server.WebSocketFactory.protocol)

    def _close_stalled(self) -> None:
        logger.info("closed the connection of %s: it took no data for %d s", self.getPeer().host, STALLED_SECONDS)
        self._deadline = None
        self.transport.abortConnection()

    def connectionLost(self, reason: Any) -> None:
        self.resume()
        super().connectionLost(reason)


class WebSocket(daphne.server.WebSocketFactory.protocol):
    """Daphne's websocket, without two features of Autobahn.

    Autobahn formats a coloured log line for each frame that it sends, which nobody reads. It also applies the limit
    for received messages to sent ones, which may have megabytes.
    """

    maxMessagePayloadSize: int  # noqa: N815  Autobahn's
    _minute, _frames = 0, 0

    def onFrameBegin(self) -> None:
        """Limit the frames per minute: each costs the event loop as much as a small request.

        A page sends none, and pings of programs come seconds apart.
        """
        minute = int(reactor.seconds() // 60)
        self._minute, self._frames = minute, self._frames + 1 if minute == self._minute else 1
        if self._frames <= MAX_FRAMES:
            super().onFrameBegin()
        else:
            logger.info("closed the websocket of %s: more than %d frames in a minute", self.peer, MAX_FRAMES)
            self.dropConnection(abort=True)

    def serverClose(self, code: int | None = None) -> None:
        """Send also the codes after which pages reconnect: Autobahn refuses them and would leave the websocket open."""
        if code in _RECONNECT_CODES:
            self.sendCloseFrame(code=code)
        else:
            super().serverClose(code)

    def sendMessage(self, *message: Any, **options: Any) -> None:
        limit, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().sendMessage(*message, **options)
        finally:
            self.maxMessagePayloadSize = limit

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        if sync or chopsize or self.send_queue:
            super().sendData(data, sync, chopsize)
        else:
            self.transport.write(data)


class Server(daphne.server.Server):
    """Daphne's server, with applications that wait in `send`."""

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        # Without a client, the transport is None.
        connection = protocol.transport if isinstance(protocol.transport, ClientConnection) else None
        if connection is not None:
            await connection.wait_until_taken()
        if not _is_closing(protocol):
            with connection.batch_writes() if connection else nullcontext():
                await super().handle_reply(protocol, message)


def _is_closing(protocol: Any) -> bool:
    """Return whether the client has begun to close its websocket. Until the application is notified, it still sends."""
    kind = daphne.server.WebSocketFactory.protocol
    return isinstance(protocol, kind) and protocol.state in (kind.STATE_CLOSING, kind.STATE_CLOSED)
