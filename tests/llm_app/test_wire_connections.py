"""Reuse of connections: by the next call after a good one, never after a bad one."""

import asyncio
import threading
import traceback
from contextlib import suppress

import pytest

from llm_app import errors
from llm_app.connection_test import explanation
from llm_app.models import Provider
from llm_app.transport import pool, wire
from llm_app.transport.wire import HTTPRequest
from tasks_app.runtime.cancellation import Interruption, WorkAborted
from tests.llm_app.conftest import Impatient
from tests.llm_app.test_wire import EVENT, HEADERS, ask, fields, heard, listening, reset

WHOLE = HEADERS + b"Content-Length: %d\r\n\r\n%s" % (len(EVENT), EVENT)


@pytest.mark.parametrize("ends", [True, False])
async def test_a_connection_is_reused_if_the_response_ends_soon(ends):
    """Servers send the end of a body separately, and the client does not wait for it after the last event."""
    opened, answered, left = 0, asyncio.Semaphore(0), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        with suppress(asyncio.IncompleteReadError):
            while True:
                await reader.readuntil(b"the body")
                writer.write(HEADERS + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(EVENT), EVENT))
                await asyncio.sleep(0.01)
                writer.write(b"0\r\n\r\n" if ends else b"")
                answered.release()
        left.set()
        writer.close()

    async with listening(serve) as url:
        for _ in range(3):
            assert await asyncio.to_thread(heard, HTTPRequest(**fields(url)), most=1)
            await answered.acquire()
            await asyncio.sleep(0.01)  # like the engine
        assert opened == (1 if ends else 3)
        if not ends:
            await asyncio.wait_for(left.wait(), 5)


@pytest.mark.parametrize("speaks", [False, True])
async def test_stopping_a_call_closes_its_connection_immediately(monkeypatch, speaks):
    monkeypatch.setattr(pool, "LONGEST_END", 60.0)
    left, interruption = asyncio.Event(), Interruption(lambda: True)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"the body")
        if speaks:
            writer.write(HEADERS + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(EVENT), EVENT))
            await asyncio.sleep(0.05)
        interruption.signal()
        await reader.read()
        left.set()
        writer.close()

    async with listening(serve) as url:
        with pytest.raises(WorkAborted):
            await asyncio.to_thread(heard, HTTPRequest(**fields(url)), interruption)
        await asyncio.wait_for(left.wait(), 5)


async def test_an_endless_response_after_the_last_event_blocks_no_other_call():
    """The check of its connection blocks all other calls."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(HEADERS + b"\r\n" + EVENT)
        while not writer.is_closing():
            writer.write(b": word\n\n" * 100_000)
            await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"the body")
        with suppress(ConnectionError):
            await answer(writer)

    async with listening(serve) as url:
        assert await asyncio.wait_for(asyncio.to_thread(heard, HTTPRequest(**fields(url)), most=1), 5)


class Polite:
    """A server that answers each request. `left` is set when a client disconnects."""

    def __init__(self) -> None:
        self.opened, self.left = 0, asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(WHOLE)
        self.left.set()
        writer.close()


async def test_requests_without_retry_get_a_new_connection():
    """A server may close an idle connection at the moment at which it is taken."""
    polite = Polite()
    async with listening(polite) as url:
        for _ in range(2):
            assert await asyncio.to_thread(wire.get, url, {}, Impatient(), total_s=5) == EVENT
    assert polite.opened == 2


async def test_a_missing_pool_thread_does_not_fail_the_call(monkeypatch):
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "idle-connections":
            raise RuntimeError("can't start new thread")
        start(thread)

    polite, opened = Polite(), pool.IdleConnections()
    monkeypatch.setattr(wire, "_idle_connections", opened)
    monkeypatch.setattr(pool, "LONGEST_IDLE", 0.1)
    async with listening(polite) as url:
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", refuse)
            assert await asyncio.to_thread(wire.get, url, {}, Impatient(), total_s=5) == EVENT
        assert await asyncio.to_thread(wire.get, url, {}, Impatient(), total_s=5) == EVENT
        await asyncio.wait_for(polite.left.wait(), 5)


async def test_a_password_in_an_invalid_address_is_hidden():
    with pytest.raises(errors.ConnectionFailed) as caught:
        await ask(reset, url="ftp://me:" + "s3cret" * 3 + "@127.0.0.1/v1")
    assert "s3cret" * 3 not in "".join(traceback.format_exception(caught.value))


async def test_an_unknown_proxy_is_named(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://nobody.invalid:3128")
    monkeypatch.setenv("no_proxy", "")
    provider = Provider(base_url="http://provider.example/v1")
    with pytest.raises(errors.ConnectionFailed) as caught:
        await ask(reset, url=provider.base_url)
    assert explanation(caught.value, provider) == "The proxy nobody.invalid is not known."
