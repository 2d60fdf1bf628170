"""What an application sends waits while its client reads slowly: Daphne alone keeps all of it in memory.

Twisted tells a channel to pause once 64 KiB of its output wait for the client, and to resume once all of it is gone.
The same channel is told when its connection has become a websocket.
"""

# Daphne installs the reactor's event loop when it is imported: see web.py.
import daphne.server  # isort: skip

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from twisted.internet import reactor, tcp
from twisted.protocols.policies import ProtocolWrapper

logger = logging.getLogger(__name__)
_COME_BACK = range(1011, 1014)  # RFC 6455: the server has a fault, restarts, is overloaded
MOST_FRAMES = 120  # of a websocket's client, in a minute
STALLED_SECONDS = 120.0  # without taking what waits: the client is gone, or comes back and goes on


class Connection(ProtocolWrapper):
    """One client's, with what it has not yet taken."""

    def __init__(self, factory: Any, protocol: Any) -> None:
        super().__init__(factory, protocol)
        self._is_taking = asyncio.Event()
        self._is_taking.set()
        self._deadline: Any = None
        self._gathered: list[bytes] | None = None  # what is written while a reply is handled

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What its block writes, in however many pieces, is sent when it ends, where nothing waits: the reactor's way
        costs as much as all else of it.
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
        """After what was written."""
        self._send_gathered()
        super().loseConnection()

    def _written(self, data: bytes) -> int:
        """How many bytes the socket has taken; a fault of it is met again by who asks the reactor."""
        socket: Any = self.transport
        if not isinstance(socket, tcp.Connection) or not socket.connected:
            return 0
        if socket.disconnecting or socket.dataBuffer or socket._tempDataBuffer:
            return 0
        return taken if isinstance(taken := socket.writeSomeData(data), int) else 0

    async def until_taken(self) -> None:
        """Returns once the client has taken what waits for it, or is gone."""
        await self._is_taking.wait()

    def hold(self) -> None:
        """A websocket's client is not heard meanwhile: each of its pings would add an answer."""
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
    """Daphne's. For each message that Autobahn sends, it colours a line of its log, which nobody reads; and it holds
    the limit of what comes against what is sent, which may be megabytes.
    """

    maxMessagePayloadSize: int  # noqa: N815  Autobahn's
    _minute, _frames = 0, 0

    def onFrameBegin(self) -> None:
        """A page sends nothing, and pings of programs come seconds apart. Each frame costs the event loop as much as a
        small request.
        """
        minute = int(reactor.seconds() // 60)
        self._minute, self._frames = minute, self._frames + 1 if minute == self._minute else 1
        if self._frames <= MOST_FRAMES:
            super().onFrameBegin()
        else:
            logger.info("%s sent more than %d frames in a minute: its connection is closed", self.peer, MOST_FRAMES)
            self.dropConnection(abort=True)

    def serverClose(self, code: int | None = None) -> None:
        """Autobahn refuses to send the codes after which pages come back, and would leave them open for ever."""
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
    """Its applications wait in `send`."""

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        connection = protocol.transport if isinstance(protocol.transport, Connection) else None  # once it is gone
        if connection is not None:
            await connection.until_taken()
        if not _says_goodbye(protocol):
            with connection.at_once() if connection else nullcontext():
                await super().handle_reply(protocol, message)


def _says_goodbye(protocol: Any) -> bool:
    """A websocket whose client has begun to close it: its application hears so in a moment, and sends until then."""
    kind = daphne.server.WebSocketFactory.protocol
    return isinstance(protocol, kind) and protocol.state in (kind.STATE_CLOSING, kind.STATE_CLOSED)
