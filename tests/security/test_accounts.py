"""Accounts attacked by guessing, by concurrency, or with nothing but a session."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache
from django.db import connections
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from chatapp.accounts.adapter import MISMATCH, TOO_MANY_ATTEMPTS
from chatapp.accounts.setup_link import setup_token
from chatapp.logs import REDACTED
from chatapp.models import CacheEntry, User
from tests.conftest import PASSWORD
from tests.support.live import Site
from tests.support.page import parse

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"
CONFIRM = "/accounts/reauthenticate/"
NEW = "four wild geese at dawn"


def attempt(login: str, password: str, address: str = "203.0.113.9", host: str = "") -> str:
    """Try to sign in; return the page's error message, or an empty string on success."""
    client = Client(headers={"host": host or "localhost"})
    answer = client.post(LOGIN, {"login": login, "password": password}, REMOTE_ADDR=address)
    return "" if answer.status_code == 302 else sentence(answer)


def sentence(answer: Any) -> str:
    if answer.status_code == 429:
        return "429"
    alerts = parse(answer.content.decode()).find_all(role="alert")
    return " ".join(alert.text for alert in alerts)


# Limits


def test_guessing_from_one_address_locks_the_account_for_that_address(alice: User) -> None:
    messages = [attempt("alice", f"guess {n}") for n in range(8)]
    assert messages == [MISMATCH] * 5 + [TOO_MANY_ATTEMPTS] * 3
    assert attempt("alice", PASSWORD) == TOO_MANY_ATTEMPTS


def test_guessing_from_many_addresses_locks_the_account(alice: User) -> None:
    messages = [attempt("alice", f"guess {n}", f"203.0.113.{n}") for n in range(22)]
    assert messages == [MISMATCH] * 20 + [TOO_MANY_ATTEMPTS] * 2
    assert attempt("alice", PASSWORD, "203.0.113.200") == TOO_MANY_ATTEMPTS


def test_guesses_from_one_address_lock_out_nobody_else(alice: User) -> None:
    for n in range(8):
        attempt("alice", f"guess {n}")
    assert attempt("alice", PASSWORD, "203.0.113.200") == ""


def test_guesses_from_many_addresses_do_not_lock_out_a_known_browser(
    alice: User,
) -> None:
    client = Client()
    right = {"login": "alice", "password": PASSWORD}
    assert client.post(LOGIN, right).status_code == 302
    client.get("/")
    client.post("/accounts/logout/")
    for n in range(22):
        attempt("alice", f"guess {n}", f"203.0.113.{n}")
    assert client.post(LOGIN, right).status_code == 302


def test_a_known_browser_cannot_guess_without_limit(alice: User, bob: User) -> None:
    client = Client()
    client.post(LOGIN, {"login": "alice", "password": PASSWORD})
    client.get("/")
    client.post("/accounts/logout/")
    messages = [
        sentence(client.post(LOGIN, {"login": "alice", "password": f"guess {n}"})) for n in range(7)
    ]
    assert messages == [MISMATCH] * 5 + [TOO_MANY_ATTEMPTS] * 2
    assert attempt("alice", PASSWORD, "203.0.113.200") == ""


@pytest.mark.parametrize(("addresses", "minutes"), [(1, 5), (20, 15)])
def test_an_account_unlocks_after_its_minutes(
    alice: User, monkeypatch: pytest.MonkeyPatch, addresses: int, minutes: int
) -> None:
    began = time.time()
    for n in range(max(5, addresses)):
        attempt("alice", f"guess {n}", f"203.0.113.{n % addresses}")
    monkeypatch.setattr(time, "time", lambda: began + 60 * minutes - 5)
    assert attempt("alice", PASSWORD, "203.0.113.0") == TOO_MANY_ATTEMPTS
    monkeypatch.setattr(time, "time", lambda: began + 60 * minutes + 60)
    assert attempt("alice", PASSWORD, "203.0.113.0") == ""


def test_a_forged_device_cookie_is_ignored(alice: User) -> None:
    client = Client()
    client.cookies[settings.DEVICE_COOKIE_NAME] = f"{alice.pk}:made-up:signature"
    for n in range(22):
        attempt("alice", f"guess {n}", f"203.0.113.{n}")
    assert (
        sentence(client.post(LOGIN, {"login": "alice", "password": PASSWORD})) == TOO_MANY_ATTEMPTS
    )


