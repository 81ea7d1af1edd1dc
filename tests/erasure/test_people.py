"""Erasing a person removes all of their data, and nobody else's."""

import asyncio
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from threading import Timer
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core import serializers
from django.db import connection, transaction
from django.test import Client

from chatapp.close_codes import CloseCode
from chatapp.erasure.people import LastAdministrator, erase
from chatapp.models import (
    Attachment,
    AuditEvent,
    Conversation,
    Message,
    ReplyImage,
    Upstream,
    Usage,
    User,
)
from chatapp.models.files import abandoned, storage
from chatapp.models.retention import vacuuming
from chatapp.models.retention.vacuuming import vacuum_erased
from chatapp.realtime.worker import worker
from chatapp.realtime.worker.housekeeping import clean_up
from chatapp.rendering import pool
from chatapp.upstream.wire.reply import Ending
from tests.conftest import PASSWORD, confirm_password
from tests.support.attaching import attach_file, stored_names
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role
from tests.support.present import present
from tests.support.stored import (
    MODEL,
    begin_turn,
    build_reply,
    end,
    store_turn,
    wait_until_somebody_waits,
)
from tests.support.tab import Tab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("disk")]

CANARY = "canarybird"


@pytest.fixture
def carol(saved_upstream: Upstream) -> User:
    carol = User.objects.create_user(
        f"carol-{CANARY}", email=f"{CANARY}@x.test", password=PASSWORD, last_name=CANARY
    )
    carol.groups.add(Group.objects.create(name="readers"))
    write(carol, saved_upstream, CANARY)
    return carol


def write(person: User, upstream: Upstream, word: str) -> Conversation:
    """Create a conversation with two branches and an image, with the word everywhere."""
    conversation = person.conversations.create(title=f"Of {word}")
    prompt, first = conversation.ask(uuid4(), f"ask {word}", None, upstream, MODEL, uuid4())
    end(first, build_reply(f"answer {word}", f"thought {word}"))
    other = conversation.answer(prompt, upstream, MODEL, uuid4())
    end(other, build_reply(f"other {word}"), Ending.STOPPED)
    image = b"GIF89a" + word.encode()
    ReplyImage.objects.create(message=first, position=0, media_type="image/gif", data=image)
    ReplyImage.objects.move_one_to_storage()
    store_turn(conversation, upstream, f"then {word}", first)
    attach_file(prompt, f"{word}.txt", f"text of {word}".encode())
    attach_file(prompt, f"{word}.png", f"image of {word}".encode())
    return conversation


def everything() -> str:
    """Return the content of all tables, with sessions and images decoded."""
    models = apps.get_models(include_auto_created=True)
    rows = [serializers.serialize("json", model._default_manager.all()) for model in models]
    images = [storage.read(name).decode("latin-1") for name in stored_names()]
    sessions = [str(session.get_decoded()) for session in Session.objects.all()]
    return "\n".join([*rows, *images, *sessions])


def sign_in(name: str) -> Client:
    client = Client(headers={"host": "localhost"})
    answer = client.post("/accounts/login/", {"login": name, "password": PASSWORD})
    assert answer.status_code == 302
    return client


@pytest.mark.django_db(transaction=True)
def test_no_table_keeps_a_word_of_an_erased_person(
    carol: User, olive: User, alice: User, saved_upstream: Upstream
) -> None:
    write(alice, saved_upstream, "sparrow")
    sign_in(carol.username)
    olives = sign_in("olive")
    confirm_password(olives)
    olives.post(f"/people/{carol.pk}/name/", {"username": carol.username, "first_name": "C"})
    assert everything().count(CANARY) > 10
    before = everything().count("sparrow")
    assert "was deleted" in olives.post(f"/people/{carol.pk}/delete/").text
    assert CANARY not in everything()
    assert everything().count("sparrow") == before


ADMIN_HISTORY = """
    CREATE TABLE django_admin_log (
        id integer PRIMARY KEY,
        object_repr varchar(200) NOT NULL,
        user_id bigint NOT NULL REFERENCES chatapp_user (id) DEFERRABLE INITIALLY DEFERRED
    )
"""


