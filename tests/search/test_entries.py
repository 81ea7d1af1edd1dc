"""Entries come soon after what they are of, follow what becomes of it, and go along with it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.accounts.erasing import erase
from chatapp.indexing import entries
from chatapp.models import (
    Conversation,
    Message,
    SearchEntry,
    Upstream,
    User,
    full_text,
    index_some,
    reindex,
    search_entries,
)
from chatapp.models.connections import empty_write_ahead_log
from chatapp.models.search_entries import MESSAGES_AT_ONCE, first_id
from chatapp.models.vacuuming import vacuum_erased
from chatapp.upstream.wire.reply import Ending
from tests.search.conftest import Search, index_all, messages, titles, written
from tests.support.stored import answered, asked, end, forked, growing, reply_of, started_by

pytestmark = pytest.mark.django_db


def words_kept() -> int:
    """How many entries the database's own index has."""
    table = "chatapp_words" if connection.vendor == "sqlite" else "chatapp_searchentry"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(words) FROM {table}")  # noqa: S608 - our own
        return int(cursor.fetchone()[0])


def test_a_reply_is_found_when_it_has_ended_and_no_checkpoint_touches_the_index(
    search: Search, alice: User, connected: Upstream
) -> None:
    conversation = started_by(alice)
    prompt, reply = asked(conversation, connected, "Of the canary")
    index_all()
    assert messages(search("canary")) == [prompt]
    before = words_kept()
    Message.objects.checkpoint([growing(reply, reply_of("A canary is"))])
    assert index_some() == 0
    assert words_kept() == before
    end(reply, reply_of("A canary is a bird"))
    assert index_some() == 1
    assert set(messages(search("canary"))) == {prompt, reply}


def test_what_was_cut_short_is_found_and_again_as_it_was_saved_in_the_end(
    search: Search, alice: User, connected: Upstream
) -> None:
    _, reply = asked(started_by(alice), connected, "A question")
    Message.objects.checkpoint([growing(reply, reply_of("Half a canary"))])
    Message.objects.interrupt_orphans()
    index_all()
    assert messages(search("canary")) == [reply]
    stored = Message.objects.get(pk=reply.pk)
    end(stored, reply_of("Half a nightingale"), Ending.COMPLETE)
    index_all()
    assert not search("canary").found
    assert messages(search("nightingale")) == [reply]


@pytest.mark.django_db(transaction=True)
def test_while_the_words_of_a_text_are_made_all_others_write(
    alice: User, connected: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite has one writer at a time")
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=0, uri=True)

    def entries_of(text: str) -> Iterator[list[str]]:
        if "canary" in text:  # and no title, which is short
            with closing(other.cursor()) as cursor:
                cursor.execute("BEGIN IMMEDIATE")  # which fails where somebody writes
                cursor.execute("ROLLBACK")
        yield from entries(text)

    answered(started_by(alice), connected, "Of the canary")
    monkeypatch.setattr(search_entries, "entries", entries_of)
    with closing(other):
        assert search_entries.index_some()


