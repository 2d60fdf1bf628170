"""Clients behind proxies, limits on requests and streams, and origins of websockets."""

import asyncio
from ipaddress import ip_network
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.asgi import application
from agentsite.edge import (
    FOREIGN_ORIGIN,
    TOO_MANY_STREAMS,
    OriginMiddleware,
    ProxyHeadersMiddleware,
    RateLimitMiddleware,
)
from agentsite.environment import trusted_proxies

PROXY, CLIENT = "10.0.0.5", "203.0.113.7"


@pytest.fixture
def proxies(settings: Any) -> None:
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/24"), ip_network("2001:db8::1")]


@pytest.fixture
def most(settings: Any) -> Any:
    """Return a function that sets the limits."""

    def set_them(**limits: int) -> None:
        settings.REQUESTS_PER_MINUTE = {"token": limits.get("requests", 0), "address": limits.get("of_address", 0)}
        settings.STREAMS = {"token": limits.get("streams", 0), "address": limits.get("streams_of_address", 0)}

    return set_them


def scope(peer: str = CLIENT, path: str = "/", kind: str = "http", **headers: str) -> dict[str, Any]:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": kind,
        "path": path,
        "method": "GET",
        "query_string": b"",
        "scheme": "ws" if kind == "websocket" else "http",
        "client": [peer, 1234],
        "root_path": "/evil",
        "headers": [(b"host", b"inside"), *pairs],
    }


def seen(**request: Any) -> tuple[str, str, str]:
    """Return client, scheme and host as the inner application sees them."""
    found: dict[str, Any] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found.update(scope)

    asyncio.run(ProxyHeadersMiddleware(application)(scope(**request), None, None))
    assert found["root_path"] == ""
    assert {name for name, _ in found["headers"]} <= {b"host", b"x-forwarded-prefix"}
    return found["client"][0], found["scheme"], dict(found["headers"])[b"host"].decode()


FORWARDED = {"x_forwarded_for": CLIENT, "x_forwarded_proto": "https", "x_forwarded_host": "site.example"}


@pytest.mark.usefixtures("proxies")
class TestProxyHeaders:
    def test_headers_of_trusted_proxies_apply(self) -> None:
        assert seen(peer=PROXY, **FORWARDED) == (CLIENT, "https", "site.example")
        assert seen(peer="::ffff:10.0.0.5", **FORWARDED)[0] == CLIENT
        assert seen(peer="2001:db8::1", kind="websocket", **FORWARDED)[1] == "wss"

    def test_prefix_of_a_proxy_is_logged_once(self, caplog: pytest.LogCaptureFixture) -> None:
        for _ in range(2):
            seen(peer=PROXY, x_forwarded_prefix="/agents", **FORWARDED)
        assert caplog.text.count("serve it under its own host name") == 1

    def test_headers_of_other_clients_are_removed(self) -> None:
        assert seen(**{**FORWARDED, "x_forwarded_for": "10.0.0.9"}, daphne_root_path="/x") == (CLIENT, "http", "inside")

    @pytest.mark.parametrize(
        ("forwarded", "client"),
        [
            ("1.2.3.4, 203.0.113.7", CLIENT),  # the first address comes from the client
            ("1.2.3.4, 203.0.113.7, 10.0.0.8", CLIENT),
            ("203.0.113.7:4711", CLIENT),
            ('"[2001:db8:1::7]:443"', "2001:db8:1::7"),
            ("10.0.0.7, 10.0.0.8", "10.0.0.7"),
            ("203.0.113.7, unknown", PROXY),
            ("<script>", PROXY),
            ("", PROXY),
        ],
    )
    def test_client_is_the_nearest_untrusted_address(self, forwarded: str, client: str) -> None:
        assert seen(peer=PROXY, x_forwarded_for=forwarded)[0] == client

    def test_scheme_comes_from_the_outermost_trusted_proxy(self) -> None:
        chain = f"{CLIENT}, 10.0.0.8"
        assert seen(peer=PROXY, x_forwarded_for=chain, x_forwarded_proto="https, http")[1] == "https"
        assert seen(peer=PROXY, x_forwarded_for=f"9.9.9.9, {CLIENT}", x_forwarded_proto="https, http")[1] == "http"

    @pytest.mark.django_db(transaction=True)
    def test_pagination_links_use_https_and_cookies_are_secure(self, alice: Any, client: Any) -> None:
        """Use the entire application: a client that follows `next` does not send its token unencrypted."""
        from tests import factories

        for _ in range(2):
            factories.SessionFactory(owner=alice)
        client.force_login(alice)
        cookie = f"sessionid={client.cookies['sessionid'].value}"
        forwarded = {**FORWARDED, "x_forwarded_host": "localhost"}
        request = scope(peer=PROXY, path="/api/v1/sessions/", cookie=cookie, **forwarded)
        status, headers, body = asyncio.run(answer({**request, "query_string": b"limit=1"}))
        assert status == 200
        assert b'"next":"https://localhost/api/v1/sessions/?' in body
        assert headers[b"strict-transport-security"].startswith(b"max-age=")
        _, headers, _ = asyncio.run(answer(scope(peer=PROXY, path="/accounts/login/", **forwarded)))
        assert b"Secure" in headers[b"set-cookie"]
        _, headers, _ = asyncio.run(answer(scope(path="/healthz", x_forwarded_proto="https") | {"client": ["::1", 1]}))
        assert b"strict-transport-security" not in headers


