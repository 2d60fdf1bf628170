"""Deadlines of requests and of clients that read slowly, with Twisted's test clock and transport.

A response may take any time.
"""

from typing import Any

import pytest
from daphne.server import WebSocketFactory
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import tcp
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport, StringTransportWithDisconnection
from twisted.web import http

from agentsite.serving import back_pressure
from agentsite.serving.channel import BODY_SECONDS, HEAD_SECONDS, MIN_BYTES_PER_SECOND, SILENCE_SECONDS, LimitedChannel
from agentsite.serving.limits import ConnectionLimiter


class Request(http.Request):
    """A request that stays unanswered until its test answers it."""

    def process(self) -> None:
        self.channel.came.append(self)


class Connection:
    def __init__(self) -> None:
        self.clock, self.channel = Clock(), LimitedChannel()
        self.transport = StringTransportWithDisconnection()
        self.channel.callLater, self.channel.timeOut = self.clock.callLater, SILENCE_SECONDS
        self.channel.requestFactory, self.channel.came = Request, []
        self.transport.protocol = self.channel
        self.channel.makeConnection(self.transport)

    def send(self, data: bytes) -> "Connection":
        self.channel.dataReceived(data)
        return self

    def wait(self, seconds: float) -> "Connection":
        """Advance the clock second by second while the connection is open."""
        while seconds > 0 and self.is_open:
            self.clock.advance(min(1, seconds))
            seconds -= 1
        return self

    @property
    def is_open(self) -> bool:
        return bool(self.transport.connected)

    @property
    def said(self) -> bytes:
        return bytes(self.transport.value())

    @property
    def requests(self) -> list[Any]:
        return list(self.channel.came)


HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture
def connection() -> Connection:
    return Connection()


def test_late_headers_get_408(connection):
    connection.send(b"GET / HTTP/1.1\r\n").wait(HEAD_SECONDS - 1)
    assert connection.is_open
    connection.wait(2)
    assert not connection.is_open
    assert connection.said.startswith(b"HTTP/1.1 408 ")


def test_slow_headers_get_no_more_time(connection):
    for _ in range(int(HEAD_SECONDS) + 1):
        connection.send(b"x").wait(1)
    assert not connection.is_open


def test_silent_connection_is_closed_without_a_response(connection):
    connection.wait(HEAD_SECONDS + 1)
    assert (connection.is_open, connection.said) == (False, b"")


