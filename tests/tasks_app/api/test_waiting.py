"""Requests that wait for a task's change, sent through the ASGI application."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.utils import timezone

from agentsite.accounts.models import ApiToken
from agentsite.asgi import http_application
from tasks_app.models import Session, Task
from tasks_app.runtime import broadcast, event_loop
from tests.tasks_app.api.test_events import open_stream, say
from tests.waiting import takes_less_than

pytestmark = pytest.mark.django_db(transaction=True)
RESULT = {"text": "Here.", "data": None, "attachments": [], "suggestions": []}
__all__ = ["open_stream"]


@pytest.fixture
def ask(task, alice, monkeypatch):
    """Return a function that opens alice's request for the task, which waits for its response."""
    _, token = ApiToken.objects.create(alice)

    @asynccontextmanager
    async def asked(query):
        monkeypatch.setattr(event_loop, "_loop", asyncio.get_running_loop())
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": f"/api/v1/tasks/{task.pk}/",
            "raw_path": b"",
            "query_string": query.encode(),
            "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())],
        }
        communicator = ApplicationCommunicator(http_application, scope)
        await communicator.send_input({"type": "http.request", "body": b""})
        yield communicator
        await communicator.send_input({"type": "http.disconnect"})
        await communicator.wait(30)

    return asked


async def answer(request):
    start = await request.receive_output(30)
    body = await request.receive_output(30)
    return start["status"], json.loads(body["body"])


async def waits(task):
    """Wait until the request has joined the session's group."""
    while not get_channel_layer().groups.get(task.session.group):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def change(task, **fields):
    await database_sync_to_async(Task.objects.filter(pk=task.pk).update)(**fields)
    fresh = await database_sync_to_async(Task.objects.get)(pk=task.pk)
    await broadcast.send(task.session.group, {"type": "state", **broadcast.state_of(fresh)})


async def end(task):
    await change(task, state="done", final_result=RESULT, ended_at=timezone.now())


@pytest.mark.parametrize("fields", [{"state": "executing_tool"}, {"state": "executing_tool", "waiting_for": "reply"}])
async def test_request_is_answered_when_the_state_changes(fields, ask, task):
    async with ask("wait=60") as request:
        await waits(task)
        await say(task, "an entry is no change")
        assert await request.receive_nothing(0.3)
        await change(task, **fields)
        status, found = await answer(request)
        assert status == 200
        assert {name: found[name] for name in fields} == fields


async def test_change_without_a_broadcast_is_noticed(ask, task):
    async with ask("wait=60") as request:
        await waits(task)
        await database_sync_to_async(Task.objects.filter(pk=task.pk).update)(state="executing_tool")
        assert (await answer(request))[1]["state"] == "executing_tool"


async def test_request_is_answered_in_time_without_a_change(ask, task):
    async with ask("wait=1") as request:
        assert (await answer(request))[1]["state"] == "thinking"


async def test_ended_task_is_answered_immediately(ask, task):
    await end(task)
    async with ask("wait=60") as request:
        with takes_less_than(5):
            assert (await answer(request))[1]["state"] == "done"


@pytest.mark.parametrize("query", ["wait=-1", "wait=61", "wait=long"])
async def test_wait_seconds_are_limited(query, ask):
    async with ask(query) as request:
        assert (await answer(request))[0] == 422


@pytest.mark.parametrize(("loss", "status"), [("token", 401), ("session", 404)])
async def test_request_is_authorized_again_at_its_end(loss, status, ask, task):
    async with ask("wait=60") as request:
        await waits(task)
        lost = ApiToken if loss == "token" else Session
        await database_sync_to_async(lost.objects.all().delete)()
        assert (await answer(request))[0] == status


async def test_waiting_requests_use_no_thread(ask, task, monkeypatch):
    monkeypatch.setattr(http_application, "_threads", ThreadPoolExecutor(1))
    async with ask("wait=60") as first, ask("wait=60") as second:
        await waits(task)
        async with ask("") as another:
            assert (await answer(another))[1]["state"] == "thinking"
        await end(task)
        assert [(await answer(one))[1]["state"] for one in (first, second)] == ["done", "done"]


async def test_disconnect_while_waiting_cleans_up(ask, task):
    before = asyncio.all_tasks()
    async with ask("wait=60"):
        await waits(task)
    assert not get_channel_layer().groups.get(task.session.group)
    assert asyncio.all_tasks() <= before


async def test_stream_until_done_ends_with_the_task(open_stream, task):
    async with open_stream("until=done") as stream:
        assert (await stream.until("state"))["data"]["state"] == "thinking"
        await change(task, state="executing_tool")
        assert (await stream.until("state"))["data"]["state"] == "executing_tool"
        await say(task, "the last words")
        await end(task)
        assert (await stream.until("entry"))["data"]["content"] == "the last words"
        assert (await stream.until("state"))["data"]["state"] == "done"
        with pytest.raises(EOFError):
            await stream.next()


async def test_stream_until_done_of_an_ended_task_has_the_record(open_stream, task):
    await end(task)
    async with open_stream("until=done") as stream:
        assert await stream.seqs(1) == [1]
        assert (await stream.until("state"))["data"]["state"] == "done"
        with pytest.raises(EOFError):
            await stream.next()


async def test_other_values_of_until_are_422(open_stream):
    async with open_stream("until=never") as stream:
        assert stream.head["status"] == 422
        stream.is_open = False
