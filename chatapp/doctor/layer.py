"""Redis, and a message through the channel layer of the settings."""

import asyncio
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import redis

from chatapp.checks.results import Finding, failed, ok, skipped, warning
from chatapp.doctor.report import clock_finding, milliseconds, reason, shown_url

IDLE_SECONDS = 6.0  # redis-py 8 gives up reading after 5 unless it is told otherwise
PATIENCE_SECONDS = 5.0
OLDEST = (6, 2)
TOLERANCE_SECONDS = 2.0


def redis_server(url: str) -> Iterator[Finding]:
    """Whether the Redis at `url` answers, its version, its clock, whether it keeps what it has."""
    if not url:
        yield skipped(
            "Redis",
            "REDIS_URL is not set: messages stay within one process, and attempts to sign in are "
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
            f"{shown_url(url)} can't be used: {reason(error, url, password)}",
            "Start Redis, or set REDIS_URL to where it is, with its password.",
        )
    finally:
        client.close()


def _answers(client: Any, url: str) -> Iterator[Finding]:
    version = str(client.info("server")["redis_version"])
    before = time.time()
    seconds, micros = client.time()
    after = time.time()
    found = f"Redis {version}, {shown_url(url)}, {milliseconds(after - before)}"
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        yield warning(
            "Redis",
            found,
            f"Upgrade it to {'.'.join(map(str, OLDEST))} or newer: it gets no fixes.",
        )
    else:
        yield ok("Redis", found)
    ahead = seconds + micros / 1e6 - (before + after) / 2
    yield clock_finding("Its clock", ahead, TOLERANCE_SECONDS)
    yield _memory(client.info("memory"))


def _memory(info: dict[str, Any]) -> Finding:
    """Whether attempts to sign in, which are counted there, stay until they expire."""
    policy = info["maxmemory_policy"]
    if info["maxmemory"] and policy != "noeviction":
        return warning(
            "Its memory",
            f"{policy}: where it is full, Redis drops what failed sign-ins are counted in",
            "Set maxmemory-policy to noeviction: what it then refuses is counted in the database.",
        )
    return ok("Its memory", "what failed sign-ins are counted in stays until it expires")


def message_after_idling(layer: Any, idle_seconds: float = IDLE_SECONDS) -> Iterator[Finding]:
    """A message to a channel on which someone has waited `idle_seconds` for one."""
    what, where = "Layer", f"{type(layer).__module__}.{type(layer).__name__}"
    try:
        took = asyncio.run(_message(layer, idle_seconds))
    except (redis.RedisError, OSError) as error:  # of which TimeoutError is one
        yield failed(
            what,
            f"no message after {idle_seconds:g} s of idling: {reason(error)} ({where})",
            "Check that Redis runs, that nothing between closes idle connections, and that the "
            "layer is channels_redis.pubsub.RedisPubSubChannelLayer.",
        )
    else:
        yield ok(what, f"a message after {idle_seconds:g} s of idling took {milliseconds(took)}")


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
