"""Tests of the guard at connect time: the checked address is the one connected to, for each request and redirect."""

import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import BaseTestServer, TestServer
from yarl import URL

from tools_app.errors import AddressRefused, FetchFailed, PortUnreachable
from tools_app.network import FetchedResponse, NetworkPolicy, check_url
from tools_app.network.connections import GuardedResolver, http_session
from tools_app.network.fetch import fetch

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Names(AbstractResolver):
    """A name server that returns its answers in order and repeats the last one."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=_family(address), proto=0, flags=0)
            for address in addresses
        ]

    async def close(self) -> None: ...


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serving(handler: Handler, host: str = "127.0.0.1") -> TestServer:
    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    return TestServer(app, host=host)


async def hello(request: web.Request) -> web.Response:
    return web.Response(text=f"hello from {request.path}")


def redirect(location: str, **headers: str) -> web.Response:
    return web.Response(status=302, headers={"Location": location, **headers})


def redirect_to(location: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        return redirect(location)

    return handler


def allowing(*servers: BaseTestServer) -> NetworkPolicy:
    return NetworkPolicy(allow_internal=frozenset(f"127.0.0.1:{server.port}" for server in servers))


async def get(url: object, policy: NetworkPolicy) -> FetchedResponse:
    return await fetch(str(url), policy, max_bytes=1000, timeout_s=10)


async def test_allowed_server_is_reached() -> None:
    async with serving(hello) as server:
        for host in ("127.0.0.1", "localhost"):
            assert (await get(f"http://{host}:{server.port}/x", allowing(server))).body == b"hello from /x"


async def test_same_server_is_refused_by_default() -> None:
    async with serving(hello) as server:
        for host in ("127.0.0.1", "127.1", "2130706433", "localhost", "[::ffff:127.0.0.1]"):
            with pytest.raises(AddressRefused):
                await get(f"http://{host}:{server.port}/", NetworkPolicy())


@pytest.mark.parametrize(
    "addresses", [["10.0.0.1"], ["127.0.0.1"], ["::1"], ["169.254.169.254"], ["fd00::1", "192.168.0.1"], ["fe80::1%2"]]
)
async def test_name_of_an_internal_address_is_refused(addresses: list[str]) -> None:
    async with http_session(NetworkPolicy(), Names(addresses)) as session:
        with pytest.raises(AddressRefused, match=r"pages\.example leads to an internal address"):
            await session.get("http://pages.example/")


async def test_only_permitted_addresses_of_a_name_are_used() -> None:
    resolver = GuardedResolver(
        NetworkPolicy(), Names(["10.0.0.1", "8.8.8.8", "::1", "2606:4700:4700::1111", "::ffff:9.9.9.9"])
    )
    found = await resolver.resolve("pages.example", 443)
    assert [result["host"] for result in found] == ["8.8.8.8", "2606:4700:4700::1111", "::ffff:9.9.9.9"]


async def test_allowed_name_can_lead_anywhere() -> None:
    async with serving(hello) as server:
        policy = NetworkPolicy(allow_internal=frozenset({f"Wiki.example:{server.port}"}))
        async with http_session(policy, Names(["127.0.0.1"])) as session:
            async with session.get(f"http://wiki.example:{server.port}/") as response:
                assert response.status == 200
            with pytest.raises(AddressRefused):
                await session.get(f"http://other.example:{server.port}/")


async def test_connection_uses_the_checked_address_without_a_second_lookup() -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    async with serving(hello) as server, http_session(allowing(server), names) as session:
        response = await session.get(f"http://rebinding.example:{server.port}/")
        assert await response.text() == "hello from /"
    assert names.asked == 1


async def test_name_in_a_redirect_is_checked() -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])

    async def onward(request: web.Request) -> web.Response:
        return redirect(f"http://second.example:{server.port}/")

    async with serving(onward) as server, http_session(allowing(server), names) as session:
        with pytest.raises(AddressRefused, match=r"second\.example"):
            await session.get(f"http://first.example:{server.port}/")


@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.1:1/", "http://127.1:1/", "http://[::1]:1/", "//127.0.0.2/", "http://169.254.169.254/latest"),
        *("http://localhost:1/", "http://2130706433:1/", "file:///etc/passwd", "http://user:word@8.8.8.8/"),
    ],
)
async def test_redirect_to_an_internal_address_is_refused(location: str) -> None:
    async with serving(redirect_to(location)) as server:
        with pytest.raises(AddressRefused):
            await get(server.make_url("/"), allowing(server))


class Sandbox:
    """Fake sandbox ports that count connections."""

    opened = 0

    async def open(self, port: int) -> socket.socket:
        self.opened += 1
        raise PortUnreachable()


async def test_web_page_cannot_redirect_to_the_sandbox() -> None:
    sandbox = Sandbox()
    async with serving(redirect_to("http://sandbox:8000/delete")) as server:
        policy = replace(allowing(server), sandbox=sandbox)
        with pytest.raises(AddressRefused, match="own sandbox"):
            await get(server.make_url("/"), policy)
    assert not sandbox.opened
    with pytest.raises(PortUnreachable):
        await get(URL("http://sandbox:8000/"), policy)
    assert sandbox.opened


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://localhost:5000/items", 5000),
        ("http://127.0.0.1:8123", 8123),
        ("http://0.0.0.0:3000/", 3000),
        ("http://[::1]:80/", 80),
        ("http://app.localhost/", 80),
        ("https://localhost:8443/", 8443),
    ],
)
def test_refused_loopback_address_names_that_of_the_sandbox(url: str, port: int) -> None:
    with pytest.raises(AddressRefused, match=f"reached as http://sandbox:{port}/"):
        check_url(url, NetworkPolicy(sandbox=Sandbox()))
    with pytest.raises(AddressRefused, match="is an internal address"):
        check_url(url, NetworkPolicy())
    with pytest.raises(AddressRefused, match="is an internal address"):
        check_url("http://10.0.0.1:5000/", NetworkPolicy(sandbox=Sandbox()))
    host = f"[{literal}]" if ":" in (literal := URL(url).raw_host or "") else literal
    assert check_url(url, NetworkPolicy(sandbox=Sandbox(), allow_internal=frozenset({host})))


async def test_http_session_refuses_such_a_redirect() -> None:
    async with serving(redirect_to("http://127.0.0.1:1/")) as server, http_session(allowing(server)) as session:
        with pytest.raises(AddressRefused):
            await session.get(server.make_url("/"))


async def test_redirects_are_followed_and_the_final_address_is_returned() -> None:
    async def handler(request: web.Request) -> web.Response:
        step = int(request.path.strip("/"))
        return web.Response(text="there") if step == 5 else redirect(f"{step + 1}")

    async with serving(handler) as server:
        fetched = await get(server.make_url("/0"), allowing(server))
        assert (fetched.url, fetched.body) == (str(server.make_url("/5")), b"there")


async def test_redirect_loop_fails() -> None:
    requests = []

    async def handler(request: web.Request) -> web.Response:
        requests.append(request.path)
        return redirect("/again")

    async with serving(handler) as server:
        with pytest.raises(FetchFailed, match="More than 5 redirects"):
            await get(server.make_url("/"), allowing(server))
    assert len(requests) == 6


@pytest.mark.parametrize("location", ["http://[::1", "http://example.com:port/", "http://[::1]@/"])
async def test_redirect_to_an_invalid_url_is_refused(location: str) -> None:
    async with serving(redirect_to(location)) as server:
        with pytest.raises(AddressRefused, match="not a valid URL"):
            await get(server.make_url("/"), allowing(server))


async def test_headers_are_not_sent_to_another_host() -> None:
    seen = []

    async def record(request: web.Request) -> web.Response:
        seen.append(request.headers.get("X-Key"))
        return web.Response(text="ok")

    async with serving(record) as other, serving(redirect_to(str(other.make_url("/")))) as first:
        policy = allowing(first, other)
        await fetch(str(first.make_url("/")), policy, max_bytes=1000, timeout_s=10, headers={"X-Key": "k"})
        await fetch(str(other.make_url("/")), policy, max_bytes=1000, timeout_s=10, headers={"X-Key": "k"})
    assert seen == [None, "k"]


async def test_no_proxy_and_no_cookies_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    cookies = []

    async def handler(request: web.Request) -> web.Response:
        cookies.append(request.headers.get("Cookie"))
        return redirect("/again", **{"Set-Cookie": "id=1"})

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with serving(handler) as server:
        with pytest.raises(FetchFailed, match="redirects"):
            await get(server.make_url("/"), allowing(server))
    assert cookies == [None] * 6