def test_a_device_cookie_is_valid_for_one_account(alice: User, bob: User) -> None:
    client = Client()
    client.post(LOGIN, {"login": "bob", "password": PASSWORD})
    client.get("/")
    client.post("/accounts/logout/")
    for n in range(22):
        attempt("alice", f"guess {n}", f"203.0.113.{n}")
    answer = client.post(LOGIN, {"login": "alice", "password": PASSWORD})
    assert sentence(answer) == TOO_MANY_ATTEMPTS


def test_wrong_passwords_elsewhere_do_not_block_confirming_in_a_session(
    alice: User, alices: Client
) -> None:
    for n in range(22):
        attempt("alice", f"guess {n}", f"203.0.113.{n}")
    assert alices.post(CONFIRM, {"password": PASSWORD}).status_code == 302


def test_guessing_at_many_accounts_from_one_address_locks_that_address(alice: User) -> None:
    messages = [attempt(f"person{n}", "guess") for n in range(12)]
    assert messages == [MISMATCH] * 10 + [TOO_MANY_ATTEMPTS] * 2
    assert attempt("alice", PASSWORD) == TOO_MANY_ATTEMPTS
    assert attempt("alice", PASSWORD, "203.0.113.10") == ""


def test_all_names_of_an_account_count_together(alice: User) -> None:
    User.objects.update(email="alice@example.org")
    names = ["alice", "ALICE", "alice@example.org", "Alice@Example.org", " alice "]
    for name in names:
        assert attempt(name, "guess") == MISMATCH
    assert attempt("alice", PASSWORD) == TOO_MANY_ATTEMPTS


def test_the_host_header_does_not_reset_the_count(alice: User) -> None:
    hosts = [f"localhost:{port}" for port in range(9000, 9006)]
    messages = [attempt("alice", "guess", host=host) for host in hosts]
    assert messages == [MISMATCH] * 5 + [TOO_MANY_ATTEMPTS]


@pytest.mark.parametrize(
    ("form", "is_one"),
    [("2001:db8:0:1::{}", True), ("2001:db8:0:{}::1", False), ("::ffff:203.0.113.{}", False)],
)
def test_an_ipv6_network_counts_as_one_address(alice: User, form: str, is_one: bool) -> None:
    messages = [attempt(f"person{n}", "guess", form.format(n + 1)) for n in range(11)]
    assert (messages[-1] == TOO_MANY_ATTEMPTS) is is_one


def test_successful_sign_ins_are_not_counted(alice: User) -> None:
    for _ in range(12):
        assert attempt("alice", PASSWORD) == ""


def test_a_flood_of_cache_entries_does_not_unlock_an_account(alice: User) -> None:
    for _ in range(5):
        attempt("alice", "guess")
    for number in range(1500):
        cache.set(f"another{number}", [1.0], 300)
    cache.set("expired", [1.0], -10)
    cache.set("another", [1.0], 300)
    assert attempt("alice", PASSWORD) == TOO_MANY_ATTEMPTS
    assert not CacheEntry.objects.filter(cache_key__contains="expired").exists()


@pytest.mark.thorough
def test_a_restart_unlocks_nothing(site: Site) -> None:
    server = site.server()
    alice = site.person()

    def sign_in(password: str) -> str:
        with server.visit() as client:
            client.get(LOGIN)
            fields = {"login": alice.username, "password": password}
            token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
            answer = client.post(LOGIN, data=fields | token, headers={"referer": server.url})
            return answer.text if answer.status_code == 200 else ""

    with server:
        for _ in range(5):
            assert "Wrong username or password" in sign_in("guess")
        server.stop()
        server.start()
        assert TOO_MANY_ATTEMPTS in sign_in(PASSWORD)


@pytest.mark.parametrize("page", ["change", "reauthenticate"])
def test_guesses_within_a_session_count_too(alice: User, alices: Client, page: str) -> None:
    guess = {"oldpassword": "guess", "password1": NEW, "password2": NEW, "password": "guess"}
    path = CONFIRM if page == "reauthenticate" else "/accounts/password/change/"
    errors = [sentence(alices.post(path, guess)) for _ in range(5)]
    assert errors == ["Wrong password. Try again."] * 5
    right = guess | {"oldpassword": PASSWORD, "password": PASSWORD}
    assert sentence(alices.post(path, right)) in ("429", TOO_MANY_ATTEMPTS)
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


