"""Who listens to a group leaves nothing behind, however far it has come."""

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
    """Subscriptions that the process has."""
    client = Redis.from_url(REDIS)
    try:
        await client.ping()
    except (RedisError, OSError):
        pytest.skip("no Redis here")
    finally:
        await client.aclose()
    layer = RedisPubSubChannelLayer(hosts=[REDIS], prefix="agentsite-test-listener")
    monkeypatch.setattr(listener, "get_channel_layer", lambda: layer)

    def left():
        inner = layer._get_layer()
        return len(inner.channels) + sum(len(shard._subscribed_to) for shard in inner._shards)

    yield layer, left
    await layer.flush()


async def test_messages_from_before_it_listens_come_first_and_in_order(on_redis):
    layer, _ = on_redis
    heard = []
    one = Listener("session.one", heard.append, heard.append)
    await one.join()
    for number in range(3):
        await layer.group_send("session.one", {"type": "entry", "seq": number})
    one.start()
    await layer.group_send("session.one", {"type": "entry", "seq": 3})
    async with asyncio.timeout(10):
        while len(heard) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert [message["seq"] for message in heard] == [0, 1, 2, 3]
    await one.leave()


async def test_on_redis_no_channel_stays(on_redis):
    layer, left = on_redis
    failures = []

    def fail(message):
        raise ValueError("no")

    for number, (takes, listens, pause) in enumerate(
        [(print, False, 0.0), (print, True, 0.0), (print, True, 0.05), (fail, True, 0.0)]
    ):
        one = Listener(f"session.{number}", takes, failures.append)
        await one.join()
        if listens:
            one.start()
        if takes is fail:
            await layer.group_send(f"session.{number}", {"type": "entry"})
            async with asyncio.timeout(10):
                while not failures:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        await asyncio.sleep(pause)
        await one.leave()
        assert left() == 0
    assert [type(error) for error in failures] == [ValueError]


async def test_in_one_process_messages_from_before_it_listens_come_first(monkeypatch):
    layer, heard = broadcast.InProcessLayer(), []
    monkeypatch.setattr(listener, "get_channel_layer", lambda: layer)
    one = Listener("session.one", heard.append, heard.append)
    await one.join()
    layer.put("session.one", {"seq": 0})
    one.start()
    layer.put("session.one", {"seq": 1})
    assert heard == [{"seq": 0}, {"seq": 1}]
    await one.leave()
    layer.put("session.one", {"seq": 2})
    assert len(heard) == 2
    assert not layer.channels
