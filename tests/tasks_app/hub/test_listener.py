"""A listener leaves no subscription behind, whatever its state."""

import asyncio

import pytest
from channels_redis.pubsub import RedisPubSubChannelLayer
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks_app.runtime import broadcast, listener
from tasks_app.runtime.listener import Listener
from tests.server import REDIS


@pytest.fixture
async def on_redis(monkeypatch):
    """Yield a layer on Redis, and a function that counts its subscriptions."""
    client = Redis.from_url(REDIS)
    try:
        await client.ping()
    except (RedisError, OSError):
        pytest.skip("no Redis here")
    finally:
        await client.aclose()
    layer = RedisPubSubChannelLayer(hosts=[REDIS], prefix="agentsite-test-listener")
    monkeypatch.setattr(listener, "get_channel_layer", lambda: layer)

    def count_subscriptions():
        inner = layer._get_layer()
        return len(inner.channels) + sum(len(shard._subscribed_to) for shard in inner._shards)

    yield layer, count_subscriptions
    await layer.flush()


async def test_messages_before_listening_arrive_first_and_in_order(on_redis):
    layer, _ = on_redis
    received = []
    first_listener = Listener("session.one", received.append, received.append)
    await first_listener.join()
    for number in range(3):
        await layer.group_send("session.one", {"type": "entry", "seq": number})
    first_listener.start()
    await layer.group_send("session.one", {"type": "entry", "seq": 3})
    async with asyncio.timeout(10):
        while len(received) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert [message["seq"] for message in received] == [0, 1, 2, 3]
    await first_listener.leave()


async def test_leaving_removes_all_channels_on_redis(on_redis):
    layer, count_subscriptions = on_redis
    failures = []

    def fail(message):
        raise ValueError("no")

    for number, (takes, listens, pause) in enumerate(
        [(print, False, 0.0), (print, True, 0.0), (print, True, 0.05), (fail, True, 0.0)]
    ):
        first_listener = Listener(f"session.{number}", takes, failures.append)
        await first_listener.join()
        if listens:
            first_listener.start()
        if takes is fail:
            await layer.group_send(f"session.{number}", {"type": "entry"})
            async with asyncio.timeout(10):
                while not failures:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        await asyncio.sleep(pause)
        await first_listener.leave()
        assert count_subscriptions() == 0
    assert [type(error) for error in failures] == [ValueError]


async def test_messages_before_listening_arrive_first_in_one_process(monkeypatch):
    layer, received = broadcast.InProcessLayer(), []
    monkeypatch.setattr(listener, "get_channel_layer", lambda: layer)
    first_listener = Listener("session.one", received.append, received.append)
    await first_listener.join()
    layer.put("session.one", {"seq": 0})
    first_listener.start()
    layer.put("session.one", {"seq": 1})
    assert received == [{"seq": 0}, {"seq": 1}]
    await first_listener.leave()
    layer.put("session.one", {"seq": 2})
    assert len(received) == 2
    assert not layer.channels
