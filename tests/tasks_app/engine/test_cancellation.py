"""Signals end the current or the next work, and waiting threads release their slot."""

import asyncio
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection

from tasks_app.runtime import work_slots
from tasks_app.runtime.cancellation import Interruption, WorkAborted
from tests.tasks_app.engine.conftest import Run, result


def test_a_signal_as_work_ends_ends_the_next_work(db):
    interruption = Interruption(lambda: True)
    interruption.signal()
    interruption._wakeup.wait()  # as the wait for the work that has just ended does
    with pytest.raises(WorkAborted):
        interruption.run(asyncio.sleep(60))


def test_an_unconfirmed_signal_ends_nothing(db):
    interruption = Interruption(lambda: False)
    interruption.signal()
    assert interruption.run(asyncio.sleep(0.01, "done")) == "done"


def test_work_is_ended_after_the_database_comes_back(db):
    begun, ended, asked = threading.Event(), threading.Event(), list[bool]()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    def is_wanted() -> bool:
        asked.append(ended.is_set())
        if len(asked) == 1:
            threading.Thread(target=interruption.signal).start()  # as the supervisor does in each round
            raise OperationalError("no connection")
        return True

    interruption = Interruption(is_wanted)
    threading.Thread(target=lambda: begun.wait() and interruption.signal()).start()
    with pytest.raises(WorkAborted):
        interruption.run(work())
    assert asked == [False, False]
    assert ended.is_set()


def with_turns(count: int, work: Callable[[], object]) -> None:
    """Run `work` in `count` threads, each with a slot."""

    def do() -> None:
        with work_slots.held():
            work()

    with ThreadPoolExecutor(count) as threads:
        for done in [threads.submit(do) for _ in range(count)]:
            done.result()


def test_a_wait_for_a_model_releases_its_slot(db, monkeypatch):
    monkeypatch.setattr(work_slots, "STALLED", 60)  # no thread loses its slot
    count = 3 * work_slots.AT_ONCE
    everybody = threading.Barrier(count)

    async def answer() -> None:
        await asyncio.get_running_loop().run_in_executor(threads, everybody.wait, 5)

    with ThreadPoolExecutor(count) as threads:
        with_turns(count, lambda: Interruption(lambda: False).run(answer()))


def most_at_once(threads: int) -> int:
    working, most, lock = 0, 0, threading.Lock()

    def work() -> None:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        threading.Event().wait(0.02)
        with lock:
            working -= 1

    with_turns(threads, work)
    return most


def test_slots_limit_concurrent_work():
    assert most_at_once(3 * work_slots.AT_ONCE) == work_slots.AT_ONCE


def test_a_stalled_thread_loses_its_slot(monkeypatch: pytest.MonkeyPatch):
    is_done = threading.Event()

    def wait_for_another() -> None:
        with ThreadPoolExecutor(1) as other:
            other.submit(with_turns, 1, is_done.set)
            assert is_done.wait(30)

    with monkeypatch.context() as patched:
        patched.setattr(work_slots, "STALLED", 0.01)
        with_turns(work_slots.AT_ONCE, wait_for_another)
    assert most_at_once(3 * work_slots.AT_ONCE) == work_slots.AT_ONCE  # a thread that lost its slot returns none


def test_a_wait_for_a_slot_holds_no_connection(play: Callable[..., Run], monkeypatch: pytest.MonkeyPatch):
    kept: list[object] = []

    @contextmanager
    def taken() -> Iterator[None]:
        kept.append(connection.connection)
        yield

    monkeypatch.setattr(work_slots, "held", taken)
    run = play(result())
    run.in_thread().join()
    assert kept == [None]
    run.task.refresh_from_db()
    assert run.task.state == "done"


def test_an_interruption_as_work_ends_ends_the_next_work():
    about_to_end = threading.Event()
    interruption = Interruption(lambda: about_to_end.wait(30))

    async def work():
        interruption.signal()
        await asyncio.sleep(0.05)
        about_to_end.set()
        return "done"

    assert interruption.run(work()) == "done"
    with pytest.raises(WorkAborted):
        interruption.run(asyncio.sleep(30))


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two ends of a connection."""
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def test_a_readable_socket_ends_the_wait(db, pair):
    here, there = pair
    waiting = Interruption(lambda: True)
    threading.Timer(0.05, there.send, [b"x"]).start()
    assert waiting.wait(30, here.fileno(), select.POLLIN)
    assert waiting.wait(30, here.fileno(), select.POLLIN), "what has come is not waited for"


def test_a_wait_for_a_socket_times_out(db, pair):
    assert not Interruption(lambda: True).wait(0.05, pair[0].fileno(), select.POLLIN)
    assert not Interruption(lambda: True).wait(0.05)


@pytest.mark.parametrize("comes", ["before", "meanwhile"])
def test_an_interruption_ends_the_wait_for_a_readable_socket(db, pair, comes):
    here, there = pair
    interruption = Interruption(lambda: True)
    if comes == "before":
        there.send(b"x")
        interruption.signal()
    else:
        threading.Timer(0.05, interruption.signal).start()
    with pytest.raises(WorkAborted):
        interruption.wait(30, here.fileno(), select.POLLIN)


def test_an_unconfirmed_signal_does_not_end_the_wait_for_a_socket(db, pair):
    here, there = pair
    asked = threading.Event()

    def is_wanted() -> bool:
        asked.set()
        return False

    interruption = Interruption(is_wanted)
    threading.Timer(0.05, interruption.signal).start()
    threading.Thread(target=lambda: asked.wait(30) and there.send(b"x")).start()
    assert interruption.wait(30, here.fileno(), select.POLLIN)
    assert asked.is_set()


def test_a_wait_for_a_socket_releases_its_slot(db, pair):
    here, there = pair
    everybody = threading.Barrier(3 * work_slots.AT_ONCE, action=lambda: there.send(b"x"))

    def wait() -> None:
        threading.Thread(target=everybody.wait, args=[30]).start()
        assert Interruption(lambda: False).wait(30, here.fileno(), select.POLLIN)

    with_turns(3 * work_slots.AT_ONCE, wait)


def test_a_finished_wait_closes_its_descriptors(db, pair):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        Interruption(lambda: False).wait(0, pair[0].fileno(), select.POLLIN)
    assert len(os.listdir("/proc/self/fd")) <= before
