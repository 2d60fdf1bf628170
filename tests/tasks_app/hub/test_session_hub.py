"""Many subscribers of one session: the cost of each, and complete updates in order."""

import asyncio
import re
from contextlib import AsyncExitStack
from types import SimpleNamespace
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, transaction
from django.utils import timezone

from tasks_app.hub import live_fragments, session_hub, snapshot, subscriber
from tasks_app.hub.access_watch import Credential
from tasks_app.hub.snapshot import SessionGone
from tasks_app.hub.subscriber import EventSubscriber, PageSubscriber
from tasks_app.models import ContextEntry, ContextType, SessionMember, Task
from tasks_app.record import append, notice
from tasks_app.record.draft import result
from tasks_app.runtime import broadcast, event_loop, stream_buffer
from tasks_app.runtime.stream_buffer import Chunk
from tasks_app.workspace import uploads
from tests import factories
from tests.waiting import takes_less_than

pytestmark = pytest.mark.django_db(transaction=True)
PAGES, STREAMS, ITERATIONS = 10, 2, 5


class Reader:
    """A task that reads all messages of a subscriber."""

    def __init__(self, subscriber):
        self.received, self.error = [], None
        self._more = asyncio.Event()
        self._task = asyncio.create_task(self._read(subscriber))

    async def _read(self, subscriber):
        messages = subscriber.messages()
        try:
            async for batch in messages:
                self.received += [one if isinstance(one, str) else one.decode() for one in batch]
                self._more.set()
        except Exception as error:
            self.error = error
            self._more.set()
        finally:
            await messages.aclose()

    async def until(self, text):
        async with asyncio.timeout(60):
            while text not in "".join(self.received) and self.error is None:
                self._more.clear()
                await self._more.wait()
        assert self.error is None

    async def ends(self):
        async with asyncio.timeout(60):
            await self._task
        return self.error

    async def leave(self):
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @property
    def text(self):
        return "".join(self.received)


@pytest.fixture
async def follow(session, alice, monkeypatch):
    """Return a function that follows alice's session, as a page unless `kind` is `EventSubscriber`."""
    monkeypatch.setattr(event_loop, "_loop", asyncio.get_running_loop())
    async with AsyncExitStack() as stack:

        def following(user=alice, kind=PageSubscriber, after=0, check=lambda: None):
            admission = Credential(user_id=user.pk, token=uuid4().hex, check=check)
            reader = Reader(kind(user, session.pk, after, admission))
            stack.push_async_callback(reader.leave)
            return reader

        yield following


append_notices = database_sync_to_async(lambda task, *texts: factories.append(task, *(notice(text) for text in texts)))


def delta(task, text, offset, stream="s1", kind="text"):
    return Chunk(stream=stream, kind=kind, offset=offset, text=text).event(task.pk)


async def stream_text(task, *texts):
    """Stream text as the engine does: store it in the buffer, then broadcast it."""
    offset = 0
    for text in texts:
        piece = Chunk(stream="s1", kind="text", offset=offset, text=text)
        await stream_buffer.store.add(task.pk, piece)
        await broadcast.send(task.session.group, piece.event(task.pk))
        offset += len(text)


@pytest.fixture
def unwatched(monkeypatch):
    """Disable periodic access checks and expensive fragments."""
    monkeypatch.setattr(session_hub, "ACCESS_CHECK_SECONDS", 3600)
    monkeypatch.setattr(live_fragments, "EXPENSIVE_SECONDS", 3600)


async def test_an_additional_page_costs_almost_nothing(follow, task, called, cost, carol, bob, unwatched):
    """Follow as ten pages of three users and two streams, with each change in its own refresh."""
    people = [task.session.owner, bob, carol]
    pages = [follow(people[number % 3], after=1) for number in range(PAGES)]
    streams = [follow(kind=EventSubscriber, after=1) for _ in range(STREAMS)]
    for one in pages:
        await one.until('id="state"')
    for one in streams:
        await one.until("event: state")
    iterate = database_sync_to_async(called)
    await database_sync_to_async(Task.objects.filter(pk=task.pk).update)(admitted_at=timezone.now())
    for number in range(ITERATIONS + 1):
        await iterate("fetch_url", f'{{"url": "https://{number}.example"}}', f"result {number}")
        for one in (*pages, *streams):
            await one.until(f"result {number}")
        if number == 0:  # the first one costs more
            cost.clear()
            before = sum(len(page.received) for page in pages)
    assert cost["queries"] / ITERATIONS <= 2
    assert cost["renderings"] / ITERATIONS <= 3  # viewers with write permission, without it, and the starter
    assert (sum(len(page.received) for page in pages) - before) / ITERATIONS / PAGES <= 1


