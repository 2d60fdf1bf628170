"""Many programs that follow sessions, on a real server."""

import http.client
from contextlib import ExitStack, closing
from pathlib import Path

from tests.server import TOKEN, Server
from tests.waiting import until

STREAMS = 20


def test_streams_that_end_leave_no_thread_and_no_open_file_behind(server):
    session = server.call("POST", "sessions/", {})["id"]
    before = threads(server)
    left = [open_and_leave(server, session, STREAMS, before) for _ in range(3)]
    assert left[2] < left[0] + STREAMS / 2


def test_an_upload_in_chunks_is_refused_rather_than_taken_for_an_empty_file(server):
    session = server.call("POST", "sessions/", {})["id"]
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        path = f"/api/v1/sessions/{session}/files/a.txt"
        connection.request(
            "POST", path, iter([b"he", b"llo"]), {"Authorization": f"Bearer {TOKEN}"}, encode_chunked=True
        )
        assert connection.getresponse().status == 411
    assert server.call("GET", f"sessions/{session}/files/")["results"] == []


def test_any_name_of_a_file_survives_the_way_there_and_back(server):
    session = server.call("POST", "sessions/", {})["id"]
    path = f"sessions/{session}/files/a%20b/p%C3%A4ge%20%E2%80%9C1%E2%80%9D%3F%23.txt"
    server.call("POST", path, "hello")
    assert server.raw(path) == b'"hello"'
    (file,) = server.call("GET", f"sessions/{session}/files/")["results"]
    assert file == {"path": "a b/päge “1”?#.txt", "size": 7}


def open_and_leave(server: Server, session: str, count: int, before: int) -> int:
    """How many files are open after so many streams were opened and left."""
    with ExitStack() as streams:
        for _ in range(count):
            connection = streams.enter_context(
                closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60))
            )
            path = f"/api/v1/sessions/{session}/events/"
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            assert connection.getresponse().readline() == b":\n"
    until(lambda: threads(server) < before + STREAMS / 2)
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def threads(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))
