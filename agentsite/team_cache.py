"""The cache of a team: Redis or, while it is away, the memory of each process."""

import logging
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


class RedisOrLocalCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._local = LocMemCache(f"beside {params.get('KEY_PREFIX', '')}", params)

    def add(self, *arguments: Any, **options: Any) -> bool:
        return bool(self._call("add", *arguments, **options))

    def get(self, *arguments: Any, **options: Any) -> Any:
        return self._call("get", *arguments, **options)

    def set(self, *arguments: Any, **options: Any) -> None:
        self._call("set", *arguments, **options)

    def incr(self, *arguments: Any, **options: Any) -> int:
        return int(self._call("incr", *arguments, **options))

    def delete(self, *arguments: Any, **options: Any) -> bool:
        return bool(self._call("delete", *arguments, **options))

    def delete_many(self, *arguments: Any, **options: Any) -> None:
        self._call("delete_many", *arguments, **options)

    def _call(self, method: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(super(), method)(*arguments, **options)
        except RedisError as error:
            logger.warning("could not reach Redis, so this process uses its own cache: %s", error)
            return getattr(self._local, method)(*arguments, **options)
