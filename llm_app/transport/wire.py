"""HTTP requests whose responses are server-sent events. Every failure becomes a typed error."""

import base64
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType

from llm_app import errors
from llm_app.transport.address import Address, address_of
from llm_app.transport.connection import connect
from llm_app.transport.http_errors import error_for
from llm_app.transport.pool import IdleConnections
from llm_app.transport.response import IncomingResponse
from llm_app.transport.sse import ServerEvent, SSEDecoder
from llm_app.transport.waiting import Deadlines
from llm_app.types import Runner

BINARY = "binary"  # name of the event that holds a complete body in base64
MAX_REPLY = 64 * 1024 * 1024  # bytes
MAX_ERROR_BODY = 4_000  # bytes read of a response with an error status
SHORTEST_PAUSE, LONGEST_PAUSE = 0.005, 0.04  # seconds between two reads of a fast stream
_DEFAULT_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip", "User-Agent": "agentsite"}
_BODY_HEADERS = ("content-length", "transfer-encoding")

_idle_connections = IdleConnections()
close = _idle_connections.close


@dataclass(frozen=True, kw_only=True)
class HTTPRequest:
    """A POST request. `body` is sent unchanged, because the log contains its hash."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def events(
    request: HTTPRequest, run: Runner, *, silence_s: float, total_s: float, on_sent: Callable[[], None] = lambda: None
) -> Generator[ServerEvent]:
    """Send a POST request and yield the events of the response. A body that is no event stream becomes one event.

    `silence_s` is the timeout between two bytes, `total_s` the timeout of the complete exchange, in seconds. An
    interruption closes the connection, so the provider can stop immediately. `on_sent` is called once there is a
    connection, when the first bytes of the request are sent.

    Raises: LLMError, or the exception that interrupts a wait of `run`.
    """
    deadlines = Deadlines(run, silence_s=silence_s, total_s=total_s)
    with _typed_errors(), _Exchange("POST", request.url, request.headers, request.body, deadlines, on_sent) as exchange:
        exchange.check_status()
        response, throttle = exchange.response, _ReadThrottle(deadlines)
        is_stream = "event-stream" in response.content_type
        decoder = SSEDecoder() if is_stream else _CompleteBodyDecoder(response.content_type)
        size = 0
        for chunk in exchange.body():
            size += len(chunk)
            _check_size(size)
            yield from decoder.feed(chunk)
            if not response.is_complete:
                throttle.pause()
        yield from decoder.end()


def get(url: str, headers: Mapping[str, str], run: Runner, *, total_s: float) -> bytes:
    """Return the body of the response to a GET request.

    Raises: LLMError, or the exception that interrupts a wait of `run`.
    """
    deadlines = Deadlines(run, silence_s=total_s, total_s=total_s)
    with _typed_errors(), _Exchange("GET", url, headers, b"", deadlines) as exchange:
        exchange.check_status()
        body = bytearray()
        for chunk in exchange.body():
            body += chunk
            _check_size(len(body))
        return bytes(body)


def _check_size(size: int) -> None:
    if size > MAX_REPLY:
        raise errors.UnreadableReply("the reply is larger than 64 MiB")


@contextmanager
def _typed_errors() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise errors.ProviderTimeout() from error
    except OSError as error:
        raise errors.StreamCut(type(error).__name__) from error
    except ValueError as error:
        raise errors.BadRequest("a header has a line break: look at the key and at extra_headers") from error


class _Exchange:
    """A request that is sent on entering the context; then the response's head has arrived.

    An error or an interruption closes the connection immediately. After a normal exit the connection returns to the
    pool.

    Raises: LLMError, OSError, ValueError for an invalid header, and the exception that interrupts a wait.
    """

    def __init__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        deadlines: Deadlines,
        on_sent: Callable[[], None] = lambda: None,
    ) -> None:
        self._address = address_of(url)
        self._is_retried = method == "POST"  # callers retry a POST whose pooled connection was just closed
        self._request = _request_head(method, self._address, headers, len(body)) + body
        self._deadlines, self._on_sent = deadlines, on_sent
        self._chunks: list[bytes] = []

    def __enter__(self) -> "_Exchange":
        idle = _idle_connections.take(self._address) if self._is_retried else None
        self._stream = idle or connect(self._address, self._deadlines)
        self._stream.deadlines = self._deadlines
        self.response = IncomingResponse()
        self._on_sent()
        try:
            self._send()
            while not self.response.has_head:
                self._chunks += self.response.feed(self._stream.receive())
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None or issubclass(kind, errors.LLMError | GeneratorExit):
            _idle_connections.add(self._address, self._stream, self.response)
        else:
            self._stream.close()

    def check_status(self) -> None:
        """Raise the typed error for a status other than 200. The status counts even if its body is cut."""
        if self.response.status == 200:
            return
        body = bytearray()
        with suppress(errors.StreamCut, OSError):
            for chunk in self.body():
                body += chunk
                if len(body) >= MAX_ERROR_BODY:
                    break
        text = body[:MAX_ERROR_BODY].decode(errors="replace")
        raise error_for(self.response.status, text, self.response.headers)

    def body(self) -> Iterator[bytes]:
        """Yield chunks of the body as they arrive.

        Raises: StreamCut if the connection ends too early.
        """
        while True:
            if self._chunks:
                yield b"".join(self._chunks)
            if self.response.is_complete:
                return
            self._chunks = self.response.feed(self._stream.receive())

    def _send(self) -> None:
        """Send the request. A server that rejects a long request may answer and close before it has read all of it."""
        try:
            self._stream.send(self._request)
        except (BrokenPipeError, ConnectionResetError):
            self._chunks += self.response.feed(self._stream.receive_available() or b"")


def _request_head(method: str, address: Address, headers: Mapping[str, str], length: int) -> bytes:
    """Return the request line and the headers.

    Raises: ValueError for a header with a line break.
    """
    proxy = address.proxy if not address.is_tunnelled else None
    target = f"http://{address.authority}{address.path}" if proxy else address.path
    names = {name.lower() for name in headers}
    lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in _BODY_HEADERS]
    if "authorization" not in names:
        lines += address.authorization_lines("Authorization")
    if proxy:
        lines += proxy.authorization_lines("Proxy-Authorization")
    defaults = {"Host": address.authority, **_DEFAULT_HEADERS}
    lines += [f"{name}: {value}" for name, value in defaults.items() if name.lower() not in names]
    if method == "POST":
        lines.append(f"Content-Length: {length}")
    if any(character in line for line in lines for character in "\r\n\0"):
        raise ValueError("a header has a line break")
    return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode()


class _ReadThrottle:
    """Pauses between reads of a fast stream: waking up for each token costs more than parsing it.

    People do not see text any faster. A response ends later by at most a twentieth of its duration.
    """

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._started_at = self._last_read_at = time.monotonic()

    def pause(self) -> None:
        """Pause after a read, so that data collects in the socket. A slow stream is not paused."""
        now = time.monotonic()
        pause = min(LONGEST_PAUSE, (now - self._started_at) / 20)
        if pause >= SHORTEST_PAUSE and now - self._last_read_at < pause / 2:
            self._deadlines.pause(pause)
            now = time.monotonic()
        self._last_read_at = now


class _CompleteBodyDecoder:
    """A decoder of complete bodies: one event, unless the body is an event stream with another content type."""

    def __init__(self, content_type: str) -> None:
        self._content_type, self._body = content_type, bytearray()

    def feed(self, chunk: bytes) -> Iterable[ServerEvent]:
        self._body += chunk
        return ()

    def end(self) -> Iterator[ServerEvent]:
        body, decoder = bytes(self._body), SSEDecoder()
        if self._content_type.startswith(("audio/", "image/")):
            yield ServerEvent(BINARY, base64.b64encode(body).decode())
        elif body.lstrip().startswith((b"data:", b"event:", b":")):
            yield from decoder.feed(body)
            yield from decoder.end()
        else:
            yield ServerEvent("", body.decode(errors="replace"))
