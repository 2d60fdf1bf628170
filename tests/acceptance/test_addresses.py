"""A server under addresses that its operator forgot to set: the messages on pages, in REST and in the log."""

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server import KEYS, TOKEN, Server

PUBLIC = "agents.example.org"
Answer = tuple[int, str, dict[str, str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server as a container does: it listens on all addresses, and no setting names one."""
    running = Server(tmp_path_factory.mktemp("server") / "var", HOST="0.0.0.0", **KEYS).start()  # noqa: S104
    yield running
    running.stop()


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server with its host allowed, behind a proxy that ends TLS and is not trusted."""
    running = Server(tmp_path_factory.mktemp("named") / "var", ALLOWED_HOSTS=PUBLIC, **KEYS).start()
    yield running
    running.stop()


def ask(server: Server, method: str, path: str, body: str = "", **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    response = connection.getresponse()
    return response.status, response.read().decode(), dict(response.getheaders())


def post_form(server: Server, **headers: str) -> Answer:
    """Sign in as a browser would, with the cookie and the token of the page's form."""
    host = {"Host": headers.get("Host", PUBLIC)}
    _, page, found = ask(server, "GET", "/accounts/login/", **host)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None
    cookie = found["Set-Cookie"].partition(";")[0]
    form = f"csrfmiddlewaretoken={token[1]}&login=admin&password=x"
    sent = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded", **host, **headers}
    return ask(server, "POST", "/accounts/login/", form, **sent)


def test_start_prints_the_allowed_host_names(server: Server, named: Server) -> None:
    said = server.output.read_text()
    assert "listens on 0.0.0.0 and answers only to 127.0.0.1 and localhost. Set AGENTSITE_URL" in said
    assert f"Ready at  http://127.0.0.1:{server.port}/" in said
    assert "answers only to" not in named.output.read_text()


def test_foreign_host_is_told_the_setting(server: Server) -> None:
    status, page, _ = ask(server, "GET", "/", Host="<b>agents.example.org")
    assert (status, "ALLOWED_HOSTS" in page, "<b>agents" in page) == (400, True, False)
    status, body, headers = ask(server, "GET", "/api/v1/tasks/", Host=PUBLIC, Authorization=f"Bearer {TOKEN}")
    assert (status, headers["Content-Type"]) == (400, "application/problem+json")
    assert json.loads(body)["detail"].startswith(f"This server does not answer under the name “{PUBLIC}”.")
    assert f"add '{PUBLIC}' to ALLOWED_HOSTS" in server.output.read_text()


def test_untrusted_proxy_that_ends_tls_is_reported(named: Server) -> None:
    status, page, _ = post_form(named, Host=PUBLIC, Origin=f"https://{PUBLIC}")
    assert (status, "TRUSTED_PROXIES" in page, "signed in or out" in page) == (403, True, False)
    assert "127.0.0.1" not in page  # strangers do not see the proxy's address …
    assert "https ended before 127.0.0.1, which is not in TRUSTED_PROXIES" in named.output.read_text()  # … the log does


def test_form_of_another_origin_is_told_the_setting(named: Server) -> None:
    status, page, _ = post_form(named, Host=PUBLIC, Origin="https://other.example.org")
    assert status == 403
    assert "a page at https://other.example.org, which is not an address of this server" in page
    assert "CSRF_TRUSTED_ORIGINS" in page


def test_browser_without_cookies_is_told_so(named: Server) -> None:
    status, page, _ = post_form(named, Host=PUBLIC, Cookie="")
    assert (status, "your browser sent no cookie" in page) == (403, True)


def test_outdated_page_is_told_to_reload(named: Server) -> None:
    status, page, _ = post_form(named, Host=PUBLIC, Cookie=f"csrftoken={'a' * 32}")
    assert (status, "you have signed in or out since this page was loaded" in page) == (403, True)


def test_rest_api_names_the_setting_too(named: Server) -> None:
    said = named.output.read_text()
    link = re.search(r"http://127\.0\.0\.1:\d+(/accounts/link/\S+)", said)
    assert link is not None
    _, _, headers = ask(named, "GET", link[1], Host=PUBLIC)
    session = headers["Set-Cookie"].partition(";")[0]
    cookie = f"{session}; csrftoken={'a' * 32}"
    sent: dict[str, Any] = {"Host": PUBLIC, "Cookie": cookie, "X_CSRFToken": "a" * 32}
    json_type = {"Content_Type": "application/json"}
    status, body, _ = ask(named, "POST", "/api/v1/sessions/", "{}", Origin=f"https://{PUBLIC}", **sent, **json_type)
    assert (status, "TRUSTED_PROXIES" in json.loads(body)["detail"]) == (403, True)
    status, body, _ = ask(named, "POST", "/api/v1/sessions/", "{}", Origin=f"http://{PUBLIC}", **sent, **json_type)
    assert status == 201


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("https://example.org/agents", "cannot be served below a path"),
        ("agents.example.org", "Write an address such as"),
        ("https://agents.example.org:x", "Write an address such as"),
    ],
)
def test_unusable_address_stops_the_start(tmp_path: Path, value: str, words: str) -> None:
    server = Server(tmp_path / "var", AGENTSITE_URL=value, **KEYS)
    with pytest.raises(AssertionError):
        server.start()
    assert words in server.output.read_text()
