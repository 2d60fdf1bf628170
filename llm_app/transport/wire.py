"""HTTP requests whose responses are server-sent events. Every failure becomes a typed error."""

import base64
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from llm_app import errors
from llm_app.transport import exchange
from llm_app.transport.answer import Answer
from llm_app.transport.exchange import Exchange
from llm_app.transport.http_errors import error_for
from llm_app.transport.sse import ServerEvent, SSEDecoder
from llm_app.transport.waiting import Patience, Runner

BINARY = "binary"  # name of the event that holds a complete body in base64
MAX_REPLY = 64 * 1024 * 1024  # bytes
MAX_ERROR_BODY = 4_000  # bytes read of a response with an error status
LEAST_REST, LONGEST_REST = 0.005, 0.04  # seconds between two reads of a fast stream


@dataclass(frozen=True, kw_only=True)
class HTTPRequest:
    """A POST request. `body` is sent unchanged, because the log contains its hash."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def events(request: HTTPRequest, run: Runner, *, silence_s: float, total_s: float) -> Generator[ServerEvent]:
    """Send a POST request and yield the events of the response. A body that is no event stream becomes one event.

    `silence_s` is the timeout between two bytes, `total_s` the timeout of the complete exchange, in seconds. An
    interruption closes the connection, so the provider can stop immediately.

    Raises: LLMError, or the exception that interrupts a wait of `run`.
    """
    patience = Patience(run, silence_s=silence_s, total_s=total_s)
    with _typed_errors(), Exchange("POST", request.url, request.headers, request.body, patience) as exchanged:
        answer, size, pace = _accepted(exchanged), 0, _Pace(patience)
        decoder = SSEDecoder() if "event-stream" in answer.content_type else _WholeBody(answer.content_type)
        for piece in exchanged.body():
            size = _bounded(size + len(piece))
            yield from decoder.feed(piece)
            if not answer.is_over:
                pace.rest()
        yield from decoder.end()


def get(url: str, headers: Mapping[str, str], run: Runner, *, total_s: float) -> bytes:
    """Return the body of the response to a GET request.

    Raises: LLMError, or the exception that interrupts a wait of `run`.
    """
    patience = Patience(run, silence_s=total_s, total_s=total_s)
    with _typed_errors(), Exchange("GET", url, headers, b"", patience) as exchanged:
        _accepted(exchanged)
        body = bytearray()
        for piece in exchanged.body():
            body += piece
            _bounded(len(body))
        return bytes(body)


close = exchange.close


def _accepted(exchanged: Exchange) -> Answer:
    """Return the response.

    Raises: the typed error for a status other than 200.
    """
    answer = exchanged.answer
    if answer.status != 200:
        raise error_for(answer.status, _beginning(exchanged), answer.headers)
    return answer


def _beginning(exchanged: Exchange) -> str:
    body = bytearray()
    for piece in exchanged.body():
        body += piece
        if len(body) >= MAX_ERROR_BODY:
            break
    return body[:MAX_ERROR_BODY].decode(errors="replace")


def _bounded(size: int) -> int:
    if size > MAX_REPLY:
        raise errors.UnreadableReply("the reply is larger than 64 MiB")
    return size


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


class _Pace:
    """Pauses between reads of a fast stream: waking up for each token costs more than parsing it.

    People do not see text any faster. A response ends later by at most a twentieth of its duration.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._began = self._waits_since = time.monotonic()

    def rest(self) -> None:
        """Pause after a read, so that data collects in the socket. A slow stream is not paused."""
        now = time.monotonic()
        pause, waited = min(LONGEST_REST, (now - self._began) / 20), now - self._waits_since
        if pause >= LEAST_REST and waited < pause / 2:
            self._patience.rest(pause)
            now = time.monotonic()
        self._waits_since = now


class _WholeBody:
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
