"""Settings that are unsafe in production, and the secret key."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core import checks
from pytest_django import Settings

from chatapp.checks.results import Status
from chatapp.doctor import settings_checks
from tests.doctor import only

URL = "https://chat.example"


def test_debug_pages_fail(settings: Settings) -> None:
    assert only(settings_checks.debug()).status is Status.OK
    settings.DEBUG = True
    assert only(settings_checks.debug()).status is Status.FAILED


@pytest.mark.parametrize(
    ("allowed", "url", "status"),
    [
        (["localhost"], "", Status.OK),
        (["localhost"], URL, Status.FAILED),
        (["chat.example"], URL, Status.OK),
        ([".example"], f"{URL}:8443/", Status.OK),
        (["*"], "", Status.WARNING),
        (["*"], URL, Status.WARNING),
    ],
)
def test_host_names_are_judged(
    settings: Settings, allowed: list[str], url: str, status: Status
) -> None:
    settings.ALLOWED_HOSTS = allowed
    result = only(settings_checks.hosts(url))
    assert result.status is status
    if url and status is not Status.OK:
        assert result.remedy == "Set ALLOWED_HOSTS=chat.example and restart."


@pytest.mark.parametrize(
    ("trusted", "status"),
    [
        (["127.0.0.1/32", "::ffff:127.0.0.1/128", "::1/128"], Status.OK),
        (["10.0.0.0/8", "::ffff:10.0.0.0/104", "fd00::/8"], Status.OK),
        (["203.0.113.9/32"], Status.OK),
        (["0.0.0.0/0"], Status.FAILED),
        (["::/0"], Status.FAILED),
        (["8.0.0.0/8"], Status.FAILED),
    ],
)
def test_trusting_everyone_as_a_proxy_fails(
    settings: Settings, trusted: list[str], status: Status
) -> None:
    settings.CHATAPP_TRUSTED_PROXIES = trusted
    assert only(settings_checks.trusted_proxies()).status is status


def test_a_huge_body_limit_is_warned_of(settings: Settings) -> None:
    assert only(settings_checks.body_limit()).status is Status.OK
    settings.CHATAPP_MAX_BODY_BYTES = 10**9
    assert only(settings_checks.body_limit()).status is Status.WARNING


@pytest.mark.parametrize(
    ("trusted", "url", "status"),
    [
        ([], "", Status.WARNING),
        ([], URL, Status.FAILED),
        (["https://other.example"], URL, Status.FAILED),
        ([URL], URL, Status.OK),
        ([URL], f"{URL}:443/", Status.OK),
        ([URL], "", Status.OK),
        ([], "http://chat.example", Status.WARNING),
    ],
)
def test_origins_are_judged(
    settings: Settings, trusted: list[str], url: str, status: Status
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = trusted
    settings.SESSION_COOKIE_SECURE = any(origin.startswith("https") for origin in trusted)
    result = only(settings_checks.origins(url))
    assert result.status is status
    if status is Status.FAILED:
        assert f"CSRF_TRUSTED_ORIGINS={URL}" in result.remedy


@pytest.mark.parametrize(
    ("mode", "status"), [(0o600, Status.OK), (0o644, Status.FAILED), (0o640, Status.FAILED)]
)
def test_a_key_file_must_be_readable_only_by_its_owner(
    tmp_path: Path, mode: int, status: Status
) -> None:
    path = tmp_path / "secret_key"
    path.write_text("the secret itself")
    path.chmod(mode)
    result = only(settings_checks.secret_key(path))
    assert result.status is status
    assert f"{mode:04o}" in result.finding
    assert "the secret itself" not in result.finding + result.remedy
    if status is Status.FAILED:
        assert f"chmod 600 {path}" in result.remedy


def test_a_key_file_of_another_user_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret_key"
    path.touch(0o600)
    stranger = path.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: stranger)
    assert only(settings_checks.secret_key(path)).status is Status.FAILED
    assert only(settings_checks.secret_key(tmp_path / "none")).status is Status.FAILED


@pytest.mark.parametrize(
    ("key", "status"),
    [
        ("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQR", Status.OK),
        ("short", Status.FAILED),
        ("a" * 60, Status.FAILED),
        ("django-insecure-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF", Status.FAILED),
    ],
)
def test_a_key_in_the_environment_must_be_long_and_random(key: str, status: Status) -> None:
    result = only(settings_checks.secret_key(Path("/nowhere"), key))
    assert result.status is status
    assert key not in result.finding + result.remedy


@pytest.mark.parametrize(
    ("token", "status"),
    [("", Status.OK), ("hunter2", Status.WARNING), ("k3jf8s0dkf93ksl20fk39dk2l4", Status.OK)],
)
def test_a_metrics_token_must_be_hard_to_guess(token: str, status: Status) -> None:
    result = only(settings_checks.metrics_token(token))
    assert result.status is status
    assert not token or token not in result.finding + result.remedy


@pytest.mark.parametrize(
    ("database", "redis", "words"),
    [
        ("", "", "only one; for more, set REDIS_URL"),
        ("p", "", "only one; for more, set REDIS_URL"),
        ("", "r", "any number on this host"),
        ("p", "r", "any number on any hosts"),
    ],
)
def test_the_possible_number_of_processes_is_reported(
    settings: Settings, database: str, redis: str, words: str
) -> None:
    settings.DATABASE_URL, settings.REDIS_URL = database, redis
    assert words in only(settings_checks.processes()).finding


@pytest.fixture
def saying(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def say(*messages: checks.CheckMessage) -> None:
        monkeypatch.setattr(checks, "run_checks", lambda **_: list(messages))

    return say


def test_djangos_checks_report_what_ours_do_not_cover(saying: Callable[..., None]) -> None:
    assert only(settings_checks.django_checks()).status is Status.OK  # the real checks
    saying(checks.Warning("HSTS", id="security.W004"), checks.Warning("A", "Do B.", id="x.W1"))
    result = only(settings_checks.django_checks())
    assert (result.status, result.finding, result.remedy) == (Status.WARNING, "x.W1: A", "Do B.")
    saying(checks.Error("A", id="x.E1"))
    assert only(settings_checks.django_checks()).status is Status.FAILED
