"""Clients that read slowly: the server waits for them and does not hold their output in memory."""

import http.client
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.acceptance.canary import Person
from tests.acceptance.conftest import CONFIG
from tests.server import TOKEN, Server, configured
from tests.tasks_app.engine.conftest import result, script
from tests.waiting import until

SIZE = 120 * 1024**2
ROOM = 30.0  # megabytes for threads and caches, far below the unread output
ROOM_OF_ONE = 1.0

MESSAGES, CLIENTS = 15, 50
WORDS = "All work and no play makes Jack a dull boy. " * 2_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = configured(tmp_path, CONFIG)
    try:
        yield running.start()
    finally:
        running.kill()


@pytest.fixture
def session(server) -> str:
    return str(server.call("POST", "sessions/", {"model": "script"})["id"])


def megabytes(server: Server) -> float:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def large_file(server: Server, session: str) -> bytes:
    """Write a large file into the workspace as a program would. Return the first of the repeated bytes."""
    server.call("POST", f"sessions/{session}/files/small.txt", "x")
    (small,) = server.var.rglob("small.txt")
    pattern = bytes(range(256)) * 4096
    with small.with_name("large.bin").open("wb") as file:
        for _ in range(SIZE // len(pattern)):
            file.write(pattern)
    return pattern


@contextmanager
def asked(server: Server, path: str, **headers: str) -> Iterator[socket.socket]:
    """Return a client with a small buffer that has sent its request and reads nothing yet."""
    lines = [f"{name}: {value}" for name, value in {"Authorization": f"Bearer {TOKEN}", **headers}.items()]
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.settimeout(60)
        client.connect(("127.0.0.1", server.port))
        client.sendall("\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]).encode())
        yield client


def settled(server: Server) -> float:
    """Return the server's memory when it no longer grows."""
    seen = [0.0, megabytes(server)]

    def is_still() -> bool:
        seen.append(megabytes(server))
        return abs(seen[-1] - seen[-5 % len(seen)]) < 0.1 and len(seen) > 15

    until(is_still, 60, 0.15)
    return seen[-1]


def test_unread_download_needs_no_memory_and_arrives_completely(server, session):
    pattern = large_file(server, session)
    server.raw(f"sessions/{session}/files/small.txt")
    before = megabytes(server)
    with asked(server, f"/api/v1/sessions/{session}/files/large.bin") as client:
        assert settled(server) - before < ROOM
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 200
        for _ in range(SIZE // len(pattern)):
            assert answer.read(len(pattern)) == pattern
        assert answer.read(1) == b""
    assert megabytes(server) - before < ROOM


def test_server_stops_despite_an_unread_response(server, session):
    large_file(server, session)
    with asked(server, f"/api/v1/sessions/{session}/files/large.bin"):
        settled(server)
        server.stop()
    assert server.process.returncode == 0


def test_unread_event_streams_need_no_memory_and_lose_no_entry(server, session):
    before, last = talked(server, session)
    with ExitStack() as open_:
        path = f"/api/v1/sessions/{session}/events/"
        clients = [open_.enter_context(asked(server, path)) for _ in range(CLIENTS)]
        assert settled(server) - before < CLIENTS * ROOM_OF_ONE
        for client in clients:
            assert read_seqs(client, rb"^id: (\d+)$", last) == list(range(1, last + 1))


def test_unread_pages_need_no_memory_and_lose_no_message(server, session):
    before, last = talked(server, session)
    with ExitStack() as open_:
        path = f"/ws/sessions/{session}/?after=0"
        clients = [open_.enter_context(asked(server, path, **handshake(server))) for _ in range(CLIENTS)]
        assert settled(server) - before < CLIENTS * ROOM_OF_ONE
        for client in clients:
            assert set(read_seqs(client, rb'data-seq="(\d+)"', last)) >= {1, last}


def handshake(server: Server) -> dict[str, str]:
    """Return the headers with which a page opens a websocket."""
    asks = {"Upgrade": "websocket", "Connection": "Upgrade", "Origin": "http://127.0.0.1"}
    return {
        **Person(server).headers,
        **asks,
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }


def talked(server: Server, session: str) -> tuple[float, int]:
    """Return the server's memory after much text, and the last entry's seq."""
    for number in range(MESSAGES):
        say(server, session, number)
    return megabytes(server), server.entries(session)[-1]["seq"]


def say(server: Server, session: str, number: int) -> None:
    """Send a long message and run its task to the end."""
    content = f"Message {number}. {WORDS}\n{script(result('Yes.'))}"
    task = server.call("POST", f"sessions/{session}/messages/", {"content": content})["task"]
    server.until_task(task, state="done")


def read_seqs(client: socket.socket, pattern: bytes, last: int) -> list[int]:
    """Return the seqs in the received data up to the given one."""
    seqs: list[int] = []
    for line in client.makefile("rb"):
        seqs += map(int, re.findall(pattern, line.strip()))
        if last in seqs:
            return seqs
    raise AssertionError(f"ended with {seqs[-1:]} and not with {last}")