def test_what_is_saved_while_its_words_are_made_is_found_as_it_was_saved(
    search: Search, alice: User, connected: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt, _ = asked(started_by(alice), connected, "Of the canary")
    deleted, _ = asked(started_by(alice), connected, "Of the sparrow")

    def entries_of(text: str) -> Iterator[list[str]]:
        if "canary" in text:
            Message.objects.filter(pk=prompt.pk).update(content="Of the nightingale")
            Message.objects.filter(pk=deleted.pk).delete()
        yield from entries(text)

    monkeypatch.setattr(search_entries, "entries", entries_of)
    index_all()
    assert not search("canary").found
    assert not search("sparrow").found
    assert messages(search("nightingale")) == [prompt]


def test_a_fork_is_found_without_what_it_was_made_of(
    search: Search, alice: User, connected: Upstream
) -> None:
    conversation = written(alice, connected, "Sky", "Of the canary")
    fork = forked(alice, conversation.messages.latest("sequence").pk)
    index_all()
    conversation.erase()
    assert [one.conversation for one in search("canary").found] == [fork]


def test_a_new_title_is_found_and_the_old_one_is_not(
    search: Search, alice: User, connected: Upstream
) -> None:
    conversation = written(alice, connected, "Canary", "A question")
    conversation.rename("Nightingale")
    assert titles(search("canary")) == ["Nightingale"]  # for less than a second
    index_all()
    assert not search("canary").found
    assert titles(search("nightingale")) == ["Nightingale"]
    assert index_some() == 0


def test_what_is_temporary_has_no_entry_unless_it_is_kept(
    search: Search, alice: User, connected: Upstream
) -> None:
    conversation = started_by(alice, "Canary")
    conversation.is_temporary = True
    answered(conversation, connected, "Of the canary")
    index_all()
    assert words_kept() == 0
    Conversation.objects.update(is_temporary=False)
    index_all()
    assert len(messages(search("canary"))) == 2


def test_what_is_deleted_takes_its_entries_along(alice: User, connected: Upstream) -> None:
    first = written(alice, connected, "One", "Of the canary")
    written(alice, connected, "Two", "Of the canary")
    assert words_kept() == SearchEntry.objects.count() == 6
    first.messages.filter(role="assistant").delete()
    assert words_kept() == 5
    first.erase()
    assert words_kept() == SearchEntry.objects.count() == 3
    erase([alice])
    assert words_kept() == SearchEntry.objects.count() == 0


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_who_is_erased_leaves_no_word_in_sqlites_file(alice: User, bob: User, olive: User) -> None:
    """Its index keeps what was deleted until it is written anew, and its pages some of what lay in
    them and moved to others, as it does where something comes between."""
    if connection.vendor != "sqlite":
        pytest.skip("of SQLite's files")
    canary = f"canary{uuid4().hex}"  # other tests' words stay in the file
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
    assert words_kept() == 300


def test_reindexing_makes_all_anew_and_tells_how_far_it_is(
    search: Search, alice: User, connected: Upstream
) -> None:
    for number in range(40):
        written(alice, connected, f"Chat {number}", f"Of canary {number}")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM chatapp_searchentry")
    assert not search("canary").found
    told = list(reindex())
    assert told[-1] == (120, 120)
    assert len(told) > 2
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert words_kept() == 120
    assert messages(search("29"))
    list(reindex())
    assert words_kept() == SearchEntry.objects.count() == 120


def test_those_of_before_there_were_searches_are_indexed_the_newest_first(
    search: Search, alice: User, connected: Upstream
) -> None:
    now = timezone.now()
    for number in range(MESSAGES_AT_ONCE + 10):
        conversation = started_by(alice)
        prompt, _ = asked(conversation, connected, f"Of canary {number}")
        Message.objects.filter(pk=prompt.pk).update(created_at=now - timedelta(days=number))
    assert index_some() == MESSAGES_AT_ONCE + (MESSAGES_AT_ONCE + 10)  # and titles
    oldest = f"canary {MESSAGES_AT_ONCE + 9}"
    assert messages(search("canary 0"))
    assert not messages(search(oldest))
    assert index_some() == 10
    assert messages(search(oldest))


def test_very_many_of_one_second_have_an_entry_each(
    search: Search, alice: User, connected: Upstream
) -> None:
    conversation = alice.conversations.create(title="Imported")
    at = timezone.now()
    Message.objects.bulk_create(
        Message(conversation=conversation, role="user", content=f"canary {number}", created_at=at)
        for number in range(1500)
    )
    with CaptureQueriesContext(connection) as asked:
        index_all()
    assert len(asked) < 1500
    entries = SearchEntry.objects.filter(message__isnull=False)
    assert entries.count() == 1500
    numbers = entries.order_by("pk").values_list("pk", flat=True)
    assert first_id(at) <= numbers[0]
    assert numbers[1499] < first_id(at + timedelta(seconds=4))
    assert search("canary").older


def test_a_very_long_message_is_found_by_its_last_word(
    search: Search, alice: User, connected: Upstream
) -> None:
    text = " ".join(f"word{number}" for number in range(20_000)) + " " + "東京" * 20_000 + " zebra"
    conversation = started_by(alice)
    prompt, _ = asked(conversation, connected, text)
    index_all()
    assert messages(search("zebra")) == [prompt]
    assert SearchEntry.objects.filter(message=prompt).count() > 5
    full_text.clear_deleted(connection)
    assert messages(search("word19999")) == [prompt]