# What responses reveal


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the passwords that are hashed."""
    passwords: list[str] = []
    encode = MD5PasswordHasher.encode

    def record_password(self: MD5PasswordHasher, password: str, salt: str) -> str:
        passwords.append(password)
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", record_password)
    return passwords


@pytest.mark.parametrize("login", ["x" * 60_000, "%_" * 60_000, "ä" * 60_000])
def test_a_name_of_any_length_counts_as_a_wrong_name(alice: User, login: str) -> None:
    """It made SQLite fail, and the app report that the database is unavailable."""
    assert attempt(login, PASSWORD) == MISMATCH


@pytest.mark.parametrize(
    ("login", "password"),
    [
        ("nobody", "guess"),
        ("nobody@example.org", "guess"),
        ("alice", "guess"),
        ("alice@example.org", "guess"),
        ("gone", "guess"),
        ("gone", PASSWORD),
        ("gone@example.org", PASSWORD),
    ],
)
def test_every_failure_reads_the_same_and_hashes_once(
    alice: User, hashes: list[str], login: str, password: str
) -> None:
    User.objects.update(email="alice@example.org")
    User.objects.create_user("gone", "gone@example.org", PASSWORD, is_active=False)
    hashes.clear()
    assert attempt(login, password) == MISMATCH
    assert hashes == [password]


def test_an_address_shared_by_two_accounts_opens_neither(alice: User, bob: User) -> None:
    User.objects.update(email="both@example.org")
    assert attempt("both@example.org", PASSWORD) == MISMATCH
    assert attempt("bob", PASSWORD) == ""


def test_a_username_takes_precedence_over_an_address(alice: User) -> None:
    User.objects.update(email="alice@example.org")
    User.objects.create_user("alice@example.org", password=NEW)
    assert attempt("alice@example.org", PASSWORD) == MISMATCH
    assert attempt("alice@example.org", NEW) == ""


def test_a_password_reset_request_makes_no_queries(
    alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    User.objects.update(email="alice@example.org")
    stranger = Client(headers={"host": "localhost"})
    path = "/accounts/password/reset/"
    with django_assert_num_queries(0):
        assert "Ask an administrator" in stranger.get(path).content.decode()
        known_answer = stranger.post(path, {"email": "alice@example.org"})
        unknown_answer = stranger.post(path, {"email": "nobody@example.org"})
    assert (known_answer.status_code, known_answer.content) == (
        unknown_answer.status_code,
        unknown_answer.content,
    )
    assert known_answer.status_code == 405


# The setup link


@pytest.mark.django_db(transaction=True)
def test_only_one_of_many_concurrent_setups_succeeds() -> None:
    link = f"/setup/{setup_token()}/"
    together = Barrier(6)

    def post(number: int) -> int:
        client = Client(headers={"host": "localhost"})
        assert client.get(link).status_code == 200
        account = {"username": f"person{number}", "email": ""}
        together.wait(20)
        try:
            passwords = {"password1": PASSWORD, "password2": PASSWORD}
            client.post(link, account | passwords)
            return client.get("/").status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(post, range(6)))
    assert sorted(statuses) == [200, 302, 302, 302, 302, 302]
    assert User.objects.count() == 1


def test_the_setup_link_is_never_logged(site: Site) -> None:
    server = site.empty_server()
    with server, server.visit() as client:
        path = server.log.split("/setup/")[1].split("/")[0]
        greeted = len(server.log)
        for link in (f"/setup/{path}/more/", f"/setup/{path}"):
            client.get(link)
            client.post(link, data={"username": "ada"})
        page = client.post(f"/setup/{path}/", data={"username": "ada"})  # the form had no token
        assert page.status_code == 403
        assert "Go back, reload the page and submit the form again" in page.text
        assert client.get(f"/setup/{path}/").headers["referrer-policy"] == "strict-origin"
        server.wait_for("CSRF")
    assert path not in server.log[greeted:]


def test_a_traceback_of_the_setup_page_hides_the_link(caplog: pytest.LogCaptureFixture) -> None:
    from chatapp.logs import redact

    line = "Internal Server Error: /setup/0123456789abcdef/ Referer: https://h/setup/abc/\n"
    assert redact(line) == line.replace("0123456789abcdef", REDACTED).replace(
        "/abc/", f"/{REDACTED}/"
    )
    assert logging.getLogger("django.security.csrf").filters == []


def test_the_first_administrator_need_not_confirm_the_password_after_setup() -> None:
    client = Client(headers={"host": "localhost"})
    passwords = {"password1": PASSWORD, "password2": PASSWORD}
    client.post(f"/setup/{setup_token()}/", {"username": "ada", "email": "", **passwords})
    assert client.get("/people/invitations/").status_code == 200
