"""Limits on requests: anonymous ones are limited before Django sees them, those of users by their route."""

import json
import re
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.acceptance.conftest import CONFIG
from tests.server import PASSWORD, TOKEN, Server, configured
from tests.waiting import check_bound, until

KIB, MIB = 1024, 1024**2
LOGIN = "/accounts/login/"
FORM = "application/x-www-form-urlencoded"


class Answer:
    def __init__(self, received: bytes) -> None:
        head, _, self.body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def check_problem(self, status: int) -> str:
        assert (self.status, self.headers["content-type"]) == (status, "application/problem+json")
        problem = json.loads(self.body)
        assert problem["status"] == status
        return str(problem["detail"])


def begin(server: Server, first: str, **headers: object) -> socket.socket:
    """Send the headers of a request."""
    lines = {"Host": "127.0.0.1", "Connection": "close", **{n.replace("_", "-"): v for n, v in headers.items()}}
    head = "\r\n".join([f"{first} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""])
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(head.encode())
    return connection


def answer(connection: socket.socket) -> Answer:
    with connection:
        received = b""
        while piece := connection.recv(MIB):
            received += piece
    return Answer(received)


def signed_in(server: Server) -> str:
    """Return the cookies of the administrator."""
    jar = CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    page = browser.open(server.base_url + LOGIN).read().decode()
    form = f"login=admin&password={PASSWORD.replace(' ', '+')}&csrfmiddlewaretoken={_token(page)}"
    browser.open(urllib.request.Request(server.base_url + LOGIN, form.encode(), {"Referer": server.base_url}))
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def _token(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found
    return found[1]


@pytest.mark.parametrize(
    "credentials",
    [{}, {"Cookie": "sessionid=made-up"}, {"Authorization": "Bearer made-up"}, {"Authorization": "Bearer"}],
    ids=["none", "cookie", "token", "no token"],
)
def test_large_anonymous_body_is_rejected_by_its_headers(server, credentials):
    for path in (LOGIN, "/", "/api/v1/sessions/x/files/a"):
        head = begin(server, f"POST {path}", Content_Length=64 * KIB + 1, **credentials)
        assert "not signed in" in answer(head).check_problem(413)


def test_small_anonymous_body_reaches_its_page(server):
    connection = begin(server, f"POST {LOGIN}", Content_Length=64 * KIB, Content_Type=FORM)
    connection.sendall(b"x" * 64 * KIB)
    assert answer(connection).status == 403  # from Django: no CSRF cookie


def test_token_or_cookie_allows_the_limit_of_the_route(server):
    session = server.call("POST", "sessions/", {})["id"]
    connection = begin(
        server,
        f"POST /api/v1/sessions/{session}/files/large.bin",
        Authorization=f"Bearer {TOKEN}",
        Content_Type=FORM,  # the body is not a form
        Content_Length=15 * MIB,
    )
    connection.sendall(b"x" * 15 * MIB)
    assert json.loads(answer(connection).body)["size"] == 15 * MIB
    cookies = signed_in(server)
    data = b"content=" + b"x" * 100 * KIB
    headers = {"Cookie": cookies, "X_CSRFToken": cookies.partition("csrftoken=")[2].partition(";")[0]}
    connection = begin(server, f"POST /s/{session}/messages/", Content_Type=FORM, Content_Length=len(data), **headers)
    connection.sendall(data)
    assert answer(connection).status == 302
    assert len(server.entries(session)[0]["content"]) == 100 * KIB


def test_body_with_a_token_is_limited_by_its_route(server):
    for path in ("/api/v1/sessions/", "/api/v1/sessions/x/messages/"):
        head = begin(server, f"POST {path}", Authorization=f"Bearer {TOKEN}", Content_Length=4 * MIB + 1)
        said = answer(head).check_problem(413)
        assert said == "At most 4 MiB can be sent at once. Send smaller files or texts, or fewer of them."


@pytest.mark.parametrize("path", ["/s/x/files/", "/projects/x/library/", "/api/v1/projects/x/library/"])
def test_upload_routes_take_larger_bodies(server, path):
    head = begin(server, f"POST {path}", Authorization=f"Bearer {TOKEN}", Content_Length=65 * MIB)
    said = answer(head).check_problem(413)
    assert said == "At most 64 MiB can be sent at once. Send smaller files or texts, or fewer of them."


def test_expect_continue_is_answered_after_the_sender_is_known(server):
    sizes = {"Content_Length": MIB, "Expect": "100-continue"}
    asked = begin(server, "POST /api/v1/sessions/x/files/a", Authorization=f"Bearer {TOKEN}", **sizes)
    with asked:
        assert asked.recv(100).startswith(b"HTTP/1.1 100 ")
    answer(begin(server, "POST /api/v1/sessions/x/files/a", Authorization="Bearer made-up", **sizes)).check_problem(413)


def test_chunked_body_is_rejected_by_its_headers(server):
    answer(begin(server, f"POST {LOGIN}", Transfer_Encoding="chunked")).check_problem(411)


def test_flood_needs_no_memory_and_others_are_served(server):
    before = memory(server)
    with others(server) as waited:
        connection = begin(server, f"POST {LOGIN}", Content_Type=FORM, Content_Length=60 * MIB)
        for _ in range(60):
            connection.sendall(b"x" * MIB)
        answer(connection).check_problem(413)
    check_bound(max(waited), 1)
    assert memory(server) - before < 20


def test_oversized_headers_are_explained(server):
    answer(begin(server, f"GET /{'x' * 20 * KIB}")).check_problem(414)
    answer(begin(server, "GET /", X_Long="x" * 20 * KIB)).check_problem(431)
    answer(begin(server, "GET /", X_Long_1="x" * 9 * KIB, X_Long_2="x" * 9 * KIB)).check_problem(431)
    answer(begin(server, "GET /", **{f"X_{number}": "x" for number in range(200)})).check_problem(431)


@pytest.mark.parametrize("first", ["nonsense", "GET /\xff"])
def test_invalid_request_gets_problem_json(server, first):
    answer(begin(server, first)).check_problem(400)


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary=\u00ff"])
def test_unreadable_form_is_explained(server, content_type):
    session, cookies = server.call("POST", "sessions/", {})["id"], signed_in(server)
    fields = {"Content_Type": content_type, "Content_Length": 3}
    connection = begin(server, f"POST /s/{session}/files/", Cookie=cookies, **fields)
    connection.sendall(b"--x")
    page = answer(connection)
    assert page.status == 400
    assert b"The server could not read this request." in page.body
    connection = begin(server, f"POST /api/v1/sessions/{session}/files/a", Authorization=f"Bearer {TOKEN}", **fields)
    connection.sendall(b"--x")
    answer(connection).check_problem(400)


def test_wrong_host_is_one_line_in_the_log(server):
    before = len(server.output.read_text())
    assert answer(begin(server, "GET /", Host="elsewhere.example")).status == 400
    said = until(lambda: server.output.read_text()[before:])
    assert said.count("\n") == 1
    assert "elsewhere.example" in said


# --- incomplete requests ----------------------------------------------------------------------------------------------


def test_open_file_limit_is_raised_to_the_hard_limit(server):
    assert server.process is not None
    limits = Path(f"/proc/{server.process.pid}/limits").read_text()
    soft, hard = re.findall(r"Max open files +(\d+) +(\d+)", limits)[0]
    assert int(soft) == min(int(hard), 1024**2)


def test_incomplete_requests_beyond_the_file_limit_block_nobody(few_files):
    half = []
    for _ in range(30):
        for _ in range(10):
            half.append(socket.create_connection(("127.0.0.1", few_files.port), timeout=30))
            half[-1].sendall(b"POST / HTTP/1.1\r\nHost: 127")
        check_bound(seconds_of_an_answer(few_files), 1)
    for one in half:
        one.close()


@pytest.fixture
def few_files(tmp_path: Path) -> Iterator[Server]:
    server = configured(tmp_path, CONFIG)
    server.files = 200
    yield server.start()
    server.kill()


def memory(server: Server) -> int:
    """Return the server's memory in megabytes."""
    assert server.process is not None
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text())
    assert found
    return int(found[1]) // 1024


@contextmanager
def others(server: Server) -> Iterator[list[float]]:
    """Send requests as another client in the block. Yield the seconds that each response took."""
    waited: list[float] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            waited.append(seconds_of_an_answer(server))
            done.wait(0.02)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waited
    finally:
        done.set()
        asking.join()


def seconds_of_an_answer(server: Server) -> float:
    """Return the seconds until a response, infinite without one."""
    began = time.monotonic()
    try:
        urllib.request.urlopen(f"{server.base_url}/healthz", timeout=20).read()
    except OSError:
        return float("inf")
    return time.monotonic() - began