async def test_simultaneous_changes_share_a_refresh(follow, task, called, cost, unwatched):
    page = follow(after=1)
    await page.until('id="state"')
    cost.clear()
    iterate = database_sync_to_async(called)
    for number in range(20):
        await iterate("fetch_url", f'{{"url": "https://{number}.example"}}', f"result {number}")
    await page.until("result 19")
    assert cost["queries"] / 20 <= 2  # 3 on a machine that is so slow that no two changes coincide


async def test_pending_refresh_suppresses_more_hints(follow, task, monkeypatch, unwatched):
    monkeypatch.setattr(session_hub, "REFRESH_SECONDS", 0.5)
    stream = follow(kind=EventSubscriber, after=1)
    await stream.until("event: state")
    put, hints = broadcast.InProcessLayer.put, []
    monkeypatch.setattr(broadcast.InProcessLayer, "put", lambda *about: hints.append(about[2]["type"]) or put(*about))
    for number in range(20):
        await append_notices(task, f"note {number}")
    await stream.until("note 19")
    assert 1 <= len(hints) <= 10  # one for each refresh


async def test_access_check_costs_the_same_for_any_number_of_pages(follow, task, cost, monkeypatch):
    monkeypatch.setattr(session_hub, "ACCESS_CHECK_SECONDS", 3600)
    pages = [follow(after=1) for _ in range(PAGES)]
    for page in pages:
        await page.until('id="state"')
    watch = session_hub.AccessWatch()
    await session_hub.HubRegistry.current()._check_access(watch)
    cost.clear()
    await session_hub.HubRegistry.current()._check_access(watch)
    assert cost["queries"] == 4


async def test_access_check_does_not_refresh_a_session_without_tasks(follow, session, monkeypatch):
    monkeypatch.setattr(session_hub, "ACCESS_CHECK_SECONDS", 3600)
    await follow().until('id="state"')
    here = session_hub.HubRegistry.current()
    await here._check_access(session_hub.AccessWatch())
    assert not here._hubs[session.pk]._refresh_due.is_set()


@pytest.mark.parametrize("kind", [PageSubscriber, EventSubscriber])
async def test_each_subscriber_gets_everything_once_and_in_order(kind, follow, task):
    readers = []
    for number in range(12):
        readers.append(follow(kind=kind))
        await append_notices(task, f"<{number}a>", f"<{number}b>")
    await append_notices(task, "The end.")
    expected = [f"{number}{letter}" for number in range(12) for letter in "ab"]
    for reader in readers:
        await reader.until("The end.")
        assert re.findall(r"(?:&lt;|<)(\d+[ab])(?:&gt;|>)", reader.text) == expected


async def test_lost_broadcast_delays_less_than_three_seconds(follow, task, monkeypatch):
    page, stream = follow(after=1), follow(kind=EventSubscriber, after=1)
    await page.until('id="state"')
    await stream.until("event: state")
    monkeypatch.setattr(append.broadcast, "entry_appended", lambda *_: None)
    await append_notices(task, "Lost on the way.")
    with takes_less_than(3):
        await page.until("Lost on the way.")
        await stream.until("Lost on the way.")
    await database_sync_to_async(Task.objects.filter(pk=task.pk).update)(state="executing_tool")
    with takes_less_than(3):
        await page.until("Working")
        await stream.until('"state":"executing_tool"')


async def test_subscribing_mid_stream_gives_all_text_once(follow, task):
    first = follow(kind=EventSubscriber, after=1)
    await first.until("event: state")
    await stream_text(task, "Once ", "upon ")
    await first.until("upon ")
    second = follow(kind=EventSubscriber, after=1)
    await second.until("upon ")
    await broadcast.send(task.session.group, delta(task, "a time.", 10))
    for reader in (first, second):
        await reader.until("a time.")
        assert "".join(re.findall(r'"text":"([^"]*)"', reader.text)) == "Once upon a time."
    await stream_buffer.store.drop(task.pk)


async def test_lost_text_is_read_from_the_buffer(follow, task):
    reader = follow(kind=EventSubscriber, after=1)
    await reader.until("event: state")
    await stream_buffer.store.add(task.pk, Chunk(stream="s1", kind="text", offset=0, text="Once "))
    await stream_text(task, "Once ", "upon ")
    await broadcast.send(task.session.group, delta(task, "a time.", 10))
    await reader.until("a time.")
    assert "".join(re.findall(r'"text":"([^"]*)"', reader.text)) == "Once upon a time."
    await stream_buffer.store.drop(task.pk)


