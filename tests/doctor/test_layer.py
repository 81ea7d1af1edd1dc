"""Redis, and a message through the channel layer after idling."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from channels.layers import InMemoryChannelLayer
from channels_redis.core import RedisChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer

from chatapp.checks.results import Status
from chatapp.doctor.layer import message_after_idling, redis_server
from tests.doctor import only, statuses
from tests.support.live import free_port
from tests.support.program import WAIT_SECONDS

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Redis started for these tests, with a password."""
    if not (program := shutil.which("redis-server")):
        pytest.skip("there is no redis-server")
    directory: Path = tmp_path_factory.mktemp("redis")
    port = str(free_port())
    options = ["--port", port, "--save", "", "--requirepass", "hunter22", "--dir", str(directory)]
    with subprocess.Popen(
        [program, *options], stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]}
    ) as process:
        url = f"redis://:hunter22@127.0.0.1:{port}/0"
        retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), int(WAIT_SECONDS / 0.05))
        with redis.Redis.from_url(url, retry=retry) as client:
            client.ping()
        yield url
        process.terminate()


def test_without_redis_there_is_nothing_to_check() -> None:
    assert only(redis_server("")).status is Status.SKIPPED


def test_a_good_redis_passes(url: str) -> None:
    results = list(redis_server(url))
    assert statuses(results) == dict.fromkeys(("Redis", "Clock", "Memory"), Status.OK)
    assert "hunter22" not in results[0].finding


def test_a_wrong_password_fails_and_is_not_shown(url: str) -> None:
    result = only(redis_server(url.replace("hunter22", "hunter23")))
    assert result.status is Status.FAILED
    assert "hunter23" not in result.finding


def test_an_unreachable_redis_fails() -> None:
    result = only(redis_server(f"redis://:hunter22@127.0.0.1:{free_port()}/0"))
    assert result.status is Status.FAILED
    assert "hunter22" not in result.finding


def test_an_old_redis_is_warned_of(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatapp.doctor.layer.OLDEST", (99, 0))
    first, *_ = redis_server(url)
    assert first.status is Status.WARNING


def test_a_redis_that_may_evict_counters_is_warned_of(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        *_, last = redis_server(url)
        client.config_set("maxmemory-policy", "noeviction")
        *_, result = redis_server(url)
        client.config_set("maxmemory", 0)
    assert (last.status, result.status) == (Status.WARNING, Status.OK)
    assert "noeviction" in last.remedy


@pytest.mark.thorough
def test_a_message_passes_the_apps_layer_after_six_seconds(url: str) -> None:
    assert only(message_after_idling(RedisPubSubChannelLayer(hosts=[url]))).status is Status.OK


def test_a_layer_that_does_not_survive_idling_fails(url: str) -> None:
    impatient = RedisChannelLayer(hosts=[{"address": url, "socket_timeout": 0.2}])
    result = only(message_after_idling(impatient, 0.5))
    assert result.status is Status.FAILED
    assert "RedisPubSubChannelLayer" in result.remedy


def test_a_layer_without_its_redis_fails() -> None:
    layer = RedisPubSubChannelLayer(hosts=[f"redis://127.0.0.1:{free_port()}/0"])
    with suppress(ResourceWarning):
        assert only(message_after_idling(layer, 0.1)).status is Status.FAILED


def test_an_in_memory_layer_needs_no_redis() -> None:
    assert only(message_after_idling(InMemoryChannelLayer(), 0.01)).status is Status.OK
