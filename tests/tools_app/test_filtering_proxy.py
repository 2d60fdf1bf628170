"""Tests of the filtering proxy: its clients' credentials, and the destinations it allows."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.tools_app.test_network_guard import Names, allowing, redirect_to, serving
from tools_app.network import NetworkPolicy
from tools_app.network.proxy import grant as grants
from tools_app.network.proxy import server as servers
from tools_app.network.proxy.grant import ProxyGrant
from tools_app.network.proxy.server import FilteringProxy

Open = Callable[..., Awaitable[FilteringProxy]]
INTERNAL = NetworkPolicy(allow_internal=frozenset({"127.0.0.1"}))


@pytest.fixture
async def proxy() -> AsyncIterator[FilteringProxy]:
    running = FilteringProxy(Names(["127.0.0.1"]))
    await running.start()
    yield running
    await running.stop()


async def echo(request: web.Request) -> web.Response:
    body = await request.text()
    return web.json_response(
        {"path": request.raw_path, "host": request.host, "body": body, "headers": sorted(request.headers)}
    )


def through(proxy: FilteringProxy, grant: ProxyGrant) -> aiohttp.ClientSession:
    auth = aiohttp.BasicAuth(grant.user, grant.password)
    return aiohttp.ClientSession(proxy=proxy.address, proxy_auth=auth)


def credential(grant: ProxyGrant) -> str:
    return base64.b64encode(f"{grant.user}:{grant.password}".encode()).decode()


async def raw_answer(proxy: FilteringProxy, *lines: str) -> bytes:
    """Return everything that the proxy answers to a head of `lines`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.address.rpartition(":")[2]))
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    return answer


async def test_request_is_forwarded_as_written(proxy: FilteringProxy) -> None:
    async with serving(echo) as server, through(proxy, proxy.grant_access(INTERNAL)) as session:
        url = f"http://wiki.example:{server.port}/a%2Fb/~x?q=%7E&r=1"
        async with session.get(aiohttp.client.URL(url, encoded=True), headers={"X-Mine": "1"}) as response:
            answer = await response.json()
        assert (answer["path"], answer["host"]) == ("/a%2Fb/~x?q=%7E&r=1", f"wiki.example:{server.port}")
    assert "X-Mine" in answer["headers"]
    assert not {"Proxy-Authorization", "Proxy-Connection"} & set(answer["headers"])


async def test_body_is_forwarded_completely(proxy: FilteringProxy) -> None:
    async def size(request: web.Request) -> web.Response:
        return web.Response(body=(await request.read())[::-1])

    app = web.Application(client_max_size=10**7)
    app.router.add_post("/", size)
    body = bytes(range(256)) * 10_000
    async with TestServer(app) as server, through(proxy, proxy.grant_access(INTERNAL)) as session:
        async with session.post(server.make_url("/"), data=body) as response:
            assert await response.read() == body[::-1]


async def test_sequential_requests_are_forwarded(proxy: FilteringProxy) -> None:
    async with serving(echo) as server, through(proxy, proxy.grant_access(INTERNAL)) as session:
        for number in range(20):
            async with session.get(server.make_url(f"/{number}")) as response:
                assert (await response.json())["path"] == f"/{number}"


async def test_tunnel_relays_both_directions(proxy: FilteringProxy) -> None:
    async def upper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper())
        writer.close()

    server = await asyncio.start_server(upper, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    grant = proxy.grant_access(INTERNAL)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.address.rpartition(":")[2]))
    head = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nProxy-Authorization: Basic {credential(grant)}\r\n\r\n"
    writer.write(head.encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    for word in (b"one\n", b"two\n"):
        writer.write(word)
        assert await reader.readline() == word.upper()
    proxy.revoke(grant)
    assert await reader.read() == b""
    writer.close()
    server.close()


@pytest.mark.parametrize("who", ["", "Proxy-Authorization: Basic eA==", "Proxy-Authorization: Basic ?", "guessed"])
async def test_requests_without_credential_are_refused(proxy: FilteringProxy, who: str) -> None:
    grant = proxy.grant_access(INTERNAL)
    if who == "guessed":
        grant.password, real = "guess", grant.password
        who = f"Proxy-Authorization: Basic {credential(grant)}"
        grant.password = real
    async with serving(echo) as server:
        lines = filter(None, [f"GET http://127.0.0.1:{server.port}/ HTTP/1.1", "Host: x", who])
        assert (await raw_answer(proxy, *lines)).startswith(b"HTTP/1.1 407 ")


async def test_revoked_grant_is_invalid(proxy: FilteringProxy) -> None:
    grant = proxy.grant_access(INTERNAL)
    proxy.revoke(grant)
    async with serving(echo) as server, through(proxy, grant) as session:
        async with session.get(server.make_url("/")) as response:
            assert response.status == 407


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "name.example"]
)
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
async def test_internal_addresses_are_refused_in_every_spelling(proxy: FilteringProxy, host: str, method: str) -> None:
    grant = proxy.grant_access(NetworkPolicy())
    async with serving(echo) as server:
        place = f"{host}:{server.port}"
        target = place if method == "CONNECT" else f"http://{place}/"
        answer = await raw_answer(
            proxy,
            f"{method} {target} HTTP/1.1",
            "Host: public.example",
            f"Proxy-Authorization: Basic {credential(grant)}",
        )
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"Proxy-Status: agentsite; error=destination_ip_prohibited" in answer
    assert "internal address" in str(grant.last_error)


