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
_COME_BACK = range(1011, 1014)  # RFC 6455: internal error, service restart, try again later
MOST_FRAMES = 120  # from a websocket's client, per minute
STALLED_SECONDS = 120.0  # while output waits: the client is gone, or reconnects and continues


class Connection(ProtocolWrapper):
    """The connection of a client, with the output that it has not yet taken."""

    def __init__(self, factory: Any, protocol: Any) -> None:
        super().__init__(factory, protocol)
        self._is_taking = asyncio.Event()
        self._is_taking.set()
        self._deadline: Any = None
        self._gathered: list[bytes] | None = None  # output of the reply that is being handled

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Collect the output of the block and send it at its end, directly to the socket if no output waits.

        The reactor's way would cost as much as the rest of the reply.
        """
        self._gathered = []
        try:
            yield
        finally:
            self._send_gathered()

    def _send_gathered(self) -> None:
        gathered, self._gathered = self._gathered, None
        if gathered:
            data = b"".join(gathered)
            super().write(data[self._written(data) :])

    def write(self, data: bytes) -> None:
        if self._gathered is None:
            super().write(data)
        else:
            self._gathered.append(data)

    def writeSequence(self, data: Sequence[bytes]) -> None:
        if self._gathered is None:
            super().writeSequence(data)
        else:
            self._gathered.extend(data)

    def loseConnection(self) -> None:
        """Close the connection after the collected output is sent."""
        self._send_gathered()
        super().loseConnection()

    def _written(self, data: bytes) -> int:
        """Return the number of bytes that the socket took directly. The reactor handles errors of the socket."""
        socket: Any = self.transport
        if not isinstance(socket, tcp.Connection) or not socket.connected:
            return 0
        if socket.disconnecting or socket.dataBuffer or socket._tempDataBuffer:
            return 0
        return taken if isinstance(taken := socket.writeSomeData(data), int) else 0

    async def until_taken(self) -> None:
        """Wait until the client has taken its output or is gone."""
        await self._is_taking.wait()

    def hold(self) -> None:
        """Pause the application, and stop reading from a websocket: each of its pings would add an answer."""
        self._is_taking.clear()
        self._deadline = self._deadline or reactor.callLater(STALLED_SECONDS, self._drop)
        if self._is_websocket:
            self.transport.pauseProducing()

    def go_on(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            if self._is_websocket:
                self.transport.resumeProducing()
        self._is_taking.set()

    @property
    def _is_websocket(self) -> bool:
        return isinstance(self.wrappedProtocol, daphne.server.WebSocketFactory.protocol)

    def _drop(self) -> None:
        logger.info("%s took nothing for %d s: its connection is closed", self.getPeer().host, STALLED_SECONDS)
        self._deadline = None
        self.transport.abortConnection()

    def connectionLost(self, reason: Any) -> None:
        self.go_on()
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
        if self._frames <= MOST_FRAMES:
            super().onFrameBegin()
        else:
            logger.info("%s sent more than %d frames in a minute: its connection is closed", self.peer, MOST_FRAMES)
            self.dropConnection(abort=True)

    def serverClose(self, code: int | None = None) -> None:
        """Send also the codes after which pages reconnect: Autobahn refuses them and would leave the websocket open."""
        if code in _COME_BACK:
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
        connection = protocol.transport if isinstance(protocol.transport, Connection) else None  # None when it is gone
        if connection is not None:
            await connection.until_taken()
        if not _says_goodbye(protocol):
            with connection.at_once() if connection else nullcontext():
                await super().handle_reply(protocol, message)


def _says_goodbye(protocol: Any) -> bool:
    """Return whether the client has begun to close its websocket. Until the application is notified, it still sends."""
    kind = daphne.server.WebSocketFactory.protocol
    return isinstance(protocol, kind) and protocol.state in (kind.STATE_CLOSING, kind.STATE_CLOSED)