async def test_output_of_a_call_arrives_after_the_call(follow, task, called):
    page = follow(after=1)
    await page.until('id="state"')
    await database_sync_to_async(called)("shell", '{"command": "make"}', status="started")
    await broadcast.send(task.session.group, delta(task, "compiling", 0, "s2", "tool_output"))
    await page.until("compiling")
    assert page.text.index('data-live="tool_output"') < page.text.index("compiling")


async def test_uploaded_file_is_sent_to_pages_but_not_to_streams(follow, task, session):
    page, stream = follow(after=1), follow(kind=EventSubscriber, after=1)
    await page.until('id="files"')
    await stream.until("event: state")
    await database_sync_to_async(uploads.replace)(session, "notes.txt", SimpleUploadedFile("notes.txt", b"x"))
    await page.until("notes.txt")
    assert "files" not in stream.text


async def test_slow_subscriber_catches_up_from_the_record(follow, task, session, alice, monkeypatch):
    monkeypatch.setattr(subscriber, "MAX_QUEUED_MESSAGES", 5)
    admission = Credential(user_id=alice.pk, token="slow", check=lambda: None)
    slow = EventSubscriber(alice, session.pk, 1, admission)
    messages = slow.messages()
    await anext(messages)  # and reads no more
    quick = follow(kind=EventSubscriber, after=1)
    for number in range(10):
        await broadcast.send(session.group, {"type": "progress", "done": number})
        await append_notices(task, f"step {number}")
        await quick.until(f"step {number}")
    assert len(slow._queue) <= 5
    received = b""
    async with asyncio.timeout(60):
        while b"step 9" not in received:
            received += b"".join(await anext(messages))
    await messages.aclose()
    seqs = [int(seq) for seq in re.findall(rb"^id: (\d+)", received, re.MULTILINE)]
    assert seqs == list(range(2, 12))


async def test_dropping_a_subscriber_does_not_affect_others(follow, task, session, alice, monkeypatch):
    monkeypatch.setattr(subscriber, "MAX_QUEUED_MESSAGES", 5)
    slow = PageSubscriber(alice, session.pk, 1, Credential(user_id=alice.pk, token="slow", check=lambda: None))
    messages = slow.messages()
    await anext(messages)  # and reads no more
    page, stream = follow(after=1), follow(kind=EventSubscriber, after=1)
    await page.until('id="state"')
    await stream.until("event: state")
    for number in range(20):
        await broadcast.send(session.group, {"type": "reset", "stream": f"s{number}."})
        await page.until(f"s{number}.")
        await stream.until(f"s{number}.")
    await messages.aclose()


async def test_revoked_access_ends_only_that_users_subscribers(follow, task, bob, carol):
    page, stream, other = follow(bob), follow(bob, kind=EventSubscriber), follow(carol)
    for reader in (page, stream, other):
        await reader.until("Please.")
    await database_sync_to_async(SessionMember.objects.filter(user=bob).delete)()
    with takes_less_than(2):
        assert isinstance(await page.ends(), SessionGone)
        assert isinstance(await stream.ends(), SessionGone)
    await append_notices(task, "Only for carol.")
    await other.until("Only for carol.")
    assert "Only for carol." not in page.text + stream.text


async def test_losing_write_permission_sends_fragments_of_a_reader(follow, task, carol):
    page = follow(carol)
    await page.until('id="stop-button"')
    page.received.clear()
    await database_sync_to_async(SessionMember.objects.filter(user=carol).update)(may_write=False)
    await page.until('id="state"')
    assert 'id="stop-button"' not in page.text


async def test_losing_staff_status_takes_effect_in_open_pages(follow, task, alice):
    alice.is_staff = True
    await alice.asave()
    page = follow(alice)
    await page.until('id="state"')
    await database_sync_to_async(type(alice).objects.filter(pk=alice.pk).update)(is_staff=False)
    with takes_less_than(2):
        while alice.is_staff:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert page.error is None


async def test_credential_is_checked_again_only_after_a_change(alice):
    checks, watch = [], session_hub.AccessWatch()
    admission = Credential(user_id=alice.pk, token="x", check=lambda: checks.append("checked"))
    look = database_sync_to_async(lambda: watch.invalid([admission]))
    assert [await look(), await look(), len(checks)] == [{}, {}, 1]
    alice.set_password("another one")
    await database_sync_to_async(alice.save)()
    assert [await look(), await look(), len(checks)] == [{}, {}, 2]


