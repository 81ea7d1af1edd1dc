"""Cookies, idle sessions, and file permissions."""

import os
import stat
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.checks.results import Status
from chatapp.doctor import machine, settings_checks
from chatapp.models import User
from chatapp.server.data_dir import make_private
from chatapp.sessions import idle_sessions
from tests.conftest import PASSWORD
from tests.doctor import only
from tests.support.live import Server, Site, free_port, run
from tests.support.profile import sample_params
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

DAY = 86400
Clock = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Advance the clock of sessions by a number of seconds."""
    now = {"ahead": 0.0}
    monkeypatch.setattr(time, "time", lambda: time.monotonic() + 1e9 + now["ahead"])

    def ahead(seconds: float) -> None:
        now["ahead"] += seconds

    return ahead


def writes(client: Client, path: str = "/help/") -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    statements = [q["sql"] for q in queries if q["sql"].startswith(("UPDATE", "INSERT"))]
    return [sql for sql in statements if "django_session" in sql]


def ends_in() -> float:
    return float((Session.objects.get().expire_date - timezone.now()).total_seconds())


def begin_passkey(client: Client) -> int:
    return client.get(
        "/accounts/login/passkey/", headers={"accept": "application/json"}
    ).status_code


def test_a_session_without_a_user_ends_soon(client: Client) -> None:
    assert begin_passkey(client) == 200
    assert 14 * 60 < ends_in() <= 15 * 60


def test_one_address_can_begin_a_limited_number_of_sessions(db: None) -> None:
    statuses = [begin_passkey(Client()) for _ in range(122)]
    assert statuses == [200] * 120 + [429] * 2
    assert Session.objects.count() == 120


def test_signing_in_extends_such_a_session(alice: User, client: Client) -> None:
    begin_passkey(client)
    client.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    assert ends_in() > 13 * DAY


def test_use_renews_a_session_but_rarely_writes_it(alices: Client, clock: Clock) -> None:
    assert len(writes(alices)) == 1
    assert writes(alices) == []
    Session.objects.update(expire_date=timezone.now() + timedelta(days=12))
    clock(1.3 * DAY)
    assert writes(alices) == []
    clock(0.2 * DAY)
    assert len(writes(alices)) == 1
    assert 13.9 * DAY < ends_in() <= 14 * DAY


def test_an_unused_session_expires(alices: Client) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert alices.get("/").status_code == 302


def test_chatting_renews_a_session(alices: Client, clock: Clock) -> None:
    key = alices.session.session_key
    assert key
    Session.objects.update(expire_date=timezone.now() + timedelta(hours=1))
    idle_sessions.use_session(key)
    assert ends_in() > 13 * DAY


async def test_a_prompt_renews_a_session(tab: Tab) -> None:
    await Session.objects.aupdate(expire_date=timezone.now() + timedelta(hours=1))
    await tab.ask()
    await tab.until_ended()
    session = await Session.objects.aget()
    assert session.expire_date > timezone.now() + timedelta(days=13)


@pytest.mark.parametrize(("remember", "expires"), [("on", True), ("", False)])
def test_a_session_outlives_the_browser_only_if_asked_to_remember(
    alice: User, clock: Clock, remember: str, expires: bool
) -> None:
    client = Client(headers={"host": "localhost"})
    fields = {"login": "alice", "password": PASSWORD, "remember": remember}
    client.post("/accounts/login/", fields)
    clock(2 * DAY)
    assert client.get("/help/").status_code == 200
    assert bool(client.cookies["sessionid"]["expires"]) is expires


@pytest.mark.thorough
def test_a_shorter_timeout_applies_to_existing_sessions(site: Site) -> None:
    server = site.server(CHATAPP_IDLE_TIMEOUT="600")
    made = run(server.environment, "-c", SESSION_ENDS).stdout
    assert float(made) > DAY
    with server:
        pass
    assert float(run(server.environment, "-c", SESSION_ENDS).stdout) <= 600


SESSION_ENDS = """
import django; django.setup()
from django.contrib.sessions.models import Session
from django.utils import timezone
last = Session.objects.latest("expire_date").expire_date
print((last - timezone.now()).total_seconds())
"""


@pytest.mark.parametrize(
    ("value", "sentence"),
    sample_params(
        [
            ("soon", 'CHATAPP_IDLE_TIMEOUT="soon" is not a number of seconds, for example 10'),
            ("5", 'CHATAPP_IDLE_TIMEOUT="5" is too short: the minimum is 60 seconds'),
        ]
    ),
)
def test_an_invalid_timeout_is_refused(site: Site, value: str, sentence: str) -> None:
    environment = site.missing_installation() | {"CHATAPP_IDLE_TIMEOUT": value}
    statements = run(environment, "manage.py", "check", check=False)
    assert statements.returncode == 1
    assert sentence in statements.stderr


@pytest.mark.thorough
def test_sessions_may_never_expire(site: Site) -> None:
    run(site.missing_installation() | {"CHATAPP_IDLE_TIMEOUT": "inf"}, "manage.py", "check")


# Cookies


def cookies_of_sign_in(server: Server, site: Site, origin: str) -> dict[str, str]:
    """Return the attributes of each cookie by name, from the sign-in page and signing in."""
    alice = site.person()
    headers = {"x-forwarded-proto": origin.partition(":")[0], "referer": f"{origin}/"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
        page = client.get("/accounts/login/")
        cookies = dict(header.split("=", 1) for header in page.headers.get_list("set-cookie"))
        [(name, value)] = [(n, v.partition(";")[0]) for n, v in cookies.items()]
        fields = {"login": alice.username, "password": PASSWORD, "csrfmiddlewaretoken": value}
        cookie = {"cookie": f"{name}={value}", "origin": origin}
        answer = client.post("/accounts/login/", data=fields, headers=cookie)
        assert answer.status_code == 302, answer.text
        return cookies | dict(
            header.split("=", 1) for header in answer.headers.get_list("set-cookie")
        )


def test_cookies_are_bound_to_the_host_under_https(site: Site) -> None:
    origin = f"https://localhost:{free_port()}"
    with site.server(CSRF_TRUSTED_ORIGINS=origin) as server:
        cookies = cookies_of_sign_in(server, site, origin)
    assert {"__Host-sessionid", "__Host-csrftoken"} <= cookies.keys()
    assert not {"sessionid", "csrftoken"} & cookies.keys()
    for name in ("__Host-sessionid", "__Host-csrftoken"):
        attributes = [part.strip() for part in cookies[name].split(";")]
        assert {"Secure", "Path=/", "SameSite=Lax"} <= set(attributes), name
        assert not [part for part in attributes if part.startswith("Domain")]
    assert "HttpOnly" in cookies["__Host-sessionid"]


@pytest.mark.thorough
def test_cookies_keep_their_names_under_http(site: Site) -> None:
    with site.server() as server:
        cookies = cookies_of_sign_in(server, site, server.url)
    assert {"sessionid", "csrftoken"} <= cookies.keys()
    assert "Secure" not in cookies["sessionid"]


# File permissions


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.thorough
def test_what_the_app_writes_is_readable_only_by_its_user(site: Site, tmp_path: Path) -> None:
    """As `make run` does in a new directory, under the usual umask."""
    before = os.umask(0o022)
    try:
        environment = site.missing_installation()
        data_dir = Path(environment["DATA_DIR"]) / "var"
        environment["DATA_DIR"] = str(data_dir)
        run(environment, "manage.py", "migrate", "--verbosity", "0")
        run(environment, "manage.py", "collectstatic", "--noinput", "--verbosity", "0")
        with Server(environment):
            open_to_others = [
                path
                for path in (data_dir, *data_dir.iterdir())
                if path.name != "static" and mode(path) & 0o077
            ]
    finally:
        os.umask(before)
    assert open_to_others == []
    assert mode(next((data_dir / "static").rglob("*.css"))) & 0o044


@pytest.mark.parametrize("command", sample_params(["migrate", "serve"]))
def test_a_world_readable_data_directory_is_closed_at_start(site: Site, command: str) -> None:
    server = site.server()
    (server.data_dir / "secret_key").touch(0o600)
    server.data_dir.chmod(0o755)
    if command == "serve":
        with server:
            assert mode(server.data_dir) == 0o700
    else:
        run(server.environment, "manage.py", "migrate", "--verbosity", "0")
        assert mode(server.data_dir) == 0o700


@pytest.mark.parametrize(
    ("holds", "before", "after"),
    [("secret_key", 0o755, 0o700), ("secret_key", 0o750, 0o750), ("letters", 0o755, 0o755)],
)
def test_other_directories_and_chosen_modes_stay_unchanged(
    tmp_path: Path, holds: str, before: int, after: int
) -> None:
    (tmp_path / holds).touch()
    tmp_path.chmod(before)
    make_private(tmp_path)
    assert mode(tmp_path) == after


@pytest.mark.parametrize(("set_to", "verdict"), [(0o755, "failed"), (0o750, "ok"), (0o700, "ok")])
def test_the_doctor_checks_who_may_read_the_data(tmp_path: Path, set_to: int, verdict: str) -> None:
    tmp_path.chmod(set_to)
    finding = only(machine.data_dir(tmp_path))
    assert finding.status == Status(verdict)
    assert verdict == "ok" or f"chmod 700 {tmp_path}" in finding.remedy


def test_the_doctor_warns_about_old_keys() -> None:
    assert list(settings_checks.old_keys([])) == []
    finding = only(settings_checks.old_keys(["the-old-one"]))
    assert finding.status is Status.WARNING
    assert "the-old-one" not in finding.finding + finding.remedy
