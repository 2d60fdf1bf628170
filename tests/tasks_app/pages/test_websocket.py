"""The websocket of a session's page: access and messages."""

import asyncio
import json
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from agentsite.asgi import application
from agentsite.edge import FOREIGN_ORIGIN
from tasks_app.hub import consumer
from tasks_app.models import Session, SessionMember
from tasks_app.record import notice
from tasks_app.runtime import broadcast, event_loop, stream_buffer
from tasks_app.runtime.stream_buffer import Chunk
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = '<p dir="auto"><strong>Hello</strong></p>\n'


class Socket(WebsocketCommunicator):
    async def until(self, words: str) -> str:
        """Return the next message that contains `words`."""
        while words not in (message := await self.receive_from(5)):
            pass
        return message

    async def close_code(self) -> int:
        while True:
            output = await self.receive_output(5)
            if output["type"] == "websocket.close":
                return int(output["code"])


@pytest.fixture
def connect(task, monkeypatch):
    """Return a function that opens a page's websocket for a user, with broadcasts on the test's event loop."""

    @asynccontextmanager
    async def connected(
        user: Any, query: str = "", session_id: Any = task.session_id, origin: str = "http://localhost"
    ):
        monkeypatch.setattr(event_loop, "_loop", asyncio.get_running_loop())
        headers = [(b"origin", origin.encode()), (b"host", b"localhost")]
        if user is not None:
            browser = Client()
            await sync_to_async(browser.force_login)(user)
            headers.append((b"cookie", f"sessionid={browser.cookies['sessionid'].value}".encode()))
        socket = Socket(application, f"/ws/sessions/{session_id}/{query}", headers)
        socket.accepted, _ = await socket.connect(5)
        try:
            yield socket
        finally:
            await socket.disconnect()

    return connected


say = database_sync_to_async(lambda task, *texts: factories.append(task, *(notice(text) for text in texts)))


async def test_socket_sends_the_record_first(connect, alice, task):
    await say(task, "Second.")
    async with connect(alice) as socket:
        record = await socket.until('id="e2"')
        assert record.index("Please.") < record.index("Second.")
        assert "Thinking" in await socket.until('id="state"')


async def test_sidebar_shows_the_state_of_the_session(connect, alice, task):
    async with connect(alice) as socket:
        assert "Thinking" in await socket.until('id="here"')
        await database_sync_to_async(type(task).objects.update)(state="executing_tool")
        await broadcast.send(task.session.group, {"type": "state"})
        assert "Working" in await socket.until('id="here"')


async def test_socket_resumes_after_the_last_entry(connect, alice, task):
    await say(task, "Second.", "Third.")
    async with connect(alice, "?after=2") as socket:
        first = await socket.receive_from(5)
        assert 'data-seq="3"' in first
        assert 'hx-swap-oob="beforeend:#entries' in first


@pytest.mark.parametrize("query", ["?after=x", "?after=-1", "?after=99999999999999999999", "?after=%ff", "?other"])
async def test_invalid_position_means_the_beginning(query, connect, alice):
    async with connect(alice, query) as socket:
        assert 'id="e1"' in await socket.receive_from(5)


async def test_appended_entry_is_sent_immediately(connect, alice, task):
    async with connect(alice, "?after=1") as socket:
        await socket.until('id="state"')
        await say(task, "News.")
        assert "News." in await socket.until("<article")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("thinking", {"type": "delta", "text": "**Hello** "}), ("text", {"type": "prose", "open": HELLO, "tail": " "})],
)
async def test_streaming_text_is_sent_from_its_beginning(kind, shown, connect, alice, task, session):
    piece = Chunk(stream="s1", kind=kind, offset=0, text="**Hello** ")
    async with connect(alice, "?after=1") as socket:
        await socket.until('id="state"')
        await stream_buffer.store.add(task.id, piece)
        await broadcast.send(session.group, piece.event(task.id))
        told = json.loads(await socket.until("Hello"))
        assert {"stream": "s1", "kind": kind, **shown}.items() <= told.items()
        await broadcast.send(session.group, {"type": "reset", "stream": "s1"})
        assert json.loads(await socket.until("reset")) == {"type": "reset", "stream": "s1"}
    await stream_buffer.store.drop(task.id)


async def test_joining_mid_stream_gets_all_blocks(connect, alice, task, session):
    async with connect(alice, "?after=1") as socket:
        await socket.until('id="state"')
        for offset, text in ((0, "First.\n\nSec"), (11, "ond.\n\nThird")):
            piece = Chunk(stream="s1", kind="text", offset=offset, text=text)
            await stream_buffer.store.add(task.id, piece)
            await broadcast.send(session.group, piece.event(task.id))
            assert json.loads(await socket.until("prose"))["whole"] is False
        async with connect(alice, "?after=1") as late:
            whole = json.loads(await late.until("prose"))
    assert whole["closed"] == '<p dir="auto">First.</p>\n<p dir="auto">Second.</p>\n'
    assert (whole["open"], whole["whole"]) == ('<p dir="auto">Third</p>\n', True)
    await stream_buffer.store.drop(task.id)


async def test_question_has_a_form_only_for_writers(connect, alice, bob, asking):
    async with connect(alice) as socket:
        assert 'name="call"' in await socket.until("Which colour?")
    async with connect(bob) as socket:
        assert 'name="call"' not in await socket.until("Which colour?")


async def test_unchanged_fragments_are_not_sent_again(connect, alice, task, session):
    async with connect(alice, "?after=1") as socket:
        await socket.until('id="state"')
        await broadcast.send(session.group, {"type": "inbox"})
        await say(task, "News.")
        assert "News." in await socket.receive_from(5)


async def test_stranger_is_closed_with_not_signed_in(connect):
    async with connect(None) as socket:
        assert socket.accepted
        assert await socket.close_code() == consumer.NOT_SIGNED_IN


async def test_other_users_are_closed_with_not_visible(connect, charlie, alice):
    async with connect(charlie) as socket:
        assert await socket.close_code() == consumer.NOT_VISIBLE
    async with connect(alice, session_id="00000000-0000-0000-0000-000000000000") as socket:
        assert await socket.close_code() == consumer.NOT_VISIBLE


async def test_cross_origin_socket_is_closed(connect, alice):
    """Check that the socket is closed with a reason before the session is read: browsers hide the reason of a
    rejection.
    """
    async with connect(alice, origin="https://evil.example") as socket:
        assert (await socket.receive_output(5))["code"] == FOREIGN_ORIGIN
        assert await socket.receive_nothing()


async def test_losing_access_closes_the_socket(connect, bob, task):
    async with connect(bob) as socket:
        await socket.until('id="state"')
        await database_sync_to_async(SessionMember.objects.filter(user=bob).delete)()
        await say(task, "Not for bob.")
        assert await socket.close_code() == consumer.NOT_VISIBLE


async def test_signing_out_closes_the_socket(connect, alice, task):
    async with connect(alice) as socket:
        await socket.until('id="state"')
        alice.set_password("another one")
        await database_sync_to_async(alice.save)()
        await say(task, "Not for who has the old password.")
        assert await socket.close_code() == consumer.NOT_SIGNED_IN


async def test_deleting_a_session_closes_its_sockets(connect, alice, session, task):
    async with connect(alice) as socket:
        await socket.until('id="state"')
        await database_sync_to_async(Session.objects.filter(pk=session.pk).delete)()
        await broadcast.send(session.group, {"type": "inbox"})
        assert await socket.close_code() == consumer.NOT_VISIBLE
