"""The event stream, read through the ASGI application."""

import asyncio
import gc
import json
import weakref
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.contrib.auth import get_user_model
from django.test import Client

from agentsite.accounts.models import ApiToken
from agentsite.asgi import http_application
from llm_app.redaction import Redactor
from tasks_app.api import entries
from tasks_app.models import ContextType, Session
from tasks_app.record import Draft, notice
from tasks_app.runtime import broadcast, event_loop, stream_buffer
from tasks_app.runtime.live_stream import LiveStream
from tests import factories
from tests.waiting import takes_less_than

pytestmark = pytest.mark.django_db(transaction=True)


class Stream:
    """An open request. `next` returns an event as {event, data, id?}, or {comment}."""

    def __init__(self, communicator: ApplicationCommunicator) -> None:
        self.communicator = communicator
        self.text = ""
        self.is_open = True

    async def start(self) -> dict[str, Any]:
        start = await self.communicator.receive_output(5)
        headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return {"status": start["status"], "headers": headers}

    async def next(self, seconds: float = 30) -> dict[str, Any]:
        while "\n\n" not in self.text:
            message = await self.communicator.receive_output(seconds)
            self.text += message.get("body", b"").decode()
            if not message.get("more_body"):
                self.is_open = False
                raise EOFError
        block, _, self.text = self.text.partition("\n\n")
        if block.startswith(":"):
            return {"comment": block}
        event = dict(line.split(": ", 1) for line in block.split("\n"))
        return event | {"data": json.loads(event["data"])}

    async def until(self, kind: str) -> dict[str, Any]:
        while (event := await self.next()).get("event") != kind:
            pass
        return event

    async def seqs(self, count: int) -> list[int]:
        return [(await self.until("entry"))["data"]["seq"] for _ in range(count)]

    async def leave(self) -> None:
        await self.communicator.send_input({"type": "http.disconnect"})
        await self.communicator.wait(30)


@pytest.fixture
def open_stream(task, alice, monkeypatch):
    """Return a function that opens alice's stream. Broadcasts use the test's event loop, as in the server."""
    _, token = ApiToken.objects.create(alice)

    @asynccontextmanager
    async def opened(query: str = "", **headers: str):
        monkeypatch.setattr(event_loop, "_loop", asyncio.get_running_loop())
        headers = {"authorization": f"Bearer {token}"} | headers
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": f"/api/v1/sessions/{task.session_id}/events/",
            "raw_path": b"",
            "query_string": query.encode(),
            "headers": [
                (b"host", b"localhost"),
                *((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()),
            ],
        }
        communicator = ApplicationCommunicator(http_application, scope)
        await communicator.send_input({"type": "http.request", "body": b""})
        stream = Stream(communicator)
        stream.head = await stream.start()
        try:
            yield stream
        finally:
            if stream.is_open:
                await stream.leave()

    return opened


async def say(task, *texts):
    await database_sync_to_async(factories.append)(task, *(notice(text) for text in texts))


async def test_stream_begins_with_the_record_and_the_state(open_stream, task):
    await say(task, "two", "three")
    async with open_stream() as stream:
        assert stream.head["status"] == 200
        headers = stream.head["headers"]
        assert headers["content-type"] == "text/event-stream"
        assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-cache", "no")
        first = await stream.until("entry")
        assert (first["id"], first["data"]["seq"], first["data"]["content"]) == ("1", 1, "Please.")
        assert await stream.seqs(2) == [2, 3]
        assert await stream.until("state") == {
            "event": "state",
            "data": {"task": str(task.pk), "state": "thinking", "waiting_for": None},
        }


async def test_entry_event_equals_the_entry_in_rest(open_stream, alices, task):
    listed = await database_sync_to_async(alices.call)("GET", f"sessions/{task.session_id}/entries/")
    async with open_stream() as stream:
        assert (await stream.until("entry"))["data"] == listed.json()["results"][0]


async def test_appended_entries_arrive_immediately_and_in_order(open_stream, task):
    async with open_stream() as stream:
        await stream.until("state")
        for number in range(5):
            await say(task, f"{number}a", f"{number}b")
        with takes_less_than(2):
            assert await stream.seqs(10) == list(range(2, 12))


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("after=2", {}),
        ("", {"last_event_id": "2"}),
        ("after=1", {"last_event_id": "2"}),
        ("after=2", {"last_event_id": ""}),
    ],
)
async def test_stream_resumes_after_the_last_seen_entry(query, headers, open_stream, task):
    await say(task, "two", "three", "four")
    async with open_stream(query, **headers) as stream:
        assert await stream.seqs(2) == [3, 4]


