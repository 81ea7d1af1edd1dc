"""Index entries are made soon after their message, follow its changes, and are deleted with it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.db.connections import empty_write_ahead_log
from chatapp.erasure.people import erase
from chatapp.models import Conversation, Message, SearchEntry, Upstream, User, index_some, reindex
from chatapp.models.retention.vacuuming import vacuum_erased
from chatapp.models.review.judging import await_judging
from chatapp.models.search import full_text, search_entries
from chatapp.models.search.search_entries import MESSAGES_AT_ONCE, first_id, is_any_unindexed
from chatapp.text.indexing import entries
from chatapp.upstream.wire.reply import Ending
from tests.search.conftest import Search, index_all, messages, titles, write_chat
from tests.support.stored import (
    apply_reply,
    begin_turn,
    build_reply,
    end,
    fork_conversation,
    new_conversation,
    store_turn,
    wait_until_somebody_waits,
)

pytestmark = pytest.mark.django_db


def count_indexed_entries() -> int:
    """Return the number of entries in the database's own index."""
    table = "chatapp_words" if connection.vendor == "sqlite" else "chatapp_searchentry"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(words) FROM {table}")  # noqa: S608 - our own table
        return int(cursor.fetchone()[0])


def test_a_reply_is_indexed_when_it_ends_and_not_at_checkpoints(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = new_conversation(alice)
    prompt, reply = begin_turn(conversation, saved_upstream, "Of the canary")
    index_all()
    assert messages(search("canary")) == [prompt]
    before = count_indexed_entries()
    Message.objects.checkpoint([apply_reply(reply, build_reply("A canary is"))])
    assert index_some() == 0
    assert count_indexed_entries() == before
    end(reply, build_reply("A canary is a bird"))
    assert index_some() == 1
    assert set(messages(search("canary"))) == {prompt, reply}


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_a_message_is_erased_while_it_is_indexed(
    alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = new_conversation(alice)
    store_turn(conversation, saved_upstream, "Of the canary")
    problems: list[DatabaseError] = []

    def erase_it() -> None:
        try:
            conversation.erase()
        except DatabaseError as problem:
            problems.append(problem)
        finally:
            connection.close()

    erasing = Thread(target=erase_it)

    def await_judging_meanwhile(indexed_messages: list[Message]) -> None:
        erasing.start()
        wait_until_somebody_waits()
        await_judging(indexed_messages)

    monkeypatch.setattr(search_entries, "await_judging", await_judging_meanwhile)
    index_some()
    erasing.join()
    assert problems == []
    assert not SearchEntry.objects.exists()


def test_an_interrupted_reply_is_indexed_and_again_when_it_is_saved_whole(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    _, reply = begin_turn(new_conversation(alice), saved_upstream, "A question")
    Message.objects.checkpoint([apply_reply(reply, build_reply("Half a canary"))])
    Message.objects.interrupt_orphans()
    index_all()
    assert messages(search("canary")) == [reply]
    stored = Message.objects.get(pk=reply.pk)
    end(stored, build_reply("Half a nightingale"), Ending.COMPLETE)
    index_all()
    assert not search("canary").conversations
    assert messages(search("nightingale")) == [reply]


def test_few_long_messages_fill_a_portion(
    alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_entries, "CHARACTERS_AT_ONCE", 10)
    for number in range(2):
        begin_turn(new_conversation(alice), saved_upstream, f"Of the canary {number}")
    index_some()  # and titles
    assert is_any_unindexed()
    assert index_some() == 1
    assert not is_any_unindexed()


@pytest.mark.django_db(transaction=True)
def test_making_the_words_of_a_text_does_not_lock_the_database(
    alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite has one writer at a time")
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=0, uri=True)

    def build_entries(text: str) -> Iterator[list[str]]:
        if "canary" in text:  # not for the short title
            with closing(other.cursor()) as cursor:
                cursor.execute("BEGIN IMMEDIATE")  # fails if somebody is writing
                cursor.execute("ROLLBACK")
        yield from entries(text)

    store_turn(new_conversation(alice), saved_upstream, "Of the canary")
    monkeypatch.setattr(search_entries, "entries", build_entries)
    with closing(other):
        assert search_entries.index_some()


def test_a_message_saved_while_it_is_indexed_is_found_as_saved(
    search: Search, alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt, _ = begin_turn(new_conversation(alice), saved_upstream, "Of the canary")
    deleted, _ = begin_turn(new_conversation(alice), saved_upstream, "Of the sparrow")

    def build_entries(text: str) -> Iterator[list[str]]:
        if "canary" in text:
            Message.objects.filter(pk=prompt.pk).update(content="Of the nightingale")
            Message.objects.filter(pk=deleted.pk).delete()
        yield from entries(text)

    monkeypatch.setattr(search_entries, "entries", build_entries)
    index_all()
    assert not search("canary").conversations
    assert not search("sparrow").conversations
    assert messages(search("nightingale")) == [prompt]


def test_a_fork_is_found_without_its_original(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = write_chat(alice, saved_upstream, "Sky", "Of the canary")
    fork = fork_conversation(alice, conversation.messages.latest("sequence").pk)
    index_all()
    conversation.erase()
    assert [group.conversation for group in search("canary").conversations] == [fork]


def test_only_the_new_title_is_found(search: Search, alice: User, saved_upstream: Upstream) -> None:
    conversation = write_chat(alice, saved_upstream, "Canary", "A question")
    conversation.rename("Nightingale")
    assert titles(search("canary")) == ["Nightingale"]  # until the index is updated
    index_all()
    assert not search("canary").conversations
    assert titles(search("nightingale")) == ["Nightingale"]
    assert index_some() == 0


def test_a_temporary_conversation_has_no_entries_unless_it_is_kept(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = new_conversation(alice, "Canary")
    conversation.is_temporary = True
    store_turn(conversation, saved_upstream, "Of the canary")
    index_all()
    assert count_indexed_entries() == 0
    Conversation.objects.update(is_temporary=False)
    index_all()
    assert len(messages(search("canary"))) == 2


def test_deleting_a_conversation_deletes_its_entries(alice: User, saved_upstream: Upstream) -> None:
    first = write_chat(alice, saved_upstream, "One", "Of the canary")
    write_chat(alice, saved_upstream, "Two", "Of the canary")
    assert count_indexed_entries() == SearchEntry.objects.count() == 6
    first.messages.filter(role="assistant").delete()
    assert count_indexed_entries() == 5
    first.erase()
    assert count_indexed_entries() == SearchEntry.objects.count() == 3
    erase([alice])
    assert count_indexed_entries() == SearchEntry.objects.count() == 0


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_erasing_a_person_leaves_none_of_their_words_in_the_sqlite_file(
    alice: User, bob: User, olive: User
) -> None:
    """Without a vacuum, the full-text index keeps deleted words until it is rewritten.

    Pages also keep remains of rows that were moved to other pages by an insertion in between.
    """
    if connection.vendor != "sqlite":
        pytest.skip("concerns SQLite's files")
    canary = f"canary{uuid4().hex}"  # unique, because other tests' words stay in the file
    for number in range(150):
        for person, word in ((alice, canary), (bob, "sparrow")):
            conversation = person.conversations.create(title="Imported")
            conversation.messages.create(
                role="user",
                content=f"Of the {word} {number} {'of many words ' * (number * 29 % 83)}",
                created_at=timezone.now() - timedelta(days=number * 7919 % 997),
            )
            index_some()
    path = Path(connection.settings_dict["NAME"])

    def is_left() -> bool:
        empty_write_ahead_log(connection)
        return canary.encode() in path.read_bytes()

    erase([alice])
    assert is_left()
    vacuum_erased(connection)
    assert not is_left()
    assert count_indexed_entries() == 300


def test_reindexing_rebuilds_everything_and_reports_progress(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    for number in range(40):
        write_chat(alice, saved_upstream, f"Chat {number}", f"Of canary {number}")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM chatapp_searchentry")
    assert not search("canary").conversations
    progress = list(reindex())
    assert progress[-1] == (120, 120)
    assert len(progress) > 2
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert count_indexed_entries() == 120
    assert messages(search("29"))
    list(reindex())
    assert count_indexed_entries() == SearchEntry.objects.count() == 120


def test_older_messages_without_entries_are_indexed_newest_first(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    now = timezone.now()
    for number in range(MESSAGES_AT_ONCE + 10):
        conversation = new_conversation(alice)
        prompt, _ = begin_turn(conversation, saved_upstream, f"Of canary {number}")
        Message.objects.filter(pk=prompt.pk).update(created_at=now - timedelta(days=number))
    assert index_some() == MESSAGES_AT_ONCE + (MESSAGES_AT_ONCE + 10)  # and titles
    oldest = f"canary {MESSAGES_AT_ONCE + 9}"
    assert messages(search("canary 0"))
    assert not messages(search(oldest))
    assert index_some() == 10
    assert messages(search(oldest))


def test_many_messages_of_the_same_second_have_an_entry_each(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = alice.conversations.create(title="Imported")
    at = timezone.now()
    Message.objects.bulk_create(
        Message(conversation=conversation, role="user", content=f"canary {number}", created_at=at)
        for number in range(1500)
    )
    with CaptureQueriesContext(connection) as queries:
        index_all()
    assert len(queries) < 1500
    entries = SearchEntry.objects.filter(message__isnull=False)
    assert entries.count() == 1500
    numbers = entries.order_by("pk").values_list("pk", flat=True)
    assert first_id(at) <= numbers[0]
    assert numbers[1499] < first_id(at + timedelta(seconds=4))
    assert search("canary").older


def test_a_very_long_message_is_found_by_its_last_word(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    text = " ".join(f"word{number}" for number in range(20_000)) + " " + "東京" * 20_000 + " zebra"
    conversation = new_conversation(alice)
    prompt, _ = begin_turn(conversation, saved_upstream, text)
    index_all()
    assert messages(search("zebra")) == [prompt]
    assert SearchEntry.objects.filter(message=prompt).count() > 5
    full_text.clear_deleted(connection)
    assert messages(search("word19999")) == [prompt]
