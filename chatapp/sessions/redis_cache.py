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
from typing import Any, cast

import msgspec
from django.core.cache import caches
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from redis import Redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

DATABASE = "database"  # the name of the other cache in `CACHES`
AWAY_SECONDS = 5.0  # pause after a failure, or each call would wait for Redis


class RedisOrDatabase(BaseCache):
    """`LOCATION` is a Redis URL; `OPTIONS` are those of `redis.Redis.from_url`."""

    def __init__(self, url: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._server = _connect(url, tuple(params.get("OPTIONS", {}).items()))
        self._redis = _RedisCache(self._server.client, params)

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


class _RedisCache(BaseCache):
    """A cache in Redis whose values are JSON.

    Django's own stores pickles, with which write access to Redis would mean running code, and
    empties the whole database when it is cleared. Values are those used to count attempts: times
    and flags. Anything else was not written by the app and is read as missing.
    """

    def __init__(self, client: Redis, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._client = client

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        return self._store(key, value, timeout, version, only_new=True)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        data = cast(bytes | None, self._client.get(self.make_key(key, version)))
        value = None if data is None else _decode(data)
        return default if value is None else value

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        self._store(key, value, timeout, version)

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        name, seconds = self.make_key(key, version), self._seconds(timeout)
        if seconds is None:
            return bool(self._client.persist(name))
        return bool(self._client.expire(name, seconds))

    def delete(self, key: Any, version: int | None = None) -> bool:
        return bool(self._client.delete(self.make_key(key, version)))

    def clear(self) -> None:
        """Delete this installation's keys."""
        for name in self._client.scan_iter(match=f"{self.key_prefix}:*", count=1000):
            self._client.delete(name)

    def _store(
        self, key: Any, value: Any, timeout: Any, version: int | None, only_new: bool = False
    ) -> bool:
        name, seconds = self.make_key(key, version), self._seconds(timeout)
        data = msgspec.json.encode(value)
        if seconds == 0:  # Redis refuses to store what has expired already
            return not self._client.exists(name) if only_new else bool(self._client.delete(name))
        return bool(self._client.set(name, data, ex=seconds, nx=only_new))

    def _seconds(self, timeout: Any) -> int | None:
        """Return the seconds until an entry expires; None if it doesn't."""
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return None if seconds is None else max(0, int(seconds))


def _decode(data: bytes) -> list[float] | bool | str | None:
    try:
        return msgspec.json.decode(data, type=list[float] | bool | str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class _Server:
    """A Redis server and its state as seen by this process. Thread-safe."""

    def __init__(self, client: Redis) -> None:
        self.client = client
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
def _connect(url: str, options: tuple[tuple[str, Any], ...]) -> _Server:
    """Return the server, with connections for all threads: Django makes a cache per request."""
    return _Server(Redis.from_url(url, **dict(options)))