def test_the_history_of_the_former_admin_site_goes_with_the_first_person(
    carol: User, olive: User
) -> None:
    """Versions up to 0.5.0 made this table."""
    with connection.cursor() as cursor:
        cursor.execute(ADMIN_HISTORY)
        cursor.execute(
            "INSERT INTO django_admin_log VALUES (1, %s, %s)", [carol.username, carol.pk]
        )
        erase([carol], olive)
        connection.check_constraints()
        cursor.execute("SELECT count(*) FROM django_admin_log")
        assert cursor.fetchone() == (0,)


def test_nobody_is_erased_if_no_administrator_would_be_left(olive: User, carol: User) -> None:
    before = everything()
    with pytest.raises(LastAdministrator):
        erase([carol, olive])
    assert everything() == before


@pytest.mark.django_db(transaction=True)
def test_the_content_of_files_goes_with_the_person_unless_others_have_it(
    carol: User, alice: User, saved_upstream: Upstream
) -> None:
    prompt, _ = store_turn(alice.conversations.create(), saved_upstream, "Read")
    hers = Attachment.objects.get(user=carol, name=f"{CANARY}.txt")
    fields = {"name": "copy.txt", "size": hers.size, "state": "ready", "file": hers.file}
    Attachment.objects.create(user=alice, message=prompt, **fields)
    stopped = Attachment.objects.create(user=carol, name="draft.txt", size=9, received=5)
    storage.write(stopped.part_name(0), BytesIO(CANARY.encode()))
    unsent = attach_file(prompt, "draft.txt", f"unsent {CANARY}".encode())
    Attachment.objects.filter(pk=unsent.pk).update(user=carol, message=None)
    [report] = erase([carol])
    assert (report.files, report.files_left, report.rows["chatapp.Attachment"]) == (4, 0, 4)
    assert "contents of files: 4" in report.sentence
    [remaining_attachment] = Attachment.objects.all()
    assert remaining_attachment.file
    assert stored_names() == {remaining_attachment.file.name}
    assert remaining_attachment.file.read() == f"text of {CANARY}".encode()


