"""Limits across webs: counted in Redis, and in each process while it is away."""

import asyncio
import time

import pytest
from django.core import signing
from django.core.cache import cache

from agentsite import rates
from agentsite.accounts.login_limits import PAIR_LIMIT, _AttemptCounter
from agentsite.rates import Rates
from tasks_app.pages.preview import VALID_SECONDS, PreviewLink, _renewal_key

pytestmark = pytest.mark.team


def test_two_webs_count_together(redis_url):
    async def both():
        one, other = Rates(redis_url), Rates(redis_url)
        counts = [await web.count_request(["a", "b"]) for web in (one, other, one)]
        name, _ = await one.open_stream(["a"])
        _, opened = await other.open_stream(["a", "b"])
        await one.close_stream(name)
        _, after = await other.open_stream(["a"])
        return counts, opened, after

    counts, opened, after = asyncio.run(both())
    assert counts in ([[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [1, 1]], [[1, 1], [1, 1], [2, 2]])  # a new minute
    assert (opened, after) == ([2, 1], [2])


def test_streams_of_a_dead_process_stop_counting(redis_url, monkeypatch):
    async def die():
        await Rates(redis_url).open_stream(["a"])
        later = time.time() + 61
        monkeypatch.setattr(rates.time, "time", lambda: later)
        _, opened = await Rates(redis_url).open_stream(["a"])
        return opened

    assert asyncio.run(die()) == [1]


def test_without_redis_each_process_counts_by_itself(caplog):
    async def count():
        away = Rates("redis://127.0.0.1:9/0")
        return [await away.count_request(["a"]) for _ in range(2)], (await away.open_stream(["a"]))[1]

    assert asyncio.run(count()) in (([[1], [2]], [1]), ([[1], [1]], [1]))
    assert [record.name for record in caplog.records] == ["agentsite.rates"]


def test_sign_in_attempts_count_together_and_also_without_redis(redis_url, settings):
    def tries(url):
        settings.CACHES = {
            **settings.CACHES,
            "tries": {"BACKEND": "agentsite.team_cache.RedisOrLocalCache", "LOCATION": url, "KEY_PREFIX": "tries"},
        }
        return [_AttemptCounter(PAIR_LIMIT, "alice", "203.0.113.7").count() for _ in range(2)]

    assert tries(redis_url) == [1, 2]
    assert tries(redis_url) == [3, 4]  # a second process: a new cache, the same Redis
    assert tries("redis://127.0.0.1:9/0") == [1, 2]


def test_renewed_preview_works_without_redis(settings, monkeypatch):
    settings.CACHES = {
        "default": {"BACKEND": "agentsite.team_cache.RedisOrLocalCache", "LOCATION": "redis://127.0.0.1:9/0"}
    }
    link = PreviewLink(user=1, session="s", port=8000)
    token, later = link.token, time.time() + VALID_SECONDS + 1
    monkeypatch.setattr(signing.time, "time", lambda: later)
    cache.set(_renewal_key(token), True, VALID_SECONDS)
    assert asyncio.run(PreviewLink.from_renewed_token(token)) == link
