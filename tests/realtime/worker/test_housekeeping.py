"""The cleanup deletes expired data in steps, every hour and on request."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from threading import Event
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from chatapp.db.connections import unpooled_connection
from chatapp.erasure.people import erase
from chatapp.models import Conversation, Message, Upstream, User, audit
from chatapp.models.conversations.chats.erasable import ERASED_AT_ONCE
from chatapp.models.retention.vacuuming import stop_vacuum, vacuum_erased
from chatapp.realtime.worker import housekeeping
from chatapp.realtime.worker.housekeeping import Housekeeping, clean_up
from tests.support.stored import new_conversation, store_turn

pytestmark = pytest.mark.django_db

WAIT = 10


@pytest.mark.django_db(transaction=True)
def test_a_long_conversation_is_deleted_in_steps(
    alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = new_conversation(alice)
    _, reply = store_turn(conversation, saved_upstream, "One?")
    Message.objects.bulk_create(
        Message(id=uuid4(), conversation=conversation, parent=reply, role="user", content="More")
        for _ in range(ERASED_AT_ONCE)
    )
    old = timezone.now() - timedelta(days=31)
    Conversation.objects.filter(pk=conversation.pk).update(trashed_at=old)
    assert clean_up() == 3  # two batches of messages, and the conversation
    assert not Conversation.objects.exists()
    assert clean_up() == 0


@pytest.mark.django_db(transaction=True)
def test_only_messages_deleted_long_ago_are_purged(alice: User, saved_upstream: Upstream) -> None:
    conversation = new_conversation(alice)
    first, _ = store_turn(conversation, saved_upstream, "One?")
    second, _ = store_turn(conversation, saved_upstream, "Two?")
    for prompt, days in ((first, 31), (second, 29)):
        gone = Message.objects.filter(pk=prompt.pk) | Message.objects.filter(parent=prompt)
        gone.update(deleted_at=timezone.now() - timedelta(days=days))
    assert clean_up() == 1
    assert not Message.objects.filter(pk=first.pk).exists()
    assert Message.objects.filter(pk=second.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_the_audit_logs_head_is_logged(olive: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger=housekeeping.__name__)
    clean_up()
    assert not caplog.messages  # nothing for an empty audit log
    with transaction.atomic():
        event = audit.record("backup.made", actor=olive)
    assert clean_up() == 0
    assert caplog.messages == [f"The audit log ends with 1:{event.link}"]


async def test_the_cleanup_runs_periodically(
    alice: User, connections_close: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = asyncio.Queue[None]()
    loop = asyncio.get_running_loop()

    def step() -> bool:
        loop.call_soon_threadsafe(times.put_nowait, None)
        return False

    assert housekeeping.EVERY_SECONDS == 3600
    monkeypatch.setattr(housekeeping, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(housekeeping, "STEPS", (step,))
    running = asyncio.create_task(Housekeeping(lambda *_: None).run())
    async with asyncio.timeout(WAIT):
        for _ in range(3):
            await times.get()
    running.cancel()
    await asyncio.wait([running])


async def test_the_cleanup_runs_on_request(
    alice: User, connections_close: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = asyncio.Queue[None]()

    def step() -> bool:
        loop.call_soon_threadsafe(steps.put_nowait, None)
        return False

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(housekeeping, "STEPS", (step,))
    housekeeper = Housekeeping(lambda *_: None)
    running = asyncio.create_task(housekeeper.run())
    async with asyncio.timeout(WAIT):
        await steps.get()
        housekeeper.wake()
        await steps.get()
    running.cancel()


async def test_the_database_is_vacuumed_once_after_an_erasure(
    alice: User, olive: User, connections_close: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = asyncio.Queue[bool]()

    def vacuum(session: BaseDatabaseWrapper, *, is_serving: bool) -> bool:
        was_wanted = vacuum_erased(session, is_serving=is_serving)
        loop.call_soon_threadsafe(done.put_nowait, was_wanted)
        return was_wanted

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(housekeeping, "vacuum_erased", vacuum)
    await sync_to_async(erase)([alice])
    housekeeper = Housekeeping(lambda *_: None)
    running = asyncio.create_task(housekeeper.run())
    async with asyncio.timeout(10 * WAIT):
        assert await done.get()
        housekeeper.wake()
        assert not await done.get()
    running.cancel()


@pytest.mark.django_db(transaction=True)
def test_stopping_a_vacuum_ends_it_at_once() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's driver does it")
    session = unpooled_connection(settings.DATABASES)
    session.inc_thread_sharing()
    session.ensure_connection()
    runs = Event()
    session.connection.set_progress_handler(runs.set, 1000)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT max(x) FROM n"
    with ThreadPoolExecutor() as pool, closing(session):
        working = pool.submit(lambda: session.cursor().execute(endless))
        assert runs.wait(WAIT)
        stop_vacuum(session)
        with pytest.raises(OperationalError, match="interrupted"):
            working.result(WAIT)


@pytest.mark.django_db(transaction=True)
def test_a_vacuum_that_has_just_ended_need_not_be_stopped() -> None:
    session = unpooled_connection(settings.DATABASES)
    session.ensure_connection()
    session.connection.close()
    stop_vacuum(session)