async def test_invalid_last_event_id_is_refused(open_stream):
    async with open_stream(last_event_id="abc") as stream:
        assert stream.head["status"] == 422
        stream.is_open = False


async def test_only_entry_events_have_an_id(open_stream, task):
    state = {"type": "state", "task": str(task.pk), "state": "executing_tool", "waiting_for": "reply"}
    async with open_stream() as stream:
        await stream.until("state")
        await database_sync_to_async(type(task).objects.update)(state="executing_tool", waiting_for="reply")
        for sent in (state, {"type": "inbox"}, {"type": "progress", "done": 3}, {"type": "reset", "stream": "s1"}):
            await broadcast.send(task.session.group, dict(sent))
            name = sent.pop("type")
            assert await stream.until(name) == {"event": name, "data": sent}


async def test_late_subscriber_gets_streamed_text_from_the_start(open_stream, task):
    def piece(offset, text):
        return stream_buffer.Chunk(stream="s1", kind="text", offset=offset, text=text)

    await stream_buffer.store.add(task.pk, piece(0, "Once "))
    async with open_stream() as stream:
        delta = {"task": str(task.pk), "stream": "s1", "kind": "text"}
        assert (await stream.until("delta"))["data"] == {**delta, "text": "Once ", "offset": 0}
        await broadcast.send(task.session.group, piece(5, "upon").event(task.pk))
        assert (await stream.until("delta"))["data"] == {**delta, "text": "upon", "offset": 5}
    await stream_buffer.store.drop(task.pk)


async def test_unfollowed_text_is_buffered_for_late_subscribers(open_stream, task, monkeypatch):
    sent, send = [], broadcast.send

    async def hear(group, message):
        sent.append(message)
        await send(group, message)

    monkeypatch.setattr(broadcast, "send", hear)
    stream = LiveStream(task.session.group, task.pk, Redactor([("KEY", "hidden-value-1")]))
    for piece in ("Once hidden-", "value-1 ", "upon "):
        stream.feed("text", piece)
        await asyncio.sleep(0)
    assert not sent
    async with open_stream() as follower:
        first = (await follower.until("delta"))["data"]
        assert (first["stream"], first["text"]) == (stream.id, "Once [secret:KEY] upon ")
        stream.feed("text", "a time")
        assert (await follower.until("delta"))["data"]["text"] == "a time"
    await stream_buffer.store.drop(task.pk)


async def test_next_stream_replaces_unfollowed_text(task):
    first, second, third = (LiveStream(task.session.group, task.pk, Redactor([])) for _ in range(3))
    first.feed("text", "Once ")
    second.feed("text", "Twice ")
    assert [piece.text for piece in await stream_buffer.store.chunks_of(task.pk)] == ["Twice "]
    first.feed("text", "upon")
    third.feed("text", "Thrice")
    assert [piece.text for piece in await stream_buffer.store.chunks_of(task.pk)] == ["Thrice"]
    await stream_buffer.store.drop(task.pk)


async def test_unfollowed_text_is_deleted_with_its_stream(task):
    """The last chunk may be stored after the end of its call, when no stream would delete it."""
    await stream_buffer.store.drop(task.pk)
    stream = LiveStream(task.session.group, task.pk, Redactor([]))
    stream.feed("text", "Once upon")
    kept = weakref.ref(stream)
    del stream
    gc.collect()
    assert kept() is None
    assert await stream_buffer.store.chunks_of(task.pk) == []


async def test_text_already_in_an_entry_is_not_sent_again(open_stream, task):
    piece = stream_buffer.Chunk(stream="s1", kind="text", offset=0, text="Once ")
    await stream_buffer.store.add(task.pk, piece)
    said = Draft(context_type=ContextType.AI_MESSAGE, content="Once upon", metadata={"stream": "s1"})
    (entry,) = await database_sync_to_async(factories.append)(task, said)
    async with open_stream(f"after={entry.seq}") as stream:
        await stream.until("state")
        await broadcast.send(task.session.group, piece.event(task.pk))
        await broadcast.send(task.session.group, {"type": "inbox"})
        told = []
        while "inbox" not in told:
            told.append((await stream.next()).get("event"))
        assert "delta" not in told
    await stream_buffer.store.drop(task.pk)


