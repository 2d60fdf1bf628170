"""The text of replies that are still arriving, for pages that open in mid-stream. It is short-lived and on no disk."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import orjson
from django.conf import settings

from tasks_app.runtime.pump import pump


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A fragment of a stream. `offset` counts code points from the beginning of the stream, for each kind."""

    stream: str
    kind: str
    offset: int
    text: str

    def event(self, task_id: UUID) -> dict[str, Any]:
        return {
            "type": "delta",
            "task": str(task_id),
            "stream": self.stream,
            "kind": self.kind,
            "text": self.text,
            "offset": self.offset,
        }


class Store(Protocol):
    async def add(self, task_id: UUID, chunk: Chunk, *, continues: bool = False) -> None:
        """Add a chunk. The first chunk of a new stream replaces the previous stream.

        A chunk that `continues` a dropped or replaced stream is too late and is ignored.
        """

    async def chunks_of(self, task_id: UUID) -> list[Chunk]:
        """Return the text so far, joined to one chunk for each kind, from offset 0."""

    async def drop(self, task_id: UUID) -> None: ...


class InProcess:
    """The store of the embedded mode."""

    def __init__(self) -> None:
        self._chunks: dict[UUID, list[Chunk]] = {}

    async def add(self, task_id: UUID, chunk: Chunk, *, continues: bool = False) -> None:
        chunks = self._chunks.get(task_id, [])
        if continues or (chunks and chunks[0].stream == chunk.stream):
            chunks.append(chunk)  # to a new list that nobody reads, if the stream was dropped
        else:
            self._chunks[task_id] = [chunk]

    async def chunks_of(self, task_id: UUID) -> list[Chunk]:
        await pump.flush(task_id)
        return join_chunks(self._chunks.get(task_id, []))

    async def drop(self, task_id: UUID) -> None:
        self._chunks.pop(task_id, None)
        pump.drop(task_id)


class InRedis:
    """The store of a team: the engine writes in a worker, the web process reads."""

    def __init__(self, url: str) -> None:
        from redis.asyncio import Redis

        self._redis: Any = Redis.from_url(url)

    async def add(self, task_id: UUID, chunk: Chunk, *, continues: bool = False) -> None:
        key = self._key(task_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            if not continues:
                first = await self._redis.lindex(key, 0)
                if first and orjson.loads(first)["stream"] != chunk.stream:
                    await self._redis.delete(key)
            (pipe.rpushx if continues else pipe.rpush)(key, orjson.dumps(chunk)).expire(key, 3600)
            await pipe.execute()

    async def chunks_of(self, task_id: UUID) -> list[Chunk]:
        rows = await self._redis.lrange(self._key(task_id), 0, -1)
        return join_chunks([Chunk(**orjson.loads(row)) for row in rows])

    async def drop(self, task_id: UUID) -> None:
        await self._redis.delete(self._key(task_id))

    @staticmethod
    def _key(task_id: UUID) -> str:
        return f"running:{task_id}"


def join_chunks(chunks: list[Chunk]) -> list[Chunk]:
    """Return one chunk for each kind of the stream."""
    if not chunks:
        return []
    stream = chunks[0].stream  # chunks of another stream came too late
    texts: dict[str, list[str]] = defaultdict(list)
    for chunk in chunks:
        if chunk.stream == stream:
            texts[chunk.kind].append(chunk.text)
    return [Chunk(stream=stream, kind=kind, offset=0, text="".join(parts)) for kind, parts in texts.items()]


store: Store = InProcess() if settings.EMBEDDED else InRedis(settings.REDIS_URL)
