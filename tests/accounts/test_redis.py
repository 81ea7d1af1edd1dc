"""Counting sign-in attempts in Redis, and in the database while Redis is down."""

import logging
import shutil
from collections.abc import Iterator
from html import unescape
from uuid import uuid4

import pytest
import redis
from django.core.cache import caches

from chatapp.accounts.adapter import MISMATCH, TOO_MANY_ATTEMPTS
from chatapp.sessions import redis_cache
from chatapp.sessions.redis_cache import RedisOrDatabase
from tests.conftest import PASSWORD
from tests.deployment.services import Redis
from tests.support.live import Person, Server, Site

pytestmark = pytest.mark.server

LOGIN = "/accounts/login/"
KEY = "allauth:rl:somebody"


@pytest.fixture
def own() -> Iterator[Redis]:
    if not shutil.which("redis-server"):
        pytest.skip("no redis-server is here")
    with Redis() as own:
        yield own


@pytest.fixture
def retried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry a failed Redis with the next attempt."""
    monkeypatch.setattr(redis_cache, "AWAY_SECONDS", 0.0)


def build_shared_cache(server: Redis, prefix: str = "one") -> RedisOrDatabase:
    """Return the cache as another process would."""
    return RedisOrDatabase(server.url, {"KEY_PREFIX": prefix, "OPTIONS": {"socket_timeout": 0.2}})


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the fallback cache, which settings without REDIS_URL do not have."""
    if redis_cache.DATABASE not in caches.settings:
        monkeypatch.setattr(redis_cache, "DATABASE", "default")


# Whole servers


def sign_in(server: Server, person: Person, password: str) -> str:
    with server.visit() as client:
        client.get(LOGIN)
        token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        fields = {"login": person.username, "password": password}
        answer = client.post(LOGIN, data=fields | token, headers={"referer": server.url})
    shown_messages = [
        message for message in (MISMATCH, TOO_MANY_ATTEMPTS) if message in unescape(answer.text)
    ]
    return shown_messages[0] if shown_messages else str(answer.status_code)


@pytest.mark.thorough
def test_processes_share_a_lockout_with_and_without_redis(site: Site, own: Redis) -> None:
    environment = site.copy() | {"REDIS_URL": own.url}
    alice, bob = site.person(), site.person()
    with Server(environment) as first, Server(environment) as second:
        answers = [
            sign_in(server, alice, "guess") for server in (first, second, first, second, first)
        ]
        assert answers == [MISMATCH] * 5
        assert sign_in(second, alice, PASSWORD) == TOO_MANY_ATTEMPTS
        own.kill()
        assert (
            sign_in(first, alice, PASSWORD) == "302"
        )  # as logged: the database starts counting at zero
        answers = [
            sign_in(server, bob, "guess") for server in (first, second, first, second, first)
        ]
        assert answers == [MISMATCH] * 5
        assert sign_in(second, bob, PASSWORD) == TOO_MANY_ATTEMPTS
        for server in (first, second):
            assert server.log.count("are counted in the database") == 1
            assert "allauth" not in server.log
        own.start()  # so that it can be stopped cleanly


# The cache


def test_one_process_reads_what_another_wrote(own: Redis) -> None:
    build_shared_cache(own).set(KEY, [3.5, 2.0], 60)
    assert build_shared_cache(own).get(KEY) == [3.5, 2.0]
    assert not build_shared_cache(own).add(KEY, True, 60)
    assert build_shared_cache(own).delete(KEY)
    assert build_shared_cache(own).get(KEY, "nothing") == "nothing"


def test_installations_do_not_see_each_other_in_one_redis(own: Redis) -> None:
    build_shared_cache(own, "one").set(KEY, [1.0], 60)
    assert build_shared_cache(own, "two").get(KEY) is None
    build_shared_cache(own, "two").clear()
    assert build_shared_cache(own, "one").get(KEY) == [1.0]
    build_shared_cache(own, "one").clear()
    assert build_shared_cache(own, "one").get(KEY) is None


@pytest.mark.parametrize(
    "poison",
    [
        b"\x80\x04\x95\x1f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix",  # the start of a pickle
        b"\xff\xfe",
        b"",
        b"{}",
        b'[1, "2"]',
        b"[" * 100_000,
        b"[Infinity]",
    ],
    ids=lambda poison: str(poison[:8]),
)
def test_values_that_the_app_did_not_write_are_ignored(own: Redis, poison: bytes) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.set(f"one:1:{KEY}", poison)
    assert build_shared_cache(own).get(KEY, []) == []
    build_shared_cache(own).set(KEY, [1.0], 60)
    assert build_shared_cache(own).get(KEY) == [1.0]


@pytest.mark.thorough
def test_the_database_counts_while_redis_is_down(
    db: None, own: Redis, retried_at_once: None, caplog: pytest.LogCaptureFixture
) -> None:
    counts, key = build_shared_cache(own), str(uuid4())
    counts.set(key, [1.0], 60)
    own.kill()
    with caplog.at_level(logging.WARNING, "chatapp"):
        assert counts.get(key) is None
        assert counts.add(key, [2.0], 60)
        assert not build_shared_cache(own).add(key, [3.0], 60)
        assert build_shared_cache(own).get(key) == [2.0]
        own.start()
        assert counts.get(key) is None
    log_messages = [record.getMessage() for record in caplog.records]
    assert log_messages == [
        "Redis can't be used (ConnectionError): sign-in attempts are counted in the database",
        "Redis can be used again: sign-in attempts are counted there",
    ]


def test_only_the_first_attempt_waits_for_a_redis_that_hangs(
    db: None, own: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redis_cache, "AWAY_SECONDS", float("inf"))
    counts, key = build_shared_cache(own), str(uuid4())
    counts.set(key, [1.0], 60)
    own.pause()
    try:
        for number in range(3):
            assert build_shared_cache(own).get(key) == ([2.0] if number else None)
            counts.set(key, [2.0], 60)
    finally:
        own.resume()
    assert counts.get(key) == [2.0]  # Redis is not asked again
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_full_redis_counts_as_down(db: None, own: Redis) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.config_set("maxmemory", 1)
    counts, key = build_shared_cache(own), str(uuid4())
    assert counts.add(key, [1.0], 60)
    assert not counts.add(key, [1.0], 60)
