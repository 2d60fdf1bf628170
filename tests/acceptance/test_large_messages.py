"""Messages of a page's websocket: large ones from the server, and almost none from the page."""

import pytest

from tests.acceptance.test_slow_readers import asked, handshake, read_seqs, server, session  # noqa: F401  fixtures
from tests.tasks_app.engine.conftest import result, script

BEGINS, GOES_ON, MASK = 0x01, 0x00, bytes(4)  # RFC 6455, 5.2: the frames of one text


def test_entry_of_megabytes_reaches_an_open_page(server, session):  # noqa: F811
    content = '"' * 200_000 + "\n" + script(result("Yes."))
    with asked(server, f"/ws/sessions/{session}/?after=0", **handshake(server)) as page:
        task = server.call("POST", f"sessions/{session}/messages/", {"content": content})["task"]
        server.until_task(task, state="done")
        last = server.entries(session)[-1]["seq"]
        assert set(read_seqs(page, rb'data-seq="(\d+)"', last)) >= {1, last}


def test_page_that_sends_much_is_disconnected(server, session):  # noqa: F811
    """Otherwise a user could fill the server's memory, which holds a message until its last frame arrives."""
    with asked(server, f"/ws/sessions/{session}/", **handshake(server)) as page:
        answer = page.makefile("rb")
        assert b"".join(iter(answer.readline, b"\r\n")).startswith(b"HTTP/1.1 101 ")
        for opcode in (BEGINS, GOES_ON):
            page.sendall(bytes([opcode, 0x80 | 126]) + (4000).to_bytes(2, "big") + MASK + b"x" * 4000)
        with pytest.raises(ConnectionResetError):
            answer.read()
