"""Tests that a fetch is limited in time, bytes and memory, whatever the server does."""

import asyncio
import gzip
import socket
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from tools_app.errors import FetchFailed
from tools_app.network import FetchedResponse, NetworkPolicy
from tools_app.network.fetch import fetch

MB = 1024**2


def serving(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> TestServer:
    app = web.Application()
    app.router.add_get("/", handler)
    return TestServer(app)


async def get(server: BaseTestServer, *, max_bytes: int = MB, timeout_s: float = 20) -> FetchedResponse:
    policy = NetworkPolicy(allow_internal=frozenset({f"127.0.0.1:{server.port}"}))
    return await fetch(str(server.make_url("/")), policy, max_bytes=max_bytes, timeout_s=timeout_s)


async def test_response_has_content_type_and_charset() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=b"caf\xe9", headers={"Content-Type": "text/Plain; charset=Latin-1"})

    async with serving(handler) as server:
        fetched = await get(server)
    assert (fetched.status, fetched.content_type, fetched.charset) == (200, "text/plain", "Latin-1")
    assert (fetched.body, fetched.truncated) == (b"caf\xe9", False)


async def test_missing_content_type_stays_empty() -> None:
    async def raw(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    async with await asyncio.start_server(raw, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        policy = NetworkPolicy(allow_internal=frozenset({f"127.0.0.1:{port}"}))
        fetched = await fetch(f"http://127.0.0.1:{port}/", policy, max_bytes=MB, timeout_s=10)
    assert (fetched.content_type, fetched.charset, fetched.body) == ("", "", b"hi")


@pytest.mark.parametrize(("size", "truncated"), [(MB - 1, False), (MB, False), (MB + 1, True)])
async def test_large_body_is_truncated(size: int, truncated: bool) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * size)

    async with serving(handler) as server:
        fetched = await get(server)
    assert (len(fetched.body), fetched.truncated) == (min(size, MB), truncated)


async def test_decompression_bomb_is_truncated_at_the_limit() -> None:
    bomb = gzip.compress(bytes(200 * MB), compresslevel=1)

    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"})

    async with serving(handler) as server:
        tracemalloc.start()
        try:
            fetched = await get(server)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (len(fetched.body), fetched.truncated) == (MB, True)
    assert peak < 20 * MB


async def test_endless_body_is_truncated() -> None:
    left = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 10_000)
        finally:
            left.set()

    async with serving(endless) as server:
        assert (await get(server)).truncated
        await asyncio.wait_for(left.wait(), 30)


@pytest.mark.parametrize("silent_from", ["the start", "the body"])
async def test_slow_response_times_out(silent_from: str) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if silent_from == "the body":
            await response.prepare(request)
            await response.write(b"x")
        await asyncio.sleep(60)
        return response

    async with serving(slow) as server, asyncio.timeout(10):
        with pytest.raises(FetchFailed, match=r"within 0\.3 seconds"):
            await get(server, timeout_s=0.3)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"this is no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nwrong",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
    ids=["nothing", "no HTTP", "a cut body", "a false encoding", "an endless header"],
)
async def test_malformed_response_fails_with_a_reason(answer: bytes) -> None:
    async def raw(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(raw, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        policy = NetworkPolicy(allow_internal=frozenset({f"127.0.0.1:{port}"}))
        with pytest.raises(FetchFailed, match=r"The request failed: ."):
            await fetch(f"http://127.0.0.1:{port}/", policy, max_bytes=MB, timeout_s=10)


async def test_closed_port_fails_with_a_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        port = closing.getsockname()[1]
    policy = NetworkPolicy(allow_internal=frozenset({f"127.0.0.1:{port}"}))
    with pytest.raises(FetchFailed, match="Cannot connect"):
        await fetch(f"http://127.0.0.1:{port}/", policy, max_bytes=MB, timeout_s=10)