async def answer(request: dict[str, Any]) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[dict[str, Any]] = []
    asked = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if asked.is_set():
            await asyncio.sleep(3600)
        asked.set()
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    request["headers"] = [(name, value if name != b"host" else b"localhost") for name, value in request["headers"]]
    await application(request, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], {name.lower(): value for name, value in sent[0]["headers"]}, body


@pytest.mark.parametrize("text", ["proxy", "10.0.0.1/8", "10.0.0.300"])
def test_invalid_trusted_proxies_stop_the_start(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="TRUSTED_PROXIES: .*Name addresses"):
        trusted_proxies([text])


class Behind:
    """An application that answers on demand."""

    def __init__(self) -> None:
        self.inside = 0
        self.may_end = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self.limited = RateLimitMiddleware(self)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside += 1
        await self.may_end.wait()

    async def ask(self, **request: Any) -> list[dict[str, Any]]:
        """Return the messages of a refusal, empty for an accepted request."""
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        await self.limited(scope(**request), receive, send)
        return sent


def test_requests_per_minute_are_limited_by_token(most: Any) -> None:
    async def flood() -> None:
        behind = Behind()
        behind.may_end.set()
        answers = [await behind.ask(authorization="Bearer a", path="/api/v1/tasks/") for _ in range(4)]
        assert [len(sent) for sent in answers] == [0, 0, 0, 2]
        headers = dict(answers[3][0]["headers"])
        assert (answers[3][0]["status"], headers[b"content-type"]) == (429, b"application/problem+json")
        assert 1 <= int(headers[b"retry-after"]) <= 60
        assert await behind.ask(authorization="Bearer b") == []
        assert await behind.ask(authorization="Bearer a", path="/healthz") == []
        page = await behind.ask(authorization="Bearer a")
        assert "Not now" in page[1]["body"].decode()

    most(requests=3)
    asyncio.run(flood())


def test_path_of_a_refused_request_is_not_logged(most: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The path of a preview or a sign-in link is as good as a password, and any path can contain a line break."""

    async def flood() -> None:
        behind = Behind()
        behind.may_end.set()
        for _ in range(2):
            await behind.ask(path="/preview/t0ken/\nforged")

    most(of_address=1)
    asyncio.run(flood())
    assert f"refused a request from {CLIENT}" in caplog.text
    assert "t0ken" not in caplog.text
    assert "forged" not in caplog.text


def test_requests_per_minute_are_limited_by_address(most: Any) -> None:
    async def flood() -> list[int]:
        behind = Behind()
        behind.may_end.set()
        return [len(await behind.ask(authorization=f"Bearer {number}")) for number in range(3)]

    most(of_address=2)
    assert asyncio.run(flood()) == [0, 0, 2]


@pytest.mark.parametrize("query", [b"wait=60", b"a=1&wait=60", b"%77ait=60", b"w%61i%74=60"])
def test_waiting_for_a_task_counts_as_a_stream(most: Any, query: bytes) -> None:
    async def wait_twice() -> list[dict[str, Any]]:
        behind = Behind()
        request = {**scope(path="/api/v1/tasks/x/", authorization="Bearer a"), "query_string": query}
        held = asyncio.ensure_future(behind.limited(request, None, None))
        while not behind.inside:  # noqa: ASYNC110  no time passes
            await asyncio.sleep(0)
        said: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            said.append(message)

        behind.may_end.set()
        await behind.limited(request, None, send)
        await held
        return said

    most(streams=1)
    assert asyncio.run(wait_twice())[0]["status"] == 429


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_open_streams_are_limited_and_closing_one_frees_a_slot(most: Any, kind: str) -> None:
    async def open_them() -> None:
        behind = Behind()
        request = {"kind": kind, "path": "/api/v1/sessions/x/events/", "cookie": "sessionid=s"}
        held = [asyncio.ensure_future(behind.ask(**request)) for _ in range(2)]
        while behind.inside < 2:  # noqa: ASYNC110  no time passes
            await asyncio.sleep(0)
        refused = await behind.ask(**request)
        assert refused[-1] == {"type": "websocket.close", "code": TOO_MANY_STREAMS} or refused[0]["status"] == 429
        behind.may_end.set()
        await asyncio.gather(*held)
        assert await behind.ask(**request) == []

    most(streams=2)
    asyncio.run(open_them())


# --- websockets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "is_known"),
    [
        ("http://127.0.0.1:8000", True),
        ("https://agents.example.org", True),
        ("https://a.trusted.example", True),
        ("https://trusted.example.evil", False),
        ("http://a.trusted.example", False),
        ("https://other.example", False),
        ("http://[", False),
        ("null", False),
        ("", False),
    ],
)
def test_websocket_of_a_foreign_page_is_closed_with_its_code(settings: Any, origin: str, is_known: bool) -> None:
    settings.ALLOWED_HOSTS = ["agents.example.org", "127.0.0.1"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.trusted.example"]
    sent: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send("let in")

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {"origin": origin} if origin else {}
    asyncio.run(OriginMiddleware(application)(scope(kind="websocket", **headers), receive, send))
    closed = [{"type": "websocket.accept"}, {"type": "websocket.close", "code": FOREIGN_ORIGIN}]
    assert sent == (["let in"] if is_known else closed)
