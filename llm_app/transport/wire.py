"""HTTP and server-sent events: bytes out, events in, one typed error for whatever goes wrong on the way."""

import asyncio
import base64
import weakref
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.connector import Connection

from llm_app import errors
from llm_app.transport.http_errors import error_for
from llm_app.transport.sse import ServerEvent, SSEDecoder

BINARY = "binary"  # the event that is a whole body, in base64
MAX_REPLY = 64 * 1024 * 1024  # bytes
MAX_ERROR_BODY = 4_000  # bytes that are read of a reply with an error status
LEAST_REST, LONGEST_REST = 0.005, 0.04  # seconds between two reads of a quick stream
LONGEST_END = 0.1  # seconds between the last event and the end of the body
_sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class HTTPRequest:
    """One POST. `body` is sent byte for byte as it is: its hash is in the log."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def _session() -> aiohttp.ClientSession:
    """One connection pool for each event loop, so one for a process."""
    loop = asyncio.get_running_loop()
    session = _sessions.get(loop)
    if session is None or session.closed:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        session = _sessions[loop] = aiohttp.ClientSession(connector=connector, auto_decompress=True)
    return session


@lru_cache(maxsize=256)
def _proxy_to(url: str) -> str | None:
    """The proxy that the environment names for an address, looked up once: with `trust_env`, aiohttp does so in a
    thread for each request, and asks ~/.netrc in another one for a password that would stand in the key's way.
    """
    to = urlsplit(url)
    proxy = None if proxy_bypass(to.hostname or "") else getproxies().get(to.scheme)
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy  # as curl and others read it


async def close() -> None:
    """Closes the pool of the running loop."""
    if session := _sessions.pop(asyncio.get_running_loop(), None):
        await session.close()


async def events(request: HTTPRequest, *, silence_s: float, total_s: float) -> AsyncGenerator[ServerEvent]:
    """Posts and yields the events of the answer; a body that is no event stream comes as one event.

    silence_s: the longest time without a byte; total_s: the longest time of all. Raises LLMError.
    """
    timeout = aiohttp.ClientTimeout(total=total_s, sock_connect=min(silence_s, 15), sock_read=silence_s)
    pace = _Pace()
    with _typed_errors():
        how: dict[str, Any] = {"timeout": timeout, "allow_redirects": False, "proxy": _proxy_to(request.url)}
        response = await _session().post(request.url, data=request.body, headers=request.headers, **how)
        try:
            if response.status != 200:
                raise error_for(response.status, await _beginning(response), response.headers)
            kind, size = response.content_type, 0
            decoder = SSEDecoder() if "event-stream" in kind else _WholeBody(kind)
            async for chunk in response.content.iter_any():
                size = _bounded(size + len(chunk))
                for event in decoder.feed(chunk):
                    yield event
                await pace.rest(response.connection)
            for event in decoder.end():
                yield event
        except asyncio.CancelledError:  # by a stop, of which the provider shall know at once
            response.close()
            raise
        finally:
            _let_go(response)


def _let_go(response: aiohttp.ClientResponse) -> None:
    """What ends a body often comes a moment after its last event: then its connection serves the next call, too."""
    if not response.content.is_eof():
        closing = asyncio.get_running_loop().call_later(LONGEST_END, response.close)
        response.content.on_eof(closing.cancel)


async def get(url: str, headers: Mapping[str, str], *, total_s: float) -> bytes:
    """The body of the answer to a GET. Raises LLMError."""
    timeout = aiohttp.ClientTimeout(total=total_s)
    with _typed_errors():
        async with _session().get(
            url, headers=headers, timeout=timeout, allow_redirects=False, proxy=_proxy_to(url)
        ) as response:
            if response.status != 200:
                raise error_for(response.status, await _beginning(response), response.headers)
            return await _whole(response)


@contextmanager
def _typed_errors() -> Iterator[None]:
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise errors.ConnectionFailed("no connection in time") from error
    except TimeoutError as error:
        raise errors.ProviderTimeout() from error
    except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
        raise errors.ConnectionFailed(str(error)) from error
    except (aiohttp.ClientError, ConnectionError) as error:
        raise errors.StreamCut(type(error).__name__) from error
    except ValueError as error:
        raise errors.BadRequest("a header has a line break: look at the key and at extra_headers") from error


class _Pace:
    """Reads what a quick stream sends in a moment at once: to be woken for a token costs more than to parse it.

    Nobody is shown words at a quicker pace. An answer ends later by this at most: a twentieth of its time.
    """

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._began = self._waits_since = self._clock()

    async def rest(self, connection: Connection | None) -> None:
        """After a read, lets the next ones gather in the socket, unless few would."""
        now = self._clock()
        pause, waited = min(LONGEST_REST, (now - self._began) / 20), now - self._waits_since
        if connection and connection.transport and pause >= LEAST_REST and waited < pause / 2:
            connection.transport.pause_reading()
            await asyncio.sleep(pause)
            if connection.transport:  # over TLS, a connection may be lost meanwhile
                connection.transport.resume_reading()
            now = self._clock()
        self._waits_since = now


class _WholeBody:
    """A body in one piece is one event, unless it is a stream under another name."""

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


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        _bounded(len(body))
    return bytes(body)


def _bounded(size: int) -> int:
    if size > MAX_REPLY:
        raise errors.UnreadableReply("the reply is larger than 64 MiB")
    return size


async def _beginning(response: aiohttp.ClientResponse) -> str:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) >= MAX_ERROR_BODY:
            break
    return body[:MAX_ERROR_BODY].decode(errors="replace")
