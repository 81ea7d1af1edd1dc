"""A legal hold protects data from emptying the trash, housekeeping and every other deletion."""

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from chatapp.models import Conversation, LegalHold, Message, Process, Refused, User
from chatapp.models.conversations.chats import temporary
from chatapp.models.conversations.chats.temporary import ABANDONED_AFTER
from chatapp.models.policies.legal_holds import UnderLegalHold
from chatapp.realtime.worker.housekeeping import clean_up

pytestmark = pytest.mark.django_db

LONG_AGO = timedelta(days=31)


def begin_hold(person: User, by: User, conversation: Conversation | None = None) -> LegalHold:
    return LegalHold.begin(person, conversation.pk if conversation else None, "a matter", by)


def create_chat(person: User, title: str, **fields: object) -> Conversation:
    conversation = person.conversations.create(title=title, **fields)
    for _ in range(3):
        Message.objects.create(conversation=conversation, role="user", content=title)
    return conversation


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_all", [True, False])
def test_housekeeping_keeps_held_data_until_the_hold_ends(
    alice: User, bob: User, olive: User, is_all: bool
) -> None:
    expired_at = timezone.now() - LONG_AGO
    trashed_chat = create_chat(alice, "Kept", trashed_at=expired_at)
    deleted = create_chat(alice, "With a deleted message")
    deleted.messages.update(deleted_at=expired_at)
    create_chat(bob, "Gone", trashed_at=expired_at)
    create_chat(bob, "Emptied").messages.update(deleted_at=expired_at)
    holds = (
        [begin_hold(alice, olive)]
        if is_all
        else [begin_hold(alice, olive, conversation) for conversation in (trashed_chat, deleted)]
    )
    clean_up()
    assert set(Conversation.objects.values_list("title", flat=True)) == {
        "Kept",
        "With a deleted message",
        "Emptied",
    }
    assert (trashed_chat.messages.count(), deleted.messages.count()) == (3, 3)
    assert not Message.objects.filter(conversation__user=bob).exists()
    for hold in holds:
        hold.end(olive)
    clean_up()
    assert not Message.objects.exists()
    assert not alice.conversations.filter(title="Kept").exists()


@pytest.mark.django_db(transaction=True)
def test_a_hold_on_one_conversation_does_not_protect_others(alice: User, olive: User) -> None:
    expired_at = timezone.now() - LONG_AGO
    held_chat = create_chat(alice, "Kept", trashed_at=expired_at)
    create_chat(alice, "Gone", trashed_at=expired_at)
    begin_hold(alice, olive, held_chat)
    clean_up()
    assert alice.conversations.get() == held_chat
    with pytest.raises(UnderLegalHold):
        held_chat.erase()
    assert held_chat.messages.count() == 3


def test_a_temporary_conversation_is_kept_until_the_hold_ends(alice: User, olive: User) -> None:
    worker = Process.objects.create(pid=1, place="here", is_alone=False).pk
    conversation = create_chat(alice, "Temporary", is_temporary=True)
    hold = begin_hold(alice, olive)
    temporary.add_hold(conversation.pk, worker)
    assert temporary.release_hold(conversation.pk, worker) is None
    Conversation.objects.update(updated_at=timezone.now() - 2 * ABANDONED_AFTER)
    assert temporary.sweep(worker, []) == []
    assert conversation.messages.count() == 3
    hold.end(olive)
    assert temporary.sweep(worker, []) == [(alice.pk, conversation.pk)]
    assert not Conversation.objects.exists()


def test_plain_deletes_are_blocked_by_a_hold_too(alice: User, olive: User) -> None:
    conversation = create_chat(alice, "Kept")
    hold = begin_hold(alice, olive, conversation)
    for target in (conversation, alice):
        with pytest.raises(UnderLegalHold):
            target.delete()
    hold.end(olive)
    alice.delete()
    assert not LegalHold.objects.exists()


def test_a_hold_covers_the_persons_own_conversation_and_is_set_once(
    alice: User, bob: User, olive: User
) -> None:
    conversation = create_chat(alice, "Alice's")
    for pk in (conversation.pk, uuid4()):
        with pytest.raises(Refused, match="no chat with this ID"):
            LegalHold.begin(bob, pk, "a matter", olive)
    hold = begin_hold(alice, olive, conversation)
    with pytest.raises(Refused, match="already a legal hold"):
        begin_hold(alice, olive, conversation)
    hold.end(olive)
    with pytest.raises(Refused, match="has already ended"):
        hold.end(olive)
    begin_hold(alice, olive, conversation)
    begin_hold(alice, olive)
    User.objects.filter(pk=bob.pk).delete()
    with pytest.raises(Refused, match="erased in the meantime"):
        begin_hold(bob, olive)


@pytest.mark.django_db(transaction=True)
def test_a_hold_set_during_an_erasure_waits_and_is_refused(alice: User, olive: User) -> None:
    """The erasure has locked the person's row; the hold waits for it and finds nothing to hold."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite runs write transactions one at a time")
    conversation = create_chat(alice, "Gone")
    refusals: list[str] = []

    def set_hold() -> None:
        try:
            begin_hold(alice, olive, conversation)
        except Refused as refused:
            refusals.append(str(refused))
        finally:
            connection.close()

    with transaction.atomic():
        conversation.erase_newest()
        other = threading.Thread(target=set_hold)
        other.start()
        other.join(0.5)
        assert other.is_alive()
        conversation.delete()
    other.join()
    assert refusals == ["This person has no chat with this ID."]
