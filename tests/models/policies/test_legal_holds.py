"""A legal hold protects data from emptying the trash, housekeeping and every other deletion."""

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from chatapp.models import Conversation, LegalHold, Message, Process, Refused, User
from chatapp.models.conversations import temporary
from chatapp.models.conversations.temporary import LEFT_FOR
from chatapp.models.policies.legal_holds import UnderLegalHold
from chatapp.realtime.worker.housekeeping import clean_up

pytestmark = pytest.mark.django_db

LONG_AGO = timedelta(days=31)


def held(person: User, by: User, conversation: Conversation | None = None) -> LegalHold:
    return LegalHold.begin(person, conversation.pk if conversation else None, "a matter", by)


def with_messages(person: User, title: str, **fields: object) -> Conversation:
    conversation = person.conversations.create(title=title, **fields)
    for _ in range(3):
        Message.objects.create(conversation=conversation, role="user", content=title)
    return conversation


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_all", [True, False])
def test_housekeeping_keeps_held_data_until_the_hold_ends(
    alice: User, bob: User, olive: User, is_all: bool
) -> None:
    over = timezone.now() - LONG_AGO
    kept = with_messages(alice, "Kept", trashed_at=over)
    deleted = with_messages(alice, "With a deleted message")
    deleted.messages.update(deleted_at=over)
    with_messages(bob, "Gone", trashed_at=over)
    with_messages(bob, "Emptied").messages.update(deleted_at=over)
    holds = [held(alice, olive)] if is_all else [held(alice, olive, one) for one in (kept, deleted)]
    clean_up()
    assert set(Conversation.objects.values_list("title", flat=True)) == {
        "Kept",
        "With a deleted message",
        "Emptied",
    }
    assert (kept.messages.count(), deleted.messages.count()) == (3, 3)
    assert not Message.objects.filter(conversation__user=bob).exists()
    for one in holds:
        one.end(olive)
    clean_up()
    assert not Message.objects.exists()
    assert not alice.conversations.filter(title="Kept").exists()


@pytest.mark.django_db(transaction=True)
def test_a_hold_on_one_conversation_does_not_protect_others(alice: User, olive: User) -> None:
    over = timezone.now() - LONG_AGO
    kept = with_messages(alice, "Kept", trashed_at=over)
    with_messages(alice, "Gone", trashed_at=over)
    held(alice, olive, kept)
    clean_up()
    assert alice.conversations.get() == kept
    with pytest.raises(UnderLegalHold):
        kept.erase()
    assert kept.messages.count() == 3


def test_a_temporary_conversation_is_kept_until_the_hold_ends(alice: User, olive: User) -> None:
    worker = Process.objects.create(pid=1, place="here", is_alone=False).pk
    conversation = with_messages(alice, "Temporary", is_temporary=True)
    hold = held(alice, olive)
    temporary.hold(conversation.pk, worker)
    assert temporary.let_go(conversation.pk, worker) is None
    Conversation.objects.update(updated_at=timezone.now() - 2 * LEFT_FOR)
    assert temporary.sweep(worker, []) == []
    assert conversation.messages.count() == 3
    hold.end(olive)
    assert temporary.sweep(worker, []) == [(alice.pk, conversation.pk)]
    assert not Conversation.objects.exists()


def test_plain_deletes_are_blocked_by_a_hold_too(alice: User, olive: User) -> None:
    conversation = with_messages(alice, "Kept")
    hold = held(alice, olive, conversation)
    for one in (conversation, alice):
        with pytest.raises(UnderLegalHold):
            one.delete()
    hold.end(olive)
    alice.delete()
    assert not LegalHold.objects.exists()


def test_a_hold_covers_the_persons_own_conversation_and_is_set_once(
    alice: User, bob: User, olive: User
) -> None:
    conversation = with_messages(alice, "Alice's")
    for pk in (conversation.pk, uuid4()):
        with pytest.raises(Refused, match="no chat with this ID"):
            LegalHold.begin(bob, pk, "a matter", olive)
    hold = held(alice, olive, conversation)
    with pytest.raises(Refused, match="already a legal hold"):
        held(alice, olive, conversation)
    hold.end(olive)
    with pytest.raises(Refused, match="has already ended"):
        hold.end(olive)
    held(alice, olive, conversation)
    held(alice, olive)
    User.objects.filter(pk=bob.pk).delete()
    with pytest.raises(Refused, match="erased in the meantime"):
        held(bob, olive)


@pytest.mark.django_db(transaction=True)
def test_a_hold_set_during_an_erasure_waits_and_is_refused(alice: User, olive: User) -> None:
    """The erasure has locked the person's row; the hold waits for it and finds nothing to hold."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite runs write transactions one at a time")
    conversation = with_messages(alice, "Gone")
    refusals: list[str] = []

    def set_hold() -> None:
        try:
            held(alice, olive, conversation)
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
