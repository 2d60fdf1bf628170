"""Costly requests of users: they delay nobody else, and their memory is released."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.acceptance.conftest import CONFIG
from tests.acceptance.test_limits_of_requests import answer, begin, memory, others, signed_in
from tests.acceptance.test_slow_readers import asked, handshake
from tests.server import TOKEN, Server, configured
from tests.waiting import check_bound

KIB, MIB = 1024, 1024**2
AT_ONCE = 6
ROOM = 150  # MiB: copies of six requests, and the threads' memory
JSON = {"Content_Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
PING = bytes([0x89, 0x80]) + bytes(4)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = configured(tmp_path_factory.mktemp("costly"), CONFIG)
    try:
        yield running.start()
    finally:
        running.kill()


@pytest.fixture(scope="module")
def session(server: Server) -> str:
    return str(server.call("POST", "sessions/", {"model": "script"})["id"])


def post(server: Server, path: str, body: bytes, **headers: str) -> int:
    """Return the status. A response that arrives early ends the sending of the body."""
    connection = begin(server, f"POST {path}", Content_Length=len(body), **headers)
    connection.settimeout(60)
    with contextlib.suppress(OSError):
        connection.sendall(body)
    return answer(connection).status


def check_unharmed(server: Server, request: Callable[[], Any]) -> list[Any]:
    """Send six requests together, check that others are served within a second, and return the answers."""
    before = memory(server)
    with others(server) as waited, ThreadPoolExecutor(AT_ONCE) as people:
        statuses = list(people.map(lambda _: request(), range(AT_ONCE)))
    check_bound(max(waited), 1)
    assert memory(server) - before < ROOM
    return statuses


def test_json_over_one_mebibyte_is_rejected_by_its_headers(server: Server) -> None:
    body = json.dumps({"title": "x" * 11 * MIB}).encode()
    assert set(check_unharmed(server, lambda: post(server, "/api/v1/sessions/", body, **JSON))) == {413}


@pytest.mark.parametrize(
    "body",
    [
        b'{"denied_tools": [' + b"{}," * (300 * KIB) + b"{}]}",
        b'{"denied_tools": [' + b"1," * (500 * KIB) + b"1]}",
        b"[" * MIB,
        b'{"a":' * (200 * KIB),
        b'{"title": "' + b'\\"' * (500 * KIB),  # an unterminated text
        b'"' * MIB,
    ],
    ids=["objects", "numbers", "lists", "deep", "escapes", "quotes"],
)
def test_json_with_too_many_values_is_rejected_unparsed(server: Server, body: bytes) -> None:
    assert set(check_unharmed(server, lambda: post(server, "/api/v1/sessions/", body, **JSON))) == {400}


def test_text_can_have_any_number_of_commas_and_brackets(server: Server, session: str) -> None:
    content = '[{"a": 1}, ' * (70 * KIB)
    server.call("POST", f"sessions/{session}/messages/", {"content": content})
    assert content in [entry["content"] for entry in server.entries(session)]


def test_schema_that_takes_a_minute_to_check_is_rejected(server: Server, session: str) -> None:
    """Draft 4 compares all members of an enum with each other."""
    dear = {"$schema": "http://json-schema.org/draft-04/schema#", "enum": [{"a": number} for number in range(4900)]}
    many = {"anyOf": [{}] * 8_000}
    for schema in (dear, many):
        body = json.dumps({"content": "x", "output_schema": schema}).encode()
        path = f"/api/v1/sessions/{session}/messages/"
        assert set(check_unharmed(server, lambda path=path, body=body: post(server, path, body, **JSON))) == {422}


def test_imports_run_in_another_process_one_at_a_time_per_user(server: Server) -> None:
    values = b"[" + b"{}," * (4 * MIB) + b"{}]"  # 13 MB, not an export
    kind = {**JSON, "Content_Type": "application/octet-stream"}
    statuses = check_unharmed(server, lambda: post(server, "/api/v1/sessions/import/", values, **kind))
    assert set(statuses) <= {422, 429}
    assert 422 in statuses
    assert post(server, "/api/v1/sessions/import/", values, **kind) == 422  # after the earlier ones have ended


def test_forms_are_limited_in_bytes_and_fields(server: Server) -> None:
    cookies = signed_in(server)
    token = cookies.partition("csrftoken=")[2].partition(";")[0]
    form = {"Cookie": cookies, "X_CSRFToken": token, "Content_Type": "application/x-www-form-urlencoded"}
    for body, status in ((b"a=%41" * (2 * MIB), 413), (b"a=b&" * (900 * KIB), 400)):
        send = lambda body=body: post(server, "/settings/profile/", body, **form)  # noqa: E731
        assert set(check_unharmed(server, send)) == {status}
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'
    parts = {**form, "Content_Type": "multipart/form-data; boundary=x"}
    assert set(check_unharmed(server, lambda: post(server, "/", part * (60 * KIB), **parts))) == {400}


def test_query_with_too_many_fields_is_rejected(server: Server) -> None:
    path = f"/api/v1/sessions/?{'a=b&' * 3500}"
    statuses = check_unharmed(server, lambda: answer(begin(server, f"GET {path}", **JSON)).status)
    assert set(statuses) == {400}


def test_page_that_sends_many_frames_is_disconnected(server: Server, session: str) -> None:
    def flood() -> bool:
        with asked(server, f"/ws/sessions/{session}/", **handshake(server)) as page:
            assert page.recv(1000).startswith(b"HTTP/1.1 101 ")
            until = time.monotonic() + 5
            try:
                while time.monotonic() < until:
                    page.sendall(PING * 5000)
            except (TimeoutError, ConnectionError):
                return True
            return False

    assert check_unharmed(server, flood) == [True] * AT_ONCE