async def test_grant_uses_its_own_policy(proxy: FilteringProxy) -> None:
    async with serving(echo) as one, serving(echo) as other:
        async with through(proxy, proxy.grant_access(allowing(one))) as session:
            assert (await session.get(one.make_url("/"))).status == 200
            assert (await session.get(other.make_url("/"))).status == 403


async def test_policy_change_ends_open_connections(proxy: FilteringProxy) -> None:
    ended = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x")
                await asyncio.sleep(0.01)
        finally:
            ended.set()

    grant = proxy.grant_access(INTERNAL)
    async with serving(endless) as server, through(proxy, grant) as session:
        response = await session.get(server.make_url("/"))
        await response.content.read(1)
        grant.renew(INTERNAL)
        assert not ended.is_set()
        grant.renew(NetworkPolicy())
        await asyncio.wait_for(ended.wait(), 30)


async def test_dns_rebinding_has_no_effect() -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    proxy = FilteringProxy(names)
    await proxy.start()
    async with serving(echo) as server, through(proxy, proxy.grant_access(allowing(server))) as session:
        assert (await session.get(f"http://rebinding.example:{server.port}/")).status == 200
        assert names.asked == 1
        assert (await session.get(f"http://rebinding.example:{server.port}/")).status == 403
    await proxy.stop()


async def test_redirect_is_a_separate_request(proxy: FilteringProxy) -> None:
    async with serving(echo) as inner, serving(redirect_to(str(inner.make_url("/")))) as outer:
        async with through(proxy, proxy.grant_access(allowing(outer))) as session:
            response = await session.get(outer.make_url("/"))
            assert (response.status, response.url.port) == (403, inner.port)


