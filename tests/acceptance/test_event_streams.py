"""Many clients of event streams on a real server."""

import http.client
from contextlib import ExitStack, closing
from pathlib import Path

from tests.server import TOKEN, Server
from tests.waiting import until

STREAMS = 20


def test_closed_streams_leave_no_threads_and_no_open_files(server):
    """Only the shared threads of requests remain, each with a connection: fewer than half of the streams."""
    session = server.call("POST", "sessions/", {})["id"]
    before = threads(server), files(server)
    for _ in range(3):
        open_and_leave(server, session, STREAMS)
    until(lambda: threads(server) < before[0] + 3 * STREAMS / 2)
    until(lambda: files(server) < before[1] + 3 * STREAMS / 2)


def test_chunked_upload_is_rejected_instead_of_stored_empty(server):
    session = server.call("POST", "sessions/", {})["id"]
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        path = f"/api/v1/sessions/{session}/files/a.txt"
        connection.request(
            "POST", path, iter([b"he", b"llo"]), {"Authorization": f"Bearer {TOKEN}"}, encode_chunked=True
        )
        assert connection.getresponse().status == 411
    assert server.call("GET", f"sessions/{session}/files/")["results"] == []


def test_any_file_name_survives_upload_and_download(server):
    session = server.call("POST", "sessions/", {})["id"]
    path = f"sessions/{session}/files/a%20b/p%C3%A4ge%20%E2%80%9C1%E2%80%9D%3F%23.txt"
    server.call("POST", path, "hello")
    assert server.raw(path) == b'"hello"'
    (file,) = server.call("GET", f"sessions/{session}/files/")["results"]
    assert file == {"path": "a b/päge “1”?#.txt", "size": 7}


def open_and_leave(server: Server, session: str, count: int) -> None:
    """Open `count` streams together, then close them."""
    with ExitStack() as streams:
        for _ in range(count):
            connection = streams.enter_context(
                closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60))
            )
            path = f"/api/v1/sessions/{session}/events/"
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            assert connection.getresponse().readline() == b":\n"


def threads(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))


def files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
