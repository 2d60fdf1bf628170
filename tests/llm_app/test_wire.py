"""Every failure of the transport is one typed error, and nothing hangs."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from itertools import islice
from typing import Any

import pytest

from llm_app import errors
from llm_app.transport import wire
from llm_app.transport.sse import ServerEvent
from llm_app.transport.wire import HTTPRequest
from llm_app.types import Runner
from tests.llm_app.conftest import Impatient

HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
EVENT = b'data: {"a": 1}\n\n'
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def ask(answer: Answer, run: Runner | None = None, **request: object) -> list[ServerEvent]:
    """Send a request to a server that reads it and then acts as given. Return the events."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"the body")
        await answer(writer)

    async with listening(serve) as url:
        return await asyncio.to_thread(heard, HTTPRequest(**{**fields(url), **request}), run)


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], **how: Any
) -> AsyncIterator[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, **how)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        wire.close()


def fields(url: str) -> dict[str, Any]:
    return {"url": url, "headers": {}, "body": b"the body"}


def heard(request: HTTPRequest, run: Runner | None = None, most: int | None = None) -> list[ServerEvent]:
    """Receive all events in a thread, like the engine, or stop listening after some of them."""
    with closing(wire.events(request, run or Impatient(), silence_s=0.4, total_s=1)) as events:
        return list(islice(events, most))


async def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection in the middle, like a crashed proxy."""
    await writer.drain()
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def test_a_reset_after_the_headers():
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"Transfer-Encoding: chunked\r\n\r\n")
        await reset(writer)

    with pytest.raises(errors.StreamCut):
        await ask(answer)


async def test_a_reset_before_the_headers():
    with pytest.raises(errors.StreamCut):
        await ask(reset)


async def test_fewer_bytes_than_were_promised():
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"Content-Length: 1000\r\n\r\n" + EVENT)
        await writer.drain()
        writer.close()

    with pytest.raises(errors.StreamCut):
        await ask(answer)


@pytest.mark.parametrize("beginning", [b"", HEADERS + b"\r\n", HEADERS + b"\r\n" + EVENT, HEADERS + b"\r\nda"])
async def test_silence_is_a_timeout(beginning):
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        await writer.drain()
        await asyncio.sleep(5)

    with pytest.raises(errors.ProviderTimeout):
        await ask(answer)


async def test_an_endless_response_is_a_timeout():
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"\r\n")
        while not writer.is_closing():
            writer.write(b": still here\n\n")
            await writer.drain()
            await asyncio.sleep(0.1)

    with pytest.raises(errors.ProviderTimeout):
        await ask(answer)


@pytest.mark.parametrize(
    "answer",
    [b"\x00\x01\x02\r\n\r\n", b"HTTP/9.9 two hundred\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\noops"],
)  # fmt: skip
async def test_invalid_http_is_a_cut_stream(answer):
    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    with pytest.raises(errors.StreamCut):
        await ask(say)


async def test_a_closed_port_is_a_failed_connection():
    with pytest.raises(errors.ConnectionFailed):
        await ask(reset, url="http://127.0.0.1:9/v1")


async def test_a_fast_stream_is_read_in_few_chunks():
    """Waking up for each token costs more than reading several at once."""
    waits: list[str] = []

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"\r\n")
        await asyncio.sleep(0.2)  # short answers have no pauses
        for number in range(1, 51):
            writer.write(b"data: %d\n\n" % number)
            await asyncio.sleep(0.001)
        writer.close()

    events = await ask(answer, Impatient(waits.append))
    assert [event.data for event in events] == [str(number) for number in range(1, 51)]
    assert len(waits) < 30


async def test_a_slowly_read_response_respects_the_total_timeout():
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(EVENT)
                await writer.drain()
                await asyncio.sleep(0.001)

    def slowly(request: HTTPRequest) -> None:
        with closing(wire.events(request, Impatient(), silence_s=5, total_s=0.5)) as events:
            for _ in events:
                time.sleep(0.01)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"the body")
        await answer(writer)

    async with listening(serve) as url:
        with pytest.raises(errors.ProviderTimeout):
            await asyncio.wait_for(asyncio.to_thread(slowly, HTTPRequest(**fields(url))), 20)


async def test_a_host_header_of_the_route_is_sent_once():
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"Content-Length: %d\r\n\r\n%s" % (len(EVENT), EVENT))
        await writer.drain()

    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        await answer(writer)

    async with listening(serve) as url:
        given = {"Host": "other.example", "Content-Length": "5"}
        assert await asyncio.to_thread(heard, HTTPRequest(**fields(url) | {"headers": given}))
    assert [line for line in heads[0].lower().splitlines() if line.startswith((b"host", b"content-length"))] == [
        b"host: other.example",
        b"content-length: 8",
    ]


def test_an_invalid_host_name_is_a_failed_connection():
    with pytest.raises(errors.ConnectionFailed):
        heard(HTTPRequest(**fields(f"http://{'a' * 70}.example/v1")))


@pytest.mark.parametrize("url", ["http://", "ftp://127.0.0.1/v1", "http://[/v1", "nonsense"])
async def test_an_invalid_address_is_a_failed_connection(url):
    with pytest.raises((errors.ConnectionFailed, errors.BadRequest, errors.StreamCut)):
        await ask(reset, url=url)


async def test_a_key_with_a_line_break_is_an_error_that_hides_the_key():
    with pytest.raises(errors.BadRequest) as caught:
        await ask(reset, headers={"Authorization": "Bearer sk-secret\nX: y"})
    assert "sk-secret" not in str(caught.value)


async def test_a_flood_without_a_line_break_ends():
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 1_000_000)
            await writer.drain()

    with pytest.raises(errors.UnreadableReply):
        await ask(answer)


async def test_a_nul_in_an_error_can_be_stored():
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\na\0\xffb")
        await writer.drain()

    with pytest.raises(errors.BadRequest) as caught:
        await ask(answer)
    assert caught.value.detail == "HTTP 400: a��b"


@pytest.mark.parametrize(("host", "scheme"), [("provider.example", "http://"), ("other.example", "")])
async def test_the_proxy_comes_from_the_environment_and_netrc_is_ignored(monkeypatch, tmp_path, host, scheme):
    """A password in ~/.netrc would replace the provider's key."""
    (tmp_path / "netrc").write_text(f"machine {host} login me password other")
    asked = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with listening(serve) as url:
        proxy = scheme + url.removeprefix("http://").removesuffix("/v1")
        for name, value in (("http_proxy", proxy), ("no_proxy", ""), ("NETRC", str(tmp_path / "netrc"))):
            monkeypatch.setenv(name, value)
        key = {"Authorization": "Bearer key"}
        assert await asyncio.to_thread(wire.get, f"http://{host}/v1/models", key, Impatient(), total_s=5) == b"ok"
    (head,) = asked
    assert head.startswith(f"GET http://{host}/v1/models".encode())
    assert b"Authorization: Bearer key" in head
