"""What a legal hold keeps: from the trash's end, from housekeeping, from whatever deletes."""

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from chatapp.models import Conversation, LegalHold, Message, Process, Refused, User, temporary
from chatapp.models.legal_holds import Held
from chatapp.models.temporary import LEFT_FOR
from chatapp.worker.housekeeping import clean_up

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
def test_housekeeping_leaves_what_is_held_until_the_hold_ends(
    alice: User, bob: User, olive: User, is_all: bool
) -> None:
    over = timezone.now() - LONG_AGO
    kept = with_messages(alice, "Kept", trashed_at=over)
    deleted = with_messages(alice, "Of which a message was deleted")
    deleted.messages.update(deleted_at=over)
    with_messages(bob, "Gone", trashed_at=over)
    with_messages(bob, "Emptied").messages.update(deleted_at=over)
    holds = [held(alice, olive)] if is_all else [held(alice, olive, one) for one in (kept, deleted)]
    clean_up()
    assert set(Conversation.objects.values_list("title", flat=True)) == {
        "Kept",
        "Of which a message was deleted",
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
def test_a_hold_on_one_conversation_leaves_the_others_alone(alice: User, olive: User) -> None:
    over = timezone.now() - LONG_AGO
    kept = with_messages(alice, "Kept", trashed_at=over)
    with_messages(alice, "Gone", trashed_at=over)
    held(alice, olive, kept)
    clean_up()
    assert alice.conversations.get() == kept
    with pytest.raises(Held):
        kept.erase()
    assert kept.messages.count() == 3


def test_a_temporary_conversation_is_kept_and_goes_after_the_hold(alice: User, olive: User) -> None:
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


def test_what_never_asked_is_kept_from_deleting_too(alice: User, olive: User) -> None:
    conversation = with_messages(alice, "Kept")
    hold = held(alice, olive, conversation)
    for one in (conversation, alice):
        with pytest.raises(Held):
            one.delete()
    hold.end(olive)
    alice.delete()
    assert not LegalHold.objects.exists()


def test_a_hold_is_of_the_persons_own_and_set_once(alice: User, bob: User, olive: User) -> None:
    conversation = with_messages(alice, "Alice's")
    for pk in (conversation.pk, uuid4()):
        with pytest.raises(Refused, match="no conversation with this ID"):
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
def test_of_a_hold_and_an_erasure_at_once_one_comes_first(alice: User, olive: User) -> None:
    """The one that deletes has the person's row; the one that sets waits for it, and finds nothing
    to hold any more."""
    if connection.vendor == "sqlite":
        pytest.skip("whose transactions come one after the other by themselves")
    conversation = with_messages(alice, "Gone")
    refusals: list[str] = []

    def set_one() -> None:
        try:
            held(alice, olive, conversation)
        except Refused as refused:
            refusals.append(str(refused))
        finally:
            connection.close()

    with transaction.atomic():
        conversation.erase_newest()
        other = threading.Thread(target=set_one)
        other.start()
        other.join(0.5)
        assert other.is_alive()
        conversation.delete()
    other.join()
    assert refusals == ["This person has no conversation with this ID."]