async def test_second_request_on_a_connection_cannot_bypass_the_guard(proxy: FilteringProxy) -> None:
    seen: list[bytes] = []

    async def keeps_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            seen.append(head)
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")

    server = await asyncio.start_server(keeps_open, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    who = f"Proxy-Authorization: Basic {credential(proxy.grant_access(INTERNAL))}"
    twice = [f"GET http://127.0.0.1:{port}/{n} HTTP/1.1\r\nHost: x\r\n{who}\r\n\r\n" for n in (1, 2)]
    answer = await raw_answer(proxy, "".join(twice).removesuffix("\r\n\r\n"))
    assert answer in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    assert [head.split(b"\r\n")[0] for head in seen] in ([], [b"GET /1 HTTP/1.1"])
    server.close()


@pytest.mark.parametrize(
    "lines",
    [
        ["nonsense"],
        ["GET / HTTP/1.1"],
        ["GET file:///etc/passwd HTTP/1.1"],
        ["GET https://127.0.0.1/ HTTP/1.1"],
        ["GET http://user:word@127.0.0.1/ HTTP/1.1"],
        ["GET http://127.0.0.1/ HTTP/1.1", "Broken field"],
        ["POST http://127.0.0.1/ HTTP/1.1", "Transfer-Encoding: chunked"],
        ["POST http://127.0.0.1/ HTTP/1.1", "Content-Length: 1", "Content-Length: 2"],
        ["POST http://127.0.0.1/ HTTP/1.1", "Content-Length: +1"],
        ["GET http://127.0.0.1/ HTTP/1.1", "X: " + "x" * 70_000],
    ],
)
async def test_malformed_request_closes_the_connection(proxy: FilteringProxy, lines: list[str]) -> None:
    who = f"Proxy-Authorization: Basic {credential(proxy.grant_access(INTERNAL))}"
    assert await raw_answer(proxy, *lines, who) == b""


async def test_received_bytes_are_limited(proxy: FilteringProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "MAX_RECEIVED", 100_000)

    async def much(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 1_000_000)

    grant = proxy.grant_access(INTERNAL)
    async with serving(much) as server, through(proxy, grant) as session:
        response = await session.get(server.make_url("/"))
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()
    assert "More than" in str(grant.last_error)


async def test_unreachable_host_is_reported(proxy: FilteringProxy) -> None:
    grant = proxy.grant_access(INTERNAL)
    async with serving(echo) as server:
        gone = server.make_url("/")
    async with through(proxy, grant) as session:
        response = await session.get(gone)
        assert (response.status, response.headers["Proxy-Status"].split("=")[1]) == (502, "destination_unavailable")
    assert f"127.0.0.1:{gone.port} cannot be reached" in str(grant.last_error)


async def test_blocked_host_is_refused(proxy: FilteringProxy) -> None:
    async with serving(echo) as server:
        grant = proxy.grant_access(INTERNAL, blocked_hosts=frozenset({"home.example"}))
        async with through(proxy, grant) as session:
            assert (await session.get(f"http://home.example:{server.port}/")).status == 403
            assert (await session.get(f"http://other.example:{server.port}/")).status == 200


# --- messages that two programs could read in different ways ----------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param("Content-Length: 3\r\nTransfer-Encoding: chunked", id="both lengths"),
        pytest.param("Transfer-Encoding: chunked\r\nContent-Length: 3", id="both lengths, the other way round"),
        pytest.param("Transfer-Encoding: xchunked\r\nContent-Length: 3", id="an unknown coding"),
        pytest.param("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", id="two codings"),
        pytest.param("Content-Length: 3\r\nX: a\r\n Content-Length: 0", id="a folded field"),
        pytest.param("X: a\r\n\tb\r\nContent-Length: 3", id="a field folded with a tab"),
        pytest.param("Content-Length: 3\nX: a", id="a bare LF between fields"),
        pytest.param("X: a\nTransfer-Encoding: chunked\r\nContent-Length: 3", id="a field behind a bare LF"),
        pytest.param("X: a\rContent-Length: 0\r\nContent-Length: 3", id="a bare CR"),
        pytest.param("Content-Length : 3", id="a space before the colon"),
        pytest.param("Content-Length: 3\r\nContent-Length: 03", id="two spellings of a length"),
        pytest.param("Content-Length: 0x3", id="a length in hex"),
        pytest.param("Host: one\r\nHost: two\r\nContent-Length: 3", id="two hosts"),
        pytest.param("X: a\0b\r\nContent-Length: 3", id="a NUL"),
    ],
)
async def test_ambiguous_request_is_refused(proxy: FilteringProxy, fields: str) -> None:
    reached: list[str] = []

    async def note(request: web.Request) -> web.Response:
        reached.append(request.path)
        return web.Response()

    who = f"Proxy-Authorization: Basic {credential(proxy.grant_access(INTERNAL))}"
    async with serving(note) as server:
        answer = await raw_answer(
            proxy, f"POST http://127.0.0.1:{server.port}/ HTTP/1.1", who, f"{fields}\r\n\r\n0\r\n"
        )
    assert (answer, reached) == (b"", [])


async def answered(proxy: FilteringProxy, response: bytes, method: str = "GET") -> bytes:
    """Return the client's view of a server that sends the bytes `response` and keeps the connection open."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    who = f"Proxy-Authorization: Basic {credential(proxy.grant_access(INTERNAL))}"
    try:
        return await raw_answer(proxy, f"{method} http://127.0.0.1:{port}/ HTTP/1.1", "Host: x", who)
    finally:
        server.close()


async def test_trailers_and_a_second_response_are_dropped(proxy: FilteringProxy) -> None:
    first = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nX: trailing\r\n\r\n"
    answer = await answered(proxy, first + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert body == b"2\r\nok\r\n0\r\n\r\n"
    assert b"trailer" not in head.lower()


async def test_response_with_two_lengths_is_sent_with_one(proxy: FilteringProxy) -> None:
    both = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    head, _, body = (await answered(proxy, both)).partition(b"\r\n\r\n")
    assert (body, b"content-length" in head.lower()) == (b"2\r\nok\r\n0\r\n\r\n", False)


@pytest.mark.parametrize(
    "response",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 12,
    ],
)
async def test_malformed_response_is_not_forwarded(proxy: FilteringProxy, response: bytes) -> None:
    assert b" 200 " not in await answered(proxy, response)


async def test_response_to_head_has_no_body_and_keeps_its_length(proxy: FilteringProxy) -> None:
    answer = await answered(proxy, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD")
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"


async def test_interim_response_is_forwarded(proxy: FilteringProxy) -> None:
    answer = await answered(proxy, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n")


async def test_connections_of_a_sandbox_are_limited(proxy: FilteringProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MAX_CONNECTIONS", 1)
    bound = socket.create_server(("127.0.0.1", 0))
    async with await proxy.listen(bound):
        place = bound.getsockname()
        _, first = await asyncio.open_connection(*place)
        reader, second = await asyncio.open_connection(*place)
        assert await reader.read() == b""
        first.close()
        second.close()
