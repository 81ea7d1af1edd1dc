"""A cache of sign-in attempts shared by all processes: Redis, or the database if Redis is down.

Signing in works and is limited either way. At each switch between the two, counts start from zero
and a one-time code used within the last half minute is accepted again. That only helps somebody who
can make Redis fail, by one more allowance per switch. While only some processes reach Redis, the
two groups count separately, which doubles an allowance.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from django.core.cache import caches
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import ConnectionPool
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

DATABASE = "database"  # the name of the other cache in `CACHES`
AWAY_SECONDS = 5.0  # pause after a failure, or each call would wait for Redis


class RedisOrDatabase(BaseCache):
    """`LOCATION` is a Redis URL; `OPTIONS` are those of Django's Redis cache."""

    def __init__(self, url: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._server = _server(url)
        self._redis = _Redis([url], params)  # a list: Django splits strings at commas

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        return bool(self._ask(lambda store: store.add(key, value, timeout, version)))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        cached_value = self._ask(lambda store: store.get(key, None, version))
        return default if cached_value is None else cached_value

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        self._ask(lambda store: store.set(key, value, timeout, version))

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return bool(self._ask(lambda store: store.touch(key, timeout, version)))

    def delete(self, key: Any, version: int | None = None) -> bool:
        return bool(self._ask(lambda store: store.delete(key, version)))

    def clear(self) -> None:
        """Clear the store in use; entries of the other expire by themselves."""
        self._ask(lambda store: store.clear())

    def _ask(self, operation: Callable[[BaseCache], Any]) -> Any:
        if self._server.should_try():
            try:
                result = operation(self._redis)
            except (RedisError, OSError) as error:
                self._server.record_failure(error)
            else:
                self._server.record_success()
                return result
        return operation(caches[DATABASE])


class Json:
    """A serializer that replaces pickle, with which write access to Redis would mean running code.

    Values are those used to count attempts: times and flags. Anything else was not written by the
    app and is read as missing.
    """

    def dumps(self, value: Any) -> bytes:
        return msgspec.json.encode(value)

    def loads(self, data: bytes) -> list[float] | bool | str | None:
        try:
            return msgspec.json.decode(data, type=list[float] | bool | str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


class _Server:
    """The state of a Redis server as seen by this process. Thread-safe."""

    def __init__(self) -> None:
        self.pools: dict[int, ConnectionPool] = {}
        self._lock = threading.Lock()
        self._is_away = False
        self._retry_at = 0.0

    def should_try(self) -> bool:
        return time.monotonic() >= self._retry_at

    def record_failure(self, error: Exception) -> None:
        with self._lock:
            was_away, self._is_away = self._is_away, True
            self._retry_at = time.monotonic() + AWAY_SECONDS
        if not was_away:
            logger.warning(
                "Redis can't be used (%s): sign-in attempts are counted in the database",
                type(error).__name__,
            )

    def record_success(self) -> None:
        if not self._is_away:
            return
        with self._lock:
            was_away, self._is_away = self._is_away, False
        if was_away:
            logger.warning("Redis can be used again: sign-in attempts are counted there")


@cache
def _server(url: str) -> _Server:
    return _Server()


class _Client(RedisCacheClient):
    """A client that shares the process's connections.

    Django creates a cache per request, which would otherwise connect each time.
    """

    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers, **options)
        self._pools = _server(servers[0]).pools


class _Redis(RedisCache):
    def __init__(self, servers: list[str], params: dict[str, Any]) -> None:
        super().__init__(servers, params)
        self._class = _Client

    def clear(self) -> None:
        """Delete this installation's keys only; Django's `clear` empties the whole database."""
        client = self._cache.get_client(write=True)
        for key in client.scan_iter(match=f"{self.key_prefix}:*", count=1000):
            client.delete(key)
