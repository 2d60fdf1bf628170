"""One pump sends all streams of the process, with few wake-ups and without mixing them."""

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
    """Return the texts that subscribers would receive, by stream."""
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


async def test_many_short_streams_rarely_wake_the_loop(sent, monkeypatch):
    loop, wake_calls = asyncio.get_running_loop(), []
    wake = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *about: wake_calls.append(about[0]) or wake(*about))
    task_id, streams = uuid4(), []

    def feed():
        for _ in range(200):
            streams.append(_stream(task_id))
            streams[-1].feed("text", "word ")

    feeding = loop.run_in_executor(None, feed)
    await feeding
    await _until(lambda: streams[-1].id in sent)
    assert len(wake_calls) < 20
    assert len(sent) < 20


async def test_all_chunks_arrive_in_order(sent):
    stream = _stream()
    chunks = [f"{number} " for number in range(300)]
    for chunk in chunks:
        stream.feed("text", chunk)
        await asyncio.sleep(0.001)
    await _until(lambda: sent.get(stream.id) == "".join(chunks))


async def test_failing_stream_does_not_block_others(sent, caplog, monkeypatch):
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


async def test_withdrawn_text_is_not_sent(sent, monkeypatch):
    sent_types = []

    async def send(group, message):
        sent_types.append(message["type"])

    monkeypatch.setattr(broadcast, "send", send)
    stream = _stream()
    stream.feed("text", "Once ")
    stream.withdraw()
    await asyncio.sleep(3 * pump.BATCH_SECONDS)
    assert sent_types == ["reset"]


async def test_late_text_of_older_stream_does_not_stop_newer_stream(sent):
    task_id = uuid4()
    older, newer = _stream(task_id), _stream(task_id)
    newer.feed("text", "Once ")
    older.feed("text", "late")
    newer.feed("text", "upon ")
    await _until(lambda: newer.id in sent)
    newer.feed("text", "a time")
    await _until(lambda: sent[newer.id] == "Once upon a time")


async def test_withdrawing_while_sending_raises_nothing(sent):
    stream = _stream()

    class Emptied(deque):
        def __bool__(self):
            return True  # not empty when it was checked

    stream._pending = Emptied()
    await stream.send_batch()
    assert sent == {}


def test_pump_works_on_a_new_loop_after_the_old_one_closed(monkeypatch):
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