@pytest.mark.parametrize("kind", ["text", "thinking"])
async def test_chunks_after_the_end_of_a_stream_are_not_stored(task, kind):
    def piece(kind, offset):
        return stream_buffer.Chunk(stream="s1", kind=kind, offset=offset, text="Once ")

    await stream_buffer.store.add(task.pk, piece("text", 0))
    await stream_buffer.store.drop(task.pk)
    await stream_buffer.store.add(task.pk, piece(kind, 5), continues=True)
    assert await stream_buffer.store.chunks_of(task.pk) == []


@pytest.mark.parametrize("kind", ["text", "thinking"])
async def test_late_chunks_do_not_replace_the_next_stream(task, kind):
    """Chunks are sent in batches, so the last one of a short stream may arrive after the next stream's start."""

    def piece(stream, kind, offset):
        return stream_buffer.Chunk(stream=stream, kind=kind, offset=offset, text="Once ")

    await stream_buffer.store.add(task.pk, piece("s1", "text", 0))
    await stream_buffer.store.add(task.pk, piece("s2", "text", 0))
    await stream_buffer.store.add(task.pk, piece("s1", kind, 5 if kind == "text" else 0), continues=True)
    assert await stream_buffer.store.chunks_of(task.pk) == [piece("s2", "text", 0)]
    await stream_buffer.store.drop(task.pk)


async def test_comments_are_sent_during_silence(open_stream, monkeypatch):
    monkeypatch.setattr(entries, "QUIET_SECONDS", 0.02)
    async with open_stream() as stream:
        await stream.until("state")
        assert [await stream.next() for _ in range(3)] == [{"comment": ":"}] * 3


async def test_no_entries_are_missing_after_silence(open_stream, task, monkeypatch):
    monkeypatch.setattr(entries, "QUIET_SECONDS", 0.02)
    async with open_stream() as stream:
        await stream.until("state")
        assert "comment" in await stream.next()
        await say(task, "two")
        assert await stream.seqs(1) == [2]


async def test_stream_ends_when_the_session_is_deleted_or_unshared(open_stream, task):
    async with open_stream() as stream:
        await stream.until("state")
        await database_sync_to_async(Session.objects.filter(pk=task.session_id).delete)()
        with pytest.raises(EOFError):
            await stream.until("the end")


@pytest.mark.parametrize("loss", ["token", "account"])
async def test_stream_ends_when_the_token_is_revoked_or_the_account_closed(loss, open_stream, task, alice):
    async with open_stream() as stream:
        await stream.until("state")
        if loss == "token":
            await database_sync_to_async(ApiToken.objects.all().delete)()
        else:
            await database_sync_to_async(get_user_model().objects.filter(pk=alice.pk).update)(is_active=False)
        with takes_less_than(2), pytest.raises(EOFError):
            await stream.until("the end")


async def test_stream_of_a_cookie_login_ends_at_sign_out(open_stream, task, alice):
    browser = Client()
    await database_sync_to_async(browser.force_login)(alice)
    async with open_stream(authorization="", cookie=f"sessionid={browser.cookies['sessionid'].value}") as stream:
        await say(task, "two")
        assert await stream.seqs(2) == [1, 2]
        await database_sync_to_async(browser.logout)()
        with takes_less_than(2), pytest.raises(EOFError):
            await stream.until("the end")


async def test_client_disconnect_cleans_up(open_stream, task):
    before = asyncio.all_tasks()
    async with open_stream() as stream:
        await stream.until("state")
        assert get_channel_layer().groups[task.session.group]
    assert not get_channel_layer().groups.get(task.session.group)
    assert asyncio.all_tasks() <= before


async def test_client_disconnect_during_the_record_cleans_up(open_stream, task):
    await say(task, *map(str, range(50)))
    before = asyncio.all_tasks()
    async with open_stream() as stream:
        await stream.until("entry")
    assert not get_channel_layer().groups.get(task.session.group)
    assert asyncio.all_tasks() <= before