def test_silent_body_gets_408(connection):
    connection.send(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345").wait(SILENCE_SECONDS + 1)
    assert not connection.is_open
    assert connection.said.startswith(b"HTTP/1.1 408 ")


def test_slow_body_gets_408_finally(connection):
    connection.send(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % MIN_BYTES_PER_SECOND)
    for _ in range(int(BODY_SECONDS) + 2):
        connection.send(b"x").wait(1)
    assert not connection.is_open
    assert connection.said.startswith(b"HTTP/1.1 408 ")


def test_response_can_take_any_time(connection):
    connection.send(HEAD).wait(24 * 3600)
    connection.requests[0].write(b"still here")
    assert connection.is_open
    assert b"still here" in connection.said


def test_deadline_of_a_later_request_starts_at_its_first_byte(connection):
    connection.send(HEAD)
    connection.requests[0].finish()
    connection.wait(SILENCE_SECONDS - 1).send(b"GET /").wait(HEAD_SECONDS - 1)
    assert connection.is_open
    connection.wait(2)
    assert not connection.is_open


def test_idle_connection_is_closed(connection):
    connection.send(HEAD)
    connection.requests[0].finish()
    connection.wait(SILENCE_SECONDS + 1)
    assert not connection.is_open
    assert b"408" not in connection.said


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A connection whose client should read its output, and its clock."""
    clock, transport = Clock(), StringTransportWithDisconnection()
    monkeypatch.setattr(back_pressure, "reactor", clock)
    taking = back_pressure.ClientConnection(ConnectionLimiter(None, 100), Protocol())
    transport.protocol = taking
    taking.makeConnection(transport)
    return taking, clock


def test_client_that_stops_reading_is_disconnected(client):
    taking, clock = client
    taking.pause()
    clock.advance(back_pressure.STALLED_SECONDS - 1)
    assert taking.transport.connected
    clock.advance(2)
    assert not taking.transport.connected


def test_slowly_reading_client_stays_connected(client):
    taking, clock = client
    for _ in range(5):
        taking.pause()
        clock.advance(back_pressure.STALLED_SECONDS - 1)
        taking.resume()
    clock.advance(24 * 3600)
    assert taking.transport.connected


@pytest.fixture
async def page() -> tuple[back_pressure.Server, WebSocketProtocol, StringTransport]:
    """An open websocket, and the server that sends to it."""
    server = back_pressure.Server(None, endpoints=["tcp:0"])
    protocol = WebSocketFactory(server).buildProtocol(None)
    protocol.makeConnection(StringTransport())
    protocol.transport.registerProducer(protocol, True)
    protocol.setTrackTimings(False)
    vars(protocol).update(state=WebSocketProtocol.STATE_OPEN, websocket_version=13, client_addr=None)
    server.connections = {protocol: {}}
    return server, protocol, protocol.transport


async def test_messages_to_a_closing_page_are_dropped(page: Any) -> None:
    """The socket is still open for a moment. Sending to it used to log a traceback."""
    server, protocol, transport = page
    await server.handle_reply(protocol, {"type": "websocket.send", "text": "before"})
    assert transport.value().endswith(b"before")
    protocol.onCloseFrame(1001, None)
    transport.clear()
    await server.handle_reply(protocol, {"type": "websocket.send", "text": "after"})
    assert transport.value() == b""


class Socket(tcp.Connection):
    """A socket that takes a given number of bytes at once. The rest waits for the reactor."""

    connected = True

    def __init__(self, takes: Any) -> None:
        self.takes, self.taken, self._tempDataBuffer = takes, b"", []

    def writeSomeData(self, data: bytes) -> Any:
        if isinstance(self.takes, int):
            self.taken += data[: self.takes]
            return len(data[: self.takes])
        return self.takes

    def write(self, data: bytes) -> None:
        if data:
            self._tempDataBuffer.append(data)

    def loseConnection(self) -> None:
        self.is_lost = True


@pytest.mark.parametrize(
    ("takes", "taken", "waiting"),
    [
        (100, b"headbodynext", []),
        (2, b"he", [b"adbody", b"next"]),
        (0, b"", [b"headbody", b"next"]),
        (OSError(), b"", [b"headbody", b"next"]),
    ],
    ids=["all of it", "a part", "nothing", "is broken"],
)
def test_reply_is_written_in_one_piece_and_the_rest_follows_in_order(takes, taken, waiting):
    connection = back_pressure.ClientConnection(
        ConnectionLimiter(None, 100), WebSocketFactory(None).buildProtocol(None)
    )
    connection.transport = Socket(takes)
    with connection.batch_writes():
        connection.write(b"head")
        connection.writeSequence([b"bo", b"dy"])
        assert connection.transport.taken == b""
    with connection.batch_writes():
        connection.write(b"next")
    assert (connection.transport.taken, connection.transport._tempDataBuffer) == (taken, waiting)


def test_closing_within_a_reply_sends_collected_output_first(client):
    taking, _ = client
    taking.transport = Socket(100)
    with taking.batch_writes():
        taking.write(b"the end")
        taking.loseConnection()
    assert (taking.transport.taken, taking.transport.is_lost) == (b"the end", True)


def test_other_output_waits_for_the_reactor(client):
    taking, _ = client
    taking.transport = Socket(100)
    taking.write(b"100 Continue")
    assert (taking.transport.taken, taking.transport._tempDataBuffer) == (b"", [b"100 Continue"])
