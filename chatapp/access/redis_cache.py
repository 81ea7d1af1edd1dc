"""What all processes remember of attempts, in Redis; in the database's cache while Redis is away.

Signing in works and is limited either way. What is lost at each of the two changes: counts begin
anew, and a code of an app that was used half a minute before is taken once more. Who can't make
Redis fail gains nothing by that; who can gains one more allowance at each change. Processes of
which only some reach Redis count apart meanwhile, which makes two allowances of one.
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
AWAY_SECONDS = 5.0  # a Redis that failed is left alone, or each call would wait for it


class RedisOrDatabase(BaseCache):
    """`LOCATION` is the URL of a Redis, `OPTIONS` what Django's cache there takes."""

    def __init__(self, url: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._server = _server(url)
        self._redis = _Redis([url], params)  # a list, since Django parts a string at its commas

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        return bool(self._ask(lambda where: where.add(key, value, timeout, version)))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        found = self._ask(lambda where: where.get(key, None, version))
        return default if found is None else found

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        self._ask(lambda where: where.set(key, value, timeout, version))

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return bool(self._ask(lambda where: where.touch(key, timeout, version)))

    def delete(self, key: Any, version: int | None = None) -> bool:
        return bool(self._ask(lambda where: where.delete(key, version)))

    def clear(self) -> None:
        """Where attempts are counted now; the other place forgets by itself, as they expire."""
        self._ask(lambda where: where.clear())

    def _ask(self, question: Callable[[BaseCache], Any]) -> Any:
        if self._server.is_asked():
            try:
                answer = question(self._redis)
            except (RedisError, OSError) as error:
                self._server.failed(error)
            else:
                self._server.answered()
                return answer
        return question(caches[DATABASE])


class Json:
    """For Redis, instead of Django's pickle: whoever can write to Redis could run code here.

    Values are what attempts are counted in: times, and flags. All else was not written by the app
    and counts as nothing.
    """

    def dumps(self, value: Any) -> bytes:
        return msgspec.json.encode(value)

    def loads(self, data: bytes) -> list[float] | bool | str | None:
        try:
            return msgspec.json.decode(data, type=list[float] | bool | str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


class _Server:
    """A Redis as this process finds it; asked from many threads."""

    def __init__(self) -> None:
        self.pools: dict[int, ConnectionPool] = {}
        self._lock = threading.Lock()
        self._is_away = False
        self._is_asked_at = 0.0

    def is_asked(self) -> bool:
        return time.monotonic() >= self._is_asked_at

    def failed(self, error: Exception) -> None:
        with self._lock:
            was_away, self._is_away = self._is_away, True
            self._is_asked_at = time.monotonic() + AWAY_SECONDS
        if not was_away:
            logger.warning(
                "Redis can't be used (%s): attempts to sign in are counted in the database",
                type(error).__name__,
            )

    def answered(self) -> None:
        if not self._is_away:
            return
        with self._lock:
            was_away, self._is_away = self._is_away, False
        if was_away:
            logger.warning("Redis is back: attempts to sign in are counted there again")


@cache
def _server(url: str) -> _Server:
    return _Server()


class _Client(RedisCacheClient):
    """Its connections are the process's: Django makes a cache for each request, which would
    connect anew."""

    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers, **options)
        self._pools = _server(servers[0]).pools


class _Redis(RedisCache):
    def __init__(self, servers: list[str], params: dict[str, Any]) -> None:
        super().__init__(servers, params)
        self._class = _Client

    def clear(self) -> None:
        """This installation's keys, where Django's empties the whole database of Redis."""
        client = self._cache.get_client(write=True)
        for key in client.scan_iter(match=f"{self.key_prefix}:*", count=1000):
            client.delete(key)
