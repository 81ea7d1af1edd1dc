"""All sessions of a person are found, by an index, however many others are signed in."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chatapp.erasure.people import erase
from chatapp.models import Device, User
from chatapp.sessions import devices, idle_sessions
from chatapp.sessions.session_store import SessionStore
from tests.accounts.test_second_factor import enter_password, set_up
from tests.conftest import PASSWORD, confirm_password, signed_in
from tests.support.present import present

pytestmark = pytest.mark.django_db

MIGRATION = import_module("chatapp.migrations.0041_sessions_and_addresses")


def create_sessions(person: User, count: int) -> list[str]:
    """Store sessions of browsers that have not requested a page yet; return their keys."""
    keys = []
    for _ in range(count):
        session = SessionStore()
        session[SESSION_KEY] = str(person.pk)
        session[HASH_SESSION_KEY] = person.get_session_auth_hash()
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session.create()
        keys.append(present(session.session_key))
    return keys


def test_a_new_session_is_linked_to_its_person_before_the_first_page(
    alice: User, olive: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "record_device", lambda *_: None)
    client = Client(headers={"host": "localhost"})
    client.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    key = client.session.session_key
    assert Device.objects.get(user=alice).session_key == key
    erase([alice])
    assert not Session.objects.filter(pk=key).exists()


def test_nobody_is_signed_in_if_the_session_cannot_be_linked_to_its_person(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(Device.objects, "bulk_create", fail)
    client = Client(headers={"host": "localhost"}, raise_request_exception=False)
    answer = client.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    assert answer.status_code == 500
    assert not Session.objects.exists()


def test_the_session_after_a_password_change_is_linked_to_its_person(
    alice: User, alices: Client
) -> None:
    before = Device.objects.get(user=alice).session_key
    alices.post(
        "/accounts/password/change/",
        {"oldpassword": PASSWORD, "password1": "four wild geese", "password2": "four wild geese"},
    )
    assert Device.objects.get(user=alice).session_key == alices.session.session_key != before


def test_a_session_waiting_for_the_second_factor_is_no_device_but_is_erased(
    alice: User, alices: Client, olive: User
) -> None:
    set_up(confirm_password(alices))
    key = enter_password("alice").session.session_key
    assert [device.session_key for device in alice.devices.living()] == [alices.session.session_key]
    erase([alice])
    assert not Session.objects.filter(pk=key).exists()


def test_a_session_of_a_deleted_account_belongs_to_nobody(alice: User, alices: Client) -> None:
    key = present(alices.session.session_key)
    User.objects.filter(pk=alice.pk).delete()
    session = SessionStore(key)
    assert idle_sessions.extend_session(session)
    session.save()
    assert not Device.objects.exists()
    assert alices.get("/").status_code == 302


def test_the_cost_of_signing_out_does_not_depend_on_others(
    alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def statements() -> list[str]:
        create_sessions(alice, 2)
        with CaptureQueriesContext(connection) as queries:
            assert alice.devices.all().sign_out() == 2
        return [query["sql"].split()[0] for query in queries]

    decoded: list[str] = []
    decode = Session.get_decoded

    def count_and_decode(session: Session) -> dict[str, Any]:
        decoded.append(session.pk)
        return decode(session)

    monkeypatch.setattr(Session, "get_decoded", count_and_decode)
    alone = statements()
    bobs = create_sessions(bob, 200)
    assert statements() == alone
    assert len(decoded) == 4
    assert Session.objects.filter(pk__in=bobs).count() == 200


def test_a_persons_sessions_are_found_by_indexes(alice: User) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only for SQLite's planner, which uses no statistics here")
    theirs = Session.objects.filter(pk__in=alice.devices.values("session_key"))
    plans = [theirs.explain(), alice.devices.living().explain()]
    assert all("SCAN" not in plan for plan in plans), plans
    assert all("SEARCH" in plan for plan in plans)


def test_overlong_sessions_are_found_by_an_index(alice: User) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only for SQLite's planner, which uses no statistics here")
    create_sessions(alice, 1)
    with CaptureQueriesContext(connection) as queries:
        idle_sessions.shorten_sessions()
    [update] = [query["sql"] for query in queries]
    with connection.cursor() as cursor:
        plan = str(cursor.execute(f"EXPLAIN QUERY PLAN {update}").fetchall())
    assert "SEARCH django_session USING INDEX" in plan


def test_sessions_from_before_the_upgrade_are_found(alice: User, bob: User, olive: User) -> None:
    [mine], [bobs] = create_sessions(alice, 1), create_sessions(bob, 1)
    set_up(confirm_password(alices := signed_in(alice)))
    begun = enter_password("alice").session.session_key
    keys = {mine, begun, alices.session.session_key}
    Device.objects.exclude(user=bob).delete()
    MIGRATION.find_sessions(apps, None)
    assert set(alice.devices.values_list("session_key", flat=True)) == keys
    assert alice.devices.filter(is_signed_in=False).get().session_key == begun
    assert bob.devices.get().session_key == bobs
    erase([alice])
    assert not Session.objects.filter(pk__in=keys).exists()


def test_a_page_loads_even_if_a_locked_database_prevents_renewing_the_session(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_locked(*_: object, **_named: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(Device.objects, "bulk_create", raise_locked)
    assert alices.get("/help/").status_code == 200
    assert idle_sessions.USED_AT not in alices.session
    monkeypatch.undo()
    assert alices.get("/help/").status_code == 200
    assert idle_sessions.USED_AT in alices.session