async def test_error_ends_all_subscribers_and_leaves_nothing_behind(follow, task, session, monkeypatch):
    page, stream = follow(), follow(kind=EventSubscriber)
    await page.until('id="state"')
    await stream.until("event: state")
    monkeypatch.setattr("tasks_app.hub.snapshot.SessionSnapshot.refresh", SimpleNamespace)  # any call of it fails
    await append_notices(task, "News.")
    for reader in (page, stream):
        assert isinstance(await reader.ends(), TypeError)
    assert not get_channel_layer().groups.get(session.group)
    assert not session_hub.HubRegistry._by_loop


@pytest.fixture
def fail_next_refresh(monkeypatch):
    """Return a function that makes the next refresh fail, as when the database restarts."""
    refresh = snapshot.SessionSnapshot.refresh

    def fails(*args, **kwargs):
        monkeypatch.setattr(snapshot.SessionSnapshot, "refresh", refresh)
        raise OperationalError("server closed the connection unexpectedly")

    return lambda: monkeypatch.setattr(snapshot.SessionSnapshot, "refresh", fails)


@pytest.mark.parametrize(("kind", "begin"), [(PageSubscriber, 'id="state"'), (EventSubscriber, "event: state")])
async def test_reconnecting_after_an_error_works_despite_a_slow_subscriber(
    follow, task, session, alice, fail_next_refresh, kind, begin
):
    slow = EventSubscriber(
        alice, session.pk, 0, Credential(user_id=alice.pk, token="slow", check=lambda: None)
    ).messages()
    await anext(slow)  # its client reads no more for now
    first = follow(kind=kind)
    await first.until(begin)
    fail_next_refresh()
    await append_notices(task, "one")
    assert isinstance(await first.ends(), OperationalError)
    refresh = follow(kind=kind)
    await append_notices(task, "two")
    await refresh.until("two")
    await slow.aclose()


async def test_error_while_catching_up_is_raised(follow, task, fail_next_refresh, monkeypatch):
    first = follow()
    await first.until('id="state"')
    reads, may_go_on, missing = asyncio.Event(), asyncio.Event(), EventSubscriber._read_backlog

    async def slowly(self, room):
        reads.set()
        await may_go_on.wait()
        return await missing(self, room)

    monkeypatch.setattr(EventSubscriber, "_read_backlog", slowly)
    late = follow(kind=EventSubscriber)
    await reads.wait()
    fail_next_refresh()
    await append_notices(task, "one")
    await first.ends()
    may_go_on.set()
    assert isinstance(await late.ends(), OperationalError)


@pytest.mark.parametrize("turns", [1, 3])
async def test_hub_closes_though_its_last_subscriber_is_cancelled_twice(follow, session, task, turns):
    """Cancel by a timeout and by a client that disconnects in that moment."""
    stream = follow(kind=EventSubscriber)
    await stream.until("event: state")
    stream._task.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    await stream.leave()
    async with asyncio.timeout(60):
        while get_channel_layer().groups.get(session.group):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@database_sync_to_async
@transaction.atomic
def _end(task, *drafts):
    factories.append(task, *drafts)
    answer = ContextEntry.objects.get(session=task.session, context_type=ContextType.AI_MESSAGE)
    answer.metadata["steps"] = [{"seq": 1, "tool": "shell", "status": "succeeded", "outcome": "It ran."}]
    answer.save(update_fields=["metadata"])
    final = {"text": "It is done.", "data": None, "attachments": [], "suggestions": []}
    Task.objects.filter(pk=task.pk).update(state="done", final_result=final, ended_at=timezone.now())


async def test_answer_gets_its_steps_when_result_and_end_arrive_together(follow, task, called):
    page = follow(after=1)
    await page.until('id="state"')
    answer = '{"type": "result", "text": "It is done."}'
    [entry] = await database_sync_to_async(called)("message", answer, status="started")
    await page.until("It is done.")
    await _end(task, result(entry.call["id"], "Delivered.", "succeeded"))
    await page.until("1 step")


async def test_answer_shown_before_the_end_gets_its_steps(follow, task, called):
    page = follow(after=1)
    await page.until('id="state"')
    answer = '{"type": "result", "text": "It is done."}'
    await database_sync_to_async(called)("message", answer, "Delivered.")
    await page.until("It is done.")
    assert "1 step" not in page.text
    await _end(task, notice("That was it."))
    await broadcast.send(
        task.session.group, {"type": "state", "task": str(task.pk), "state": "done", "waiting_for": None}
    )
    await page.until("1 step")
