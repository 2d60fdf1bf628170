"""What streams is sent by one pump: seldom woken, for all streams of the process, each apart from the others."""

import asyncio
import logging
from collections import deque
from uuid import uuid4

import pytest

from llm_app.redaction import Redactor
from tasks_app.runtime import broadcast, event_loop, live_stream, pump
from tasks_app.runtime.live_stream import LiveStream


@pytest.fixture
async def sent(monkeypatch):
    """The texts that followers would have, by stream."""
    texts: dict[str, str] = {}

    async def send(group, message):
        texts[message["stream"]] = texts.get(message["stream"], "") + message["text"]

    monkeypatch.setattr(event_loop, "_loop", asyncio.get_running_loop())
    monkeypatch.setattr(broadcast, "send", send)
    monkeypatch.setattr(broadcast, "is_followed", lambda group: True)
    return texts


def _stream(task_id=None):
    return LiveStream("session.x", task_id or uuid4(), Redactor([]))


async def _until(condition):
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_many_short_streams_of_a_task_wake_the_loop_once_in_a_while(sent, monkeypatch):
    loop, woken = asyncio.get_running_loop(), []
    wake = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *about: woken.append(about[0]) or wake(*about))
    task_id, streams = uuid4(), []

    def feed():
        for _ in range(200):
            streams.append(_stream(task_id))
            streams[-1].feed("text", "word ")

    feeding = loop.run_in_executor(None, feed)
    await feeding
    await _until(lambda: streams[-1].id in sent)
    assert len(woken) < 20
    assert len(sent) < 20


async def test_all_pieces_arrive_in_order(sent):
    stream = _stream()
    pieces = [f"{number} " for number in range(300)]
    for piece in pieces:
        stream.feed("text", piece)
        await asyncio.sleep(0.001)
    await _until(lambda: sent.get(stream.id) == "".join(pieces))


async def test_a_stream_that_cannot_be_sent_keeps_no_other_from_it(sent, caplog, monkeypatch):
    monkeypatch.setattr(broadcast, "_quiet_until", 0.0)
    broken, whole = _stream(), _stream()

    async def fail():
        raise ConnectionError("Redis is away")

    monkeypatch.setattr(broken, "send_batch", fail)
    with caplog.at_level(logging.WARNING):
        broken.feed("text", "lost")
        whole.feed("text", "Once ")
        await _until(lambda: sent.get(whole.id) == "Once ")
        whole.feed("text", "upon")
        await _until(lambda: sent.get(whole.id) == "Once upon")
    assert "Redis is away" in caplog.text


async def test_what_is_withdrawn_before_it_was_sent_is_not_sent(sent, monkeypatch):
    told = []

    async def send(group, message):
        told.append(message["type"])

    monkeypatch.setattr(broadcast, "send", send)
    stream = _stream()
    stream.feed("text", "Once ")
    stream.withdraw()
    await asyncio.sleep(3 * pump.BATCH_SECONDS)
    assert told == ["reset"]


async def test_an_older_stream_that_says_something_late_does_not_silence_the_newer_one(sent):
    task_id = uuid4()
    older, newer = _stream(task_id), _stream(task_id)
    newer.feed("text", "Once ")
    older.feed("text", "late")
    newer.feed("text", "upon ")
    await _until(lambda: newer.id in sent)
    newer.feed("text", "a time")
    await _until(lambda: sent[newer.id] == "Once upon a time")


async def test_what_is_withdrawn_while_it_is_sent_fails_nobody(sent):
    stream = _stream()

    class Emptied(deque):
        def __bool__(self):
            return True  # something was there when one looked

    stream._pending = Emptied()
    await stream.send_batch()
    assert sent == {}


def test_a_loop_that_was_closed_does_not_keep_the_pump_from_another_one(monkeypatch):
    fresh, texts = pump.Pump(), []

    async def send(group, message):
        texts.append(message["text"])

    monkeypatch.setattr(live_stream, "pump", fresh)
    monkeypatch.setattr(broadcast, "send", send)
    monkeypatch.setattr(broadcast, "is_followed", lambda group: True)
    for text in ("one", "two"):
        loop = asyncio.new_event_loop()
        monkeypatch.setattr(event_loop, "_loop", loop)
        stream = _stream()
        stream.feed("text", text)
        loop.run_until_complete(asyncio.sleep(pump.BATCH_SECONDS / 2))
        loop.close()  # while the pump waits for more
    assert texts == ["one", "two"]