@pytest.mark.django_db(transaction=True)
def test_an_erasure_says_what_a_failing_storage_still_has_and_it_is_deleted_later(
    carol: User, olive: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise OSError("read-only")

    with monkeypatch.context() as broken:
        broken.setattr(storage, "delete", fail)
        [report] = erase([carol], olive)
    assert (report.files, report.files_left) == (4, 4)
    detail = AuditEvent.objects.get(action="person.erased").detail.values
    assert (detail["files"], detail["files_left"]) == (4, 4)
    assert len(stored_names()) == 4
    monkeypatch.setattr(abandoned, "ABANDONED", timedelta(0))
    clean_up()
    assert not stored_names()


async def test_erasing_ends_running_replies_and_closes_tabs(
    tab: Tab, alice: User, olive: User, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta(f"Half a {CANARY}"), Stall())
    await tab.ask(f"Where is the {CANARY}?")
    request = await upstream.until_requested()
    await tab.until("Half a")
    await sync_to_async(erase)([alice])
    assert await tab.until_closed() == CloseCode.DEACTIVATED
    assert (await request.until_closed()).was_streaming
    await worker().until_saved()
    assert CANARY not in await sync_to_async(everything)()


async def test_the_usage_of_a_running_reply_is_booked_without_the_person(
    tab: Tab, alice: User, olive: User, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half an answer"), Stall())
    reply = await tab.ask("Where?")
    await tab.until("Half an answer")
    await sync_to_async(erase)([alice])
    await worker().until_saved()
    booked = await Usage.objects.aget()
    assert (booked.pk, booked.user_id, booked.upstream_name) == (reply, None, "Fake")
    assert present(booked.total_tokens) > 0


async def test_no_rendered_text_is_kept_in_memory(
    tab: Tab, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten = asyncio.Event()
    monkeypatch.setattr(pool, "forget", forgotten.set)
    await sync_to_async(erase)([alice])
    async with asyncio.timeout(10):
        await forgotten.wait()


def test_an_erasure_that_failed_midway_can_be_repeated(
    carol: User, olive: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ArithmeticError

    with monkeypatch.context() as patched:
        patched.setattr(User, "delete", fail)
        with pytest.raises(ArithmeticError):
            erase([carol])
    carol.refresh_from_db()
    assert not carol.is_active
    erase([carol])
    assert CANARY not in everything()


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_ten_thousand_messages_go_in_short_transactions(
    alice: User, olive: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = alice.conversations.create(title="Long")
    messages = [Message(conversation=conversation, role="assistant") for _ in range(10_000)]
    Message.objects.bulk_create(messages)
    Usage.objects.bulk_create(Usage(message=message, provenance="unknown") for message in messages)
    steps: list[int] = []
    erase_some = Conversation.erase_newest

    def erase_and_count(self: Conversation) -> Counter[str]:
        assert not connection.in_atomic_block
        rows = erase_some(self)
        steps.append(rows["chatapp.Message"])
        return rows

    monkeypatch.setattr(Conversation, "erase_newest", erase_and_count)
    erase([alice])
    assert steps == [500] * 20 + [0]
    assert Usage.objects.filter(user=None).count() == 10_000


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("goes_with", ["its conversation", "the account"])
def test_erasing_waits_for_a_reply_that_is_being_saved(
    carol: User,
    olive: User,
    saved_upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
    goes_with: str,
) -> None:
    def erase_carol() -> None:
        try:
            erase([carol])
        finally:
            connection.close()

    if goes_with == "the account":  # as if the reply began after the conversations were deleted
        monkeypatch.setattr(Conversation, "erase", lambda *_, **__: Counter())
    conversation = carol.conversations.get()
    _, reply = begin_turn(conversation, saved_upstream, f"late {CANARY}")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Message.objects.select_for_update().get(
                pk=reply.pk
            )  # saving a reply locks its row first
            done = pool.submit(erase_carol)
            wait_until_somebody_waits()
            end(reply, build_reply(f"late {CANARY}"))
        done.result()
    assert CANARY not in everything()


def words_in_files() -> int:
    """Count the word in SQLite's files."""
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite has these files")
    path = Path(connection.settings_dict["NAME"])
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.read_bytes().count(CANARY.encode()) for file in files)


@pytest.mark.django_db(transaction=True)
def test_no_word_is_left_in_sqlites_files(carol: User, olive: User) -> None:
    assert words_in_files()
    [report] = erase([carol])
    assert "with the next housekeeping" in report.disposal_notice
    clean_up()
    assert not words_in_files()


@pytest.mark.django_db(transaction=True)
def test_the_vacuum_waits_for_a_reader(carol: User, olive: User) -> None:
    assert words_in_files()
    erase([carol])
    with closing(read_on()) as reader:
        end = Timer(0.1, reader.rollback)
        end.start()
        vacuum_erased(connection)
        end.join()
    assert not words_in_files()


@pytest.mark.django_db(transaction=True)
def test_a_vacuum_that_a_reader_blocked_is_repeated_later(
    carol: User, olive: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vacuuming, "READER_SECONDS", 0.1)
    assert words_in_files()
    with closing(read_on()):
        erase([carol])
        clean_up()
        assert words_in_files()
    clean_up()
    assert not words_in_files()


def read_on() -> sqlite3.Connection:
    """Return a connection that reads until it rolls back."""
    reader = sqlite3.connect(connection.settings_dict["NAME"], check_same_thread=False)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM chatapp_message").fetchone()
    return reader


@pytest.mark.django_db(transaction=True)
def test_a_running_server_does_not_vacuum_a_large_file(
    carol: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words_in_files()
    monkeypatch.setattr(vacuuming, "MAX_WHILE_SERVING", 4096)
    [report] = erase([carol])
    assert "manage.py housekeeping`" in report.disposal_notice
    assert not vacuum_erased(connection, is_serving=True)
    assert vacuum_erased(connection)
    assert not words_in_files()
    assert not vacuum_erased(connection)
