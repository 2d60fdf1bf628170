"""The cache of a team: Redis or, while it is away, the memory of each process."""

import logging
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


class RedisOrLocal(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._local = LocMemCache(f"beside {params.get('KEY_PREFIX', '')}", params)

    def add(self, *arguments: Any, **options: Any) -> bool:
        return bool(self._asked("add", *arguments, **options))

    def get(self, *arguments: Any, **options: Any) -> Any:
        return self._asked("get", *arguments, **options)

    def set(self, *arguments: Any, **options: Any) -> None:
        self._asked("set", *arguments, **options)

    def incr(self, *arguments: Any, **options: Any) -> int:
        return int(self._asked("incr", *arguments, **options))

    def delete(self, *arguments: Any, **options: Any) -> bool:
        return bool(self._asked("delete", *arguments, **options))

    def delete_many(self, *arguments: Any, **options: Any) -> None:
        self._asked("delete_many", *arguments, **options)

    def _asked(self, what: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(super(), what)(*arguments, **options)
        except RedisError as error:
            logger.warning("Redis is not reachable, this process counts and keeps things by itself: %s", error)
            return getattr(self._local, what)(*arguments, **options)
