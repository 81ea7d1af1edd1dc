"""Losing access closes a person's sockets, and ends their replies once nobody may read them."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from chatapp.close_codes import CloseCode
from chatapp.models import Message, User
from chatapp.realtime.worker import revocation, worker
from chatapp.sessions import validity
from tests.conftest import PASSWORD, signed_in
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role
from tests.support.present import present
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

SOON = 20.0  # seconds: fast enough to be a reaction to the event and not the check of every minute
NEW = "a staple of another battery"

Event = Callable[[User], object]


def gets_a_new_password(alice: User) -> None:
    alice.set_password(NEW)
    alice.save()


def is_deactivated(alice: User) -> None:
    alice.is_active = False
    alice.save(update_fields=["is_active"])


def is_deleted(alice: User) -> None:
    alice.delete()


def loses_all_sessions(alice: User) -> None:
    Session.objects.all().delete()


def flushes_all_sessions(alice: User) -> None:
    for session in Session.objects.all():
        SessionStore(session.session_key).flush()


def lets_sessions_expire(alice: User) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    call_command("clearsessions")


EVENTS: list[tuple[Event, CloseCode]] = [
    (gets_a_new_password, CloseCode.SIGNED_OUT),
    (loses_all_sessions, CloseCode.SIGNED_OUT),
    (flushes_all_sessions, CloseCode.SIGNED_OUT),
    (lets_sessions_expire, CloseCode.SIGNED_OUT),
    (is_deactivated, CloseCode.DEACTIVATED),
    (is_deleted, CloseCode.DEACTIVATED),
]


@pytest.mark.parametrize(("event", "code"), EVENTS, ids=[event.__name__ for event, _ in EVENTS])
async def test_losing_access_closes_the_socket_at_once(
    tab: Tab, alice: User, event: Event, code: CloseCode
) -> None:
    async with Tab(await database_sync_to_async(signed_in)(alice)) as other:
        await database_sync_to_async(event)(alice)
        async with asyncio.timeout(SOON):
            assert await tab.until_closed() == code
            assert await other.until_closed() == code


async def test_no_other_persons_socket_is_closed(
    tab: Tab, alice: User, bobs: Client, upstream: FakeUpstream
) -> None:
    async with Tab(bobs) as bobs_tab:
        await database_sync_to_async(is_deactivated)(alice)
        await tab.until_closed()
        await bobs_tab.ask()
        await bobs_tab.until_ended()


@pytest.mark.parametrize(("only", "is_checked"), [(["last_login"], False), (None, True)])
async def test_other_changes_to_a_person_close_nothing(
    tab: Tab, alice: User, upstream: FakeUpstream, only: list[str] | None, is_checked: bool
) -> None:
    alice.first_name, alice.last_login = "Al", timezone.now()
    await alice.asave(update_fields=only)
    await tab.ask()
    await tab.until_ended()
    assert bool(worker().revocation.requested) == is_checked
    await worker().revocation.until_checked()
    await tab.ask()
    await tab.until_ended()


async def test_a_new_password_ends_all_sessions_but_the_one_that_set_it(
    tab: Tab, alice: User, alices: Client, upstream: FakeUpstream
) -> None:
    elsewhere = await database_sync_to_async(signed_in)(alice)
    async with Tab(elsewhere) as other:
        fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
        answer = await database_sync_to_async(alices.post)("/accounts/password/change/", fields)
        assert answer.status_code == 302
        # It has a new session key: the tab reconnects with the browser's current cookie.
        assert await tab.until_closed() == CloseCode.SIGNED_OUT
        assert await other.until_closed() == CloseCode.SIGNED_OUT
    async with Tab(alices) as again:
        await again.ask()
        await again.until_ended()
        await database_sync_to_async(alices.post)("/accounts/logout/")
        assert await again.until_closed() == CloseCode.SIGNED_OUT
    assert not await Tab(elsewhere).connect()


async def test_changes_without_a_signal_are_found_by_the_next_check_of_everybody(
    tab: Tab, alice: User, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    await User.objects.filter(pk=alice.pk).aupdate(is_active=False)
    monkeypatch.setattr(revocation, "POLL_SECONDS", 0.05)
    with checking_everybody():
        assert await tab.until_closed() == CloseCode.DEACTIVATED
        await request.until_closed()
    await until_saved(reply, "abandoned", "Half of it")


@pytest.mark.parametrize("event", [is_deactivated, is_deleted])
async def test_the_replies_of_a_removed_person_end_even_if_no_tab_shows_them(
    tab: Tab,
    alice: User,
    upstream: FakeUpstream,
    event: Event,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.CHATAPP_CLOSE_GRACE = float("inf")
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    await tab.close(1001)
    await database_sync_to_async(event)(alice)
    async with asyncio.timeout(SOON):
        await request.until_closed()
    if event is is_deactivated:
        await until_saved(reply, "abandoned", "Half of it")
    await worker().until_saved()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_socket_known_to_be_revoked_can_stop_nothing(
    tab: Tab, alice: User, alices: Client, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_DROP_GRACE = settings.CHATAPP_CLOSE_GRACE = 60.0
    async with Tab(await database_sync_to_async(signed_in)(alice)) as other:
        upstream.script(role(), delta("Half of it"), Stall())
        reply = await other.ask()
        await other.until("Half of it")
        request = await upstream.until_requested()
        conversation = str((await Message.objects.aget(pk=reply)).conversation_id)
        await Session.objects.filter(pk=present(alices.session.session_key)).adelete()
        await tab.until_closed()
        await tab.send(action="stop", conversation=conversation)
        assert await tab.hears_nothing(0.2)
        assert request.closed is None
        await other.send(action="stop", conversation=conversation)
        await request.until_closed()


@pytest.mark.parametrize("event", [gets_a_new_password, loses_all_sessions])
@pytest.mark.parametrize("is_connected", [True, False])
async def test_replies_end_within_a_second_once_all_sessions_have_ended(
    tab: Tab,
    alice: User,
    upstream: FakeUpstream,
    settings: Settings,
    event: Event,
    is_connected: bool,
) -> None:
    """Even if their tab was lost a moment ago, so that its grace would still be running."""
    settings.CHATAPP_DROP_GRACE = settings.CHATAPP_CLOSE_GRACE = 60.0
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    if not is_connected:
        await tab.close(1006)
    await database_sync_to_async(event)(alice)
    async with asyncio.timeout(SOON):
        await request.until_closed()
    await until_saved(reply, "abandoned", "Half of it")


async def test_a_reply_of_an_ended_session_continues_while_another_session_shows_it(
    tab: Tab, alice: User, alices: Client, upstream: FakeUpstream, settings: Settings
) -> None:
    """As long as it is shown there, and not for the grace of the tab that sent the prompt."""
    settings.CHATAPP_DROP_GRACE, settings.CHATAPP_CLOSE_GRACE = 60.0, 0.0
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    conversation = str((await Message.objects.aget(pk=reply)).conversation_id)
    async with Tab(
        await database_sync_to_async(signed_in)(alice), conversation=conversation
    ) as other:
        await other.until("Half of it")
        await tab.close(1006)
        await Session.objects.filter(pk=present(alices.session.session_key)).adelete()
        await until_checked()
        assert request.closed is None
        await other.close(1001)
        await request.until_closed()
    await until_saved(reply, "abandoned", "Half of it")


async def test_an_unwatched_reply_of_an_ended_session_ends_despite_other_sessions(
    tab: Tab, alice: User, alices: Client, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_DROP_GRACE = 60.0
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    await tab.close(1006)
    other = await database_sync_to_async(signed_in)(alice)
    await database_sync_to_async(other.get)("/help/")
    await Session.objects.filter(pk=present(alices.session.session_key)).adelete()
    async with asyncio.timeout(SOON):
        await request.until_closed()
    await until_saved(reply, "abandoned", "Half of it")


async def test_a_session_that_ends_while_its_socket_opens_is_noticed(
    alice: User, alices: Client, generations_end: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = validity.get_person

    def look_and_lose(session_key: str) -> User:
        user = look(session_key)
        Session.objects.all().delete()
        return user

    # so that a process serves this person
    async with Tab(await database_sync_to_async(signed_in)(alice)):
        monkeypatch.setattr(validity, "get_person", look_and_lose)
        tab = Tab(alices)
        assert await tab.connect()
        assert await tab.until_closed() == CloseCode.SIGNED_OUT


async def test_an_action_on_an_ended_session_is_answered_and_closes_the_socket(
    tab: Tab, alice: User
) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(password="another")
    await tab.send(action="prompt", message="Hello")
    assert "signed out" in await tab.until('id="problem"')
    assert await tab.until_closed() == CloseCode.SIGNED_OUT


async def test_the_check_is_retried_while_the_database_is_unavailable(
    tab: Tab, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, tried = validity.check_access, asyncio.Event()
    loop = asyncio.get_running_loop()

    def fail(*_: object) -> None:
        loop.call_soon_threadsafe(tried.set)
        raise OperationalError("away")

    monkeypatch.setattr(revocation, "TRY_AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(validity, "check_access", fail)
    await database_sync_to_async(is_deactivated)(alice)
    await tried.wait()
    monkeypatch.setattr(validity, "check_access", look)
    assert await tab.until_closed() == CloseCode.DEACTIVATED


# What a check finds


def test_many_sessions_are_checked_in_two_queries(
    alice: User, bob: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user_ids = {present(signed_in(alice).session.session_key): alice.pk for _ in range(100)}
    user_ids |= {present(signed_in(bob).session.session_key): bob.pk for _ in range(100)}
    gets_a_new_password(bob)
    with django_assert_num_queries(2):
        seen = validity.check_access((), user_ids)
    assert seen.missing_people == set()
    assert seen.ended_sessions == {key for key, user in user_ids.items() if user == bob.pk}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({SESSION_KEY: "999"}, False),
        ({SESSION_KEY: None}, False),
        ({HASH_SESSION_KEY: "another"}, False),
        ({HASH_SESSION_KEY: ""}, False),
        ({BACKEND_SESSION_KEY: "another.backend"}, False),
    ],
)
def test_a_session_is_judged_as_django_does(
    alice: User, changes: dict[str, object], holds: bool
) -> None:
    client = signed_in(alice)
    session = client.session
    session.update(changes)
    session.save()
    key = present(session.session_key)
    assert (key not in validity.check_access((), {key: alice.pk}).ended_sessions) == holds
    assert (client.get("/").status_code == 200) == holds


def test_a_session_outlives_a_rotation_of_the_secret_key(alice: User, settings: Settings) -> None:
    client = signed_in(alice)
    key = present(client.session.session_key)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a new one"
    assert validity.check_access((), {key: alice.pk}).ended_sessions == set()
    assert validity.get_person(key) == alice
    assert Session.objects.filter(pk=key).exists()


async def until_checked() -> None:
    """Wait for the check that a change has just requested."""
    async with asyncio.timeout(SOON):
        while not worker().revocation.requested:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.01)
    await worker().revocation.until_checked()


@contextmanager
def checking_everybody() -> Iterator[None]:
    """Check everybody regularly, as a process does from its start."""
    checking = asyncio.get_running_loop().create_task(worker().revocation.run())
    with suppress(asyncio.CancelledError):
        yield
    checking.cancel()


async def until_saved(reply: UUID, ending: str, content: str) -> None:
    """Wait until the reply's task has saved it."""
    await worker().until_saved()
    message = await Message.objects.aget(pk=reply)
    assert (message.ending, message.content) == (ending, content)
