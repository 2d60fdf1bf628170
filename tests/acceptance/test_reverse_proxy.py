"""nginx with deploy/nginx.conf in front of a real server: it enforces the same limits and hides nothing."""

import copy
import gzip
import http.client
import json
import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tests.acceptance.conftest import CONFIG
from tests.acceptance.test_limits_of_requests import answer, begin, seconds_of_an_answer
from tests.acceptance.test_slow_readers import handshake, megabytes, read_seqs, say
from tests.reverse_proxy import CONFIGURATION, Proxy, started_proxy
from tests.server import ROOT, TOKEN, Server, configured
from tests.waiting import check_bound

MIB = 1024**2
HALF_HEADS = 17_000
REQUESTS = 400  # per minute from one address
STRANGER = "127.0.0.9"  # an address of this machine that is not a trusted proxy


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    limit = {"AGENTSITE_REQUESTS_PER_ADDRESS": str(REQUESTS)}
    running = configured(tmp_path_factory.mktemp("web"), CONFIG, TRUSTED_PROXIES="127.0.0.1", **limit)
    try:
        yield running.start()
    finally:
        running.kill()


@pytest.fixture(scope="module")
def proxy(web: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with started_proxy(tmp_path_factory.mktemp("nginx"), web.port) as running:
        yield running


@pytest.fixture(scope="module")
def server(web: Server, proxy: Proxy) -> Server:
    """The same server, reached through the proxy."""
    behind = copy.copy(web)
    behind.port = proxy.port
    return behind


@contextmanager
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < HALF_HEADS + 1000:
        pytest.skip("too few files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_documentation_quotes_the_nginx_configuration() -> None:
    quoted = (ROOT / "docs" / "operations.md").read_text().partition("```nginx\n")[2].partition("```")[0]
    assert quoted == CONFIGURATION.read_text()


def test_large_anonymous_bodies_are_not_stored(server: Server, web: Server, proxy: Proxy) -> None:
    before = proxy.megabytes(), megabytes(web)
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(begin(server, "POST /accounts/login/", Content_Length=61 * MIB)) for _ in range(6)
        ]
        for connection in sockets:
            connection.settimeout(5)
            try:
                for _ in range(60):
                    connection.sendall(b"x" * MIB)
            except OSError:  # refused and closed
                continue
        check_bound(seconds_of_an_answer(server), 1)
        assert proxy.megabytes() - before[0] < 30
        assert megabytes(web) - before[1] < 20


def test_too_large_body_gets_the_servers_response(server: Server) -> None:
    connection = begin(server, "POST /accounts/login/", Content_Length=1 * MIB)
    assert "not signed in" in answer(connection).check_problem(413)


def test_incomplete_headers_block_nobody(server: Server, proxy: Proxy) -> None:
    with many_files(), ExitStack() as stack:
        for number in range(HALF_HEADS):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            stack.enter_context(connection)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            if number % 1000 == 0:
                check_bound(seconds_of_an_answer(server), 1)
        check_bound(seconds_of_an_answer(server), 1)
        assert proxy.megabytes() < 200


def test_missing_headers_close_the_connection_in_time(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        began = time.monotonic()
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")
        with suppress(ConnectionResetError):
            assert connection.recv(1000) == b""
        check_bound(time.monotonic() - began, 15)


def test_text_is_compressed_but_event_streams_are_not(server: Server) -> None:
    for path, kind in (("/accounts/login/", "text/html"), ("/api/schema/?format=json", "application/vnd.oai.openapi")):
        status, headers, body = _get(server, path)
        assert (status, headers["content-type"].startswith(kind)) == (200, True)
        assert headers["content-encoding"] == "gzip"
        assert "Accept-Encoding" in headers["vary"]
        assert gzip.decompress(body)
    session = server.call("POST", "sessions/", {"model": "script"})["id"]
    say(server, session, 1)
    events = server.events(session, 0, **{"Accept-Encoding": "gzip"})
    assert [next(events)["event"] for _ in range(2)]  # uncompressed, while the stream stays open
    events.close()


def _get(server: Server, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip", "Authorization": f"Bearer {TOKEN}"})
    response = connection.getresponse()
    names = {name.lower() for name in response.headers}
    return response.status, {name: response.getheader(name, "") for name in names}, response.read()


def test_pages_stay_connected(server: Server) -> None:
    session = server.call("POST", "sessions/", {"model": "script"})["id"]
    say(server, session, 1)
    last = server.entries(session)[-1]["seq"]
    lines = [f"{name}: {value}" for name, value in handshake(server).items()]
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as page:
        path = f"/ws/sessions/{session}/?after=0"
        page.sendall("\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]).encode())
        assert set(read_seqs(page, rb'data-seq="(\d+)"', last)) >= {1, last}


def test_files_are_uploaded_and_downloaded_completely(server: Server) -> None:
    session = server.call("POST", "sessions/", {})["id"]
    data = bytes(range(256)) * 4 * 15 * 1024
    path = f"/api/v1/sessions/{session}/files/large.bin"
    connection = begin(
        server,
        f"POST {path}",
        Authorization=f"Bearer {TOKEN}",
        Content_Length=len(data),
        Content_Type="application/octet-stream",
    )
    connection.sendall(data)
    assert json.loads(answer(connection).body)["size"] == len(data)
    assert server.raw(f"sessions/{session}/files/large.bin") == data


def test_server_knows_scheme_and_address_of_the_client(server: Server, web: Server, proxy: Proxy) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    secure = http.client.HTTPSConnection("127.0.0.1", proxy.tls_port, timeout=30, context=context)
    secure.request("GET", "/accounts/login/")
    response = secure.getresponse()
    assert "Secure" in response.headers["Set-Cookie"]
    assert response.headers["Strict-Transport-Security"]
    plain = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=30, source_address=(STRANGER, 0))
    forged = {"X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}
    plain.request("GET", "/accounts/login/", headers=forged)
    response = plain.getresponse()
    assert response.read()
    assert response.status == 200
    assert "Secure" not in response.headers["Set-Cookie"]
    for _ in range(2 * REQUESTS):  # a minute can end in between
        plain.request("GET", "/api/v1/", headers=forged)
        response = plain.getresponse()
        response.read()
        if response.status == 429:
            break
    assert f"refused a request from {STRANGER}" in web.output.read_text()
