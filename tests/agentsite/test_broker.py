"""The embedded broker of `make run`: a consumer sleeps until a message arrives, without polling."""

import threading
from collections.abc import Iterator

import pytest
from kombu import Connection, Consumer, Message, Producer, Queue

from agentsite.broker import EmbeddedTransport

Heard = list[tuple[str, Message]]


@pytest.fixture
def connection() -> Iterator[Connection]:
    with Connection("memory://localhost/", transport=EmbeddedTransport) as made:
        yield made


@pytest.fixture
def queue(connection: Connection, request: pytest.FixtureRequest) -> Queue:
    return Queue(f"of {request.node.name}")(connection.channel())


@pytest.fixture
def heard(connection: Connection, queue: Queue) -> Iterator[Heard]:
    """The messages of a consumer that gets one at a time until it acknowledges it."""
    told: Heard = []
    with Consumer(connection, [queue], callbacks=[lambda body, message: told.append((body, message))]) as consumer:
        consumer.qos(prefetch_count=1)
        yield told


def send(connection: Connection, queue: Queue, word: str) -> None:
    """Send a message as a request does: from another thread, over another connection."""
    with connection.clone() as other:
        Producer(other).publish(word, routing_key=queue.name, declare=[queue])


def soon(work: object, *args: object) -> threading.Timer:
    timer = threading.Timer(0.1, work, args)  # type: ignore[arg-type]
    timer.start()
    return timer


def test_message_wakes_a_waiting_consumer(connection: Connection, queue: Queue, heard: Heard) -> None:
    looks, look = [], connection.transport.cycle.get
    connection.transport.cycle.get = lambda *args, **kwargs: looks.append(1) or look(*args, **kwargs)
    timer = soon(send, connection, queue, "look")
    connection.drain_events(timeout=30)
    timer.join()
    assert [word for word, _ in heard] == ["look"]
    assert len(looks) == 2


def test_acknowledgement_lets_the_next_message_through(connection: Connection, queue: Queue, heard: Heard) -> None:
    for word in ("first", "second"):
        send(connection, queue, word)
    connection.drain_events(timeout=30)
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.05)
    timer = soon(heard[0][1].ack)
    connection.drain_events(timeout=30)
    timer.join()
    assert [word for word, _ in heard] == ["first", "second"]


def test_drain_events_respects_its_timeout(connection: Connection, heard: Heard) -> None:
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.01)
    assert heard == []
