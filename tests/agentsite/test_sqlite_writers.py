"""The queue of SQLite's writers: all of a burst succeed, which SQLite's own lock does not ensure."""

import gc
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from agentsite.sqlite.base import WriterQueue
from tests.waiting import until
from tools_app.models import AllowedAddress

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


def in_threads(*works: Callable[[], object]) -> list[object]:
    """Run each function in a thread with its own connection, without SQLite's timeout."""

    def run(work: Callable[[], object]) -> object:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(run, work) for work in works]]


@contextmanager
def a_writer():
    """Hold a transaction in another thread. Yield the event that lets it continue."""
    inside, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            AllowedAddress.objects.create(address="10.0.0.1")
            inside.set()
            assert go_on.wait(30)

    with ThreadPoolExecutor(1) as pool:
        writing: Future[object] = pool.submit(in_threads, write)
        assert inside.wait(30)
        try:
            yield go_on
        finally:
            go_on.set()
        writing.result()


def add(address: str) -> Callable[[], object]:
    return lambda: AllowedAddress.objects.create(address=address)


def test_burst_of_transactions_succeeds():
    def write(number: int) -> None:
        for turn in range(5):
            with transaction.atomic():
                AllowedAddress.objects.create(address=f"10.0.{number}.{turn}")
                with transaction.atomic():
                    AllowedAddress.objects.filter(address=f"10.0.{number}.{turn}").update(address=f"h{number}.{turn}")

    in_threads(*[lambda number=number: write(number) for number in range(20)])
    assert AllowedAddress.objects.filter(address__startswith="h").count() == 100


def test_write_outside_a_transaction_waits_for_its_turn():
    with a_writer() as go_on, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(in_threads, add("10.0.0.2"))
        threading.Timer(0.2, go_on.set).start()
        writing.result()
    assert AllowedAddress.objects.count() == 2


def test_readers_do_not_wait():
    with a_writer():
        assert in_threads(AllowedAddress.objects.count) == [0]


def test_failed_transaction_releases_its_turn():
    def fail() -> None:
        with transaction.atomic():
            raise ValueError("its own fault")

    for _ in range(2):
        with pytest.raises(ValueError, match="its own fault"):
            in_threads(fail)
    in_threads(add("10.0.0.1"))


def test_closing_in_a_transaction_releases_its_turn():
    def close() -> None:
        with transaction.atomic():
            AllowedAddress.objects.create(address="10.0.0.1")
            connection.close()

    in_threads(close)
    in_threads(add("10.0.0.2"))
    assert [row.address for row in AllowedAddress.objects.all()] == ["10.0.0.2"]


def test_thread_end_in_a_transaction_releases_its_turn():
    thread = threading.Thread(target=lambda: transaction.atomic().__enter__())
    thread.start()
    thread.join()
    gc.collect()
    in_threads(add("10.0.0.1"))


def test_turns_follow_the_order_of_arrival():
    queue, order = WriterQueue(), []
    first = queue.join(0)
    assert first is not None

    def go(number: int) -> None:
        turn = queue.join(30)
        order.append(number)
        assert turn is not None
        queue.leave(turn)

    with ThreadPoolExecutor(5) as pool:
        for number in range(5):
            pool.submit(go, number)
            until(lambda number=number: len(queue._turns) == number + 2)
        queue.leave(first)
    assert order == [0, 1, 2, 3, 4]


def test_timed_out_writer_leaves_the_queue():
    queue = WriterQueue()
    first = queue.join(0)
    assert first is not None
    assert queue.join(0.01) is None
    queue.leave(first)
    assert queue.join(0) is not None


def leave() -> object:
    """Return the SQLite connection that a thread has used and returned to the pool."""
    AllowedAddress.objects.count()
    used = connection.connection
    connection.close_if_unusable_or_obsolete()
    assert connection.connection is None
    return used


def test_idle_connection_is_reused():
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        assert one.submit(leave).result() is other.submit(leave).result()


def test_connection_in_a_transaction_is_not_reused():
    def begin() -> bool:
        with transaction.atomic():
            used = connection.connection
            connection.close_if_unusable_or_obsolete()
            return connection.connection is used

    assert in_threads(begin) == [True]


def test_closed_connection_is_not_reused():
    def close() -> object:
        used = leave()
        AllowedAddress.objects.count()
        connection.close()
        return used

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        closed = one.submit(close).result()
        assert other.submit(leave).result() is not closed
