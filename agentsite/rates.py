"""Counts of requests and open streams by key: in Redis for all webs of a team, else in this process.

While Redis is away, each process counts by itself.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

RedisCommand = tuple[Any, ...]
logger = logging.getLogger(__name__)
MINUTE = 60
_STREAM_SECONDS = 60  # how long the streams of a dead process still count
_AWAY_SECONDS = 5.0  # after a failure, until Redis is used again
_TIMEOUT_SECONDS = 1.0


class Rates:
    """Counters for the code of one event loop. `url` is empty without Redis."""

    def __init__(self, url: str) -> None:
        self._redis: Any = None
        self._errors: tuple[type[Exception], ...] = (OSError,)
        if url:  # the import is slow
            from redis import asyncio as redis

            options: dict[str, Any] = {"socket_timeout": _TIMEOUT_SECONDS, "socket_connect_timeout": _TIMEOUT_SECONDS}
            self._redis, self._errors = redis.Redis.from_url(url, **options), (OSError, redis.RedisError)
        self._away_until = 0.0
        self._minute, self._requests = 0, Counter[str]()
        self._streams: dict[str, Sequence[str]] = {}  # the streams of this process, with their keys
        self._renewing: asyncio.Task[None] | None = None

    async def count_request(self, keys: Sequence[str]) -> list[int]:
        """Count a request. Return the number of requests in this minute for each key, including this one."""
        minute = int(time.time() // MINUTE)
        if minute != self._minute:
            self._minute, self._requests = minute, Counter()
        self._requests.update(keys)
        counting = [("INCR", f"rate:{minute}:{key}") for key in keys]
        expiring = [("EXPIRE", f"rate:{minute}:{key}", 2 * MINUTE) for key in keys]
        shared_counts = await self._execute(counting, *expiring)
        return shared_counts or [self._requests[key] for key in keys]

    async def open_stream(self, keys: Sequence[str]) -> tuple[str, list[int]]:
        """Register a stream. Return its name and the number of open streams for each key, including this one."""
        name = uuid4().hex
        self._streams[name] = keys
        if self._redis and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.create_task(self._renew())
        now = time.time()
        before = [("ZREMRANGEBYSCORE", f"streams:{key}", 0, now) for key in keys]
        counting = [("ZCARD", f"streams:{key}") for key in keys]
        shared_counts = await self._execute(counting, before=[*before, *_registrations([name], self._streams, now)])
        local_counts = [sum(key in stream for stream in self._streams.values()) for key in keys]
        return name, shared_counts or local_counts

    async def close_stream(self, name: str) -> None:
        keys = self._streams.pop(name)
        await self._execute([("ZREM", f"streams:{key}", name) for key in keys])

    async def _renew(self) -> None:
        """Renew the registration of open streams, which also restores it after a loss of data in Redis."""
        while self._streams:
            await asyncio.sleep(_STREAM_SECONDS / 3)
            await self._execute(_registrations(list(self._streams), self._streams, time.time()))

    async def _execute(
        self, commands: Sequence[RedisCommand], *after: RedisCommand, before: Sequence[RedisCommand] = ()
    ) -> list[int]:
        """Send all commands in one message. Return the results of `commands`, or [] while Redis is away."""
        if self._redis is None or not commands or time.monotonic() < self._away_until:
            return []
        try:
            async with self._redis.pipeline(transaction=False) as pipeline:
                for command in (*before, *commands, *after):
                    pipeline.execute_command(*command)
                answers = await pipeline.execute()
        except self._errors as error:
            self._away_until = time.monotonic() + _AWAY_SECONDS
            logger.warning(
                "could not reach Redis, so each process counts requests and streams by itself (retrying): %s", error
            )
            return []
        return [int(answer) for answer in answers[len(before) : len(before) + len(commands)]]


def _registrations(names: Sequence[str], streams: Mapping[str, Sequence[str]], now: float) -> list[RedisCommand]:
    """Return the commands that register these streams for `_STREAM_SECONDS`."""
    pairs = [(name, f"streams:{key}") for name in names for key in streams[name]]
    return [
        command
        for name, key in pairs
        for command in (("ZADD", key, now + _STREAM_SECONDS, name), ("EXPIRE", key, 2 * _STREAM_SECONDS))
    ]
