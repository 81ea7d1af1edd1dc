"""Check Redis, and send a message through the configured channel layer after idling."""

import asyncio
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import redis

from chatapp.checks.phrases import clock_result, duration, reason, redact_url
from chatapp.checks.results import CheckResult, failed, ok, skipped, warning

IDLE_SECONDS = 6.0  # redis-py 8 stops reading after 5 by default
PATIENCE_SECONDS = 5.0
OLDEST = (6, 2)
TOLERANCE_SECONDS = 2.0


def redis_server(url: str) -> Iterator[CheckResult]:
    """Check the Redis at `url`: whether it answers, its version, clock and eviction policy."""
    if not url:
        yield skipped(
            "Redis",
            "REDIS_URL is not set: messages stay within one process, and sign-in attempts are "
            "counted in the database",
        )
        return
    client = redis.Redis.from_url(
        url, socket_connect_timeout=PATIENCE_SECONDS, socket_timeout=PATIENCE_SECONDS
    )
    try:
        yield from _answers(client, url)
    except (redis.RedisError, OSError) as error:
        password = unquote(urlsplit(url).password or "")
        yield failed(
            "Redis",
            f"{redact_url(url)} can't be used: {reason(error, url, password)}",
            "Start Redis, or set REDIS_URL to where it is, with its password.",
        )
    finally:
        client.close()


def _answers(client: Any, url: str) -> Iterator[CheckResult]:
    version = str(client.info("server")["redis_version"])
    before = time.time()
    seconds, micros = client.time()
    after = time.time()
    finding = f"Redis {version}, {redact_url(url)}, {duration(after - before)}"
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        yield warning(
            "Redis",
            finding,
            f"Upgrade it to {'.'.join(map(str, OLDEST))} or newer: older versions get no fixes.",
        )
    else:
        yield ok("Redis", finding)
    ahead = seconds + micros / 1e6 - (before + after) / 2
    yield clock_result("Clock", ahead, TOLERANCE_SECONDS)
    yield _memory(client.info("memory"))


def _memory(info: dict[str, Any]) -> CheckResult:
    """Check that counters of sign-in attempts, which are stored there, stay until they expire."""
    policy = info["maxmemory_policy"]
    if info["maxmemory"] and policy != "noeviction":
        return warning(
            "Memory",
            f"{policy}: a full Redis drops the counters of failed sign-ins",
            "Set maxmemory-policy to noeviction. While Redis is full, the database counts instead.",
        )
    return ok("Memory", "counters of failed sign-ins stay until they expire")


def message_after_idling(layer: Any, idle_seconds: float = IDLE_SECONDS) -> Iterator[CheckResult]:
    """Check that a message reaches a channel whose reader has waited `idle_seconds`."""
    what, where = "Layer", f"{type(layer).__module__}.{type(layer).__name__}"
    try:
        took = asyncio.run(_message(layer, idle_seconds))
    except (redis.RedisError, OSError) as error:  # includes TimeoutError
        yield failed(
            what,
            f"no message after {idle_seconds:g} s of idling: {reason(error)} ({where})",
            "Check that Redis is running, that nothing on the way to it closes idle connections, "
            "and that the layer is channels_redis.pubsub.RedisPubSubChannelLayer.",
        )
    else:
        yield ok(what, f"a message after {idle_seconds:g} s of idling took {duration(took)}")


async def _message(layer: Any, idle_seconds: float) -> float:
    name = await layer.new_channel()
    waiting = asyncio.create_task(layer.receive(name))
    try:
        done, _ = await asyncio.wait({waiting}, timeout=idle_seconds)
        if not done:
            started = time.monotonic()
            await layer.send(name, {"type": "doctor"})
        async with asyncio.timeout(PATIENCE_SECONDS):
            await waiting
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    return time.monotonic() - started
