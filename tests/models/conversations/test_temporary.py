"""Temporary conversations in the database: who holds them, and when they are erased."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from chatapp.models import Conversation, Message, Process, TemporaryHold, Upstream, Usage, User
from chatapp.models.conversations.chats import temporary
from tests.support.stored import new_conversation, store_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleeting(carol: User, gateway: Upstream) -> Conversation:
    """A temporary conversation of Carol's with one answered prompt."""
    conversation = Conversation(user=carol, title="Temporary chat", is_temporary=True)
    store_turn(conversation, gateway, "Why is the sky blue?")
    return conversation


def process() -> UUID:
    """Return the id of a living process."""
    return Process.objects.create(pid=1, place="here", is_alone=False).pk


def age(conversation: Conversation, minutes: int) -> None:
    long_ago = timezone.now() - timedelta(minutes=minutes)
    Conversation.objects.filter(pk=conversation.pk).update(updated_at=long_ago)


def test_it_is_erased_when_the_last_worker_lets_go(fleeting: Conversation, carol: User) -> None:
    here, there = process(), process()
    for worker in (here, there, here):
        temporary.add_hold(fleeting.pk, worker)
    assert temporary.release_hold(fleeting.pk, here) is None
    assert Message.objects.count() == 2
    assert temporary.release_hold(fleeting.pk, there) == (carol.pk, fleeting.pk)
    assert not any(model.objects.exists() for model in (Conversation, Message, TemporaryHold))
    booked = Usage.objects.get()
    assert (booked.user, booked.upstream_name) == (carol, "Gateway")


def test_a_dead_worker_holds_nothing(fleeting: Conversation) -> None:
    here, dead = process(), uuid4()
    temporary.add_hold(fleeting.pk, dead)
    temporary.add_hold(fleeting.pk, here)
    assert temporary.release_hold(fleeting.pk, here) is not None


@pytest.mark.parametrize(
    ("minutes", "holder", "is_erased"),
    [
        (1, "nobody", False),
        (10, "nobody", True),
        (10, "dead", True),
        (10, "alive", False),
        (10, "me", False),
        (10, "me, as far as the database knows", True),
    ],
)
def test_conversations_that_nobody_holds_are_erased_after_a_while(
    fleeting: Conversation, minutes: int, holder: str, is_erased: bool
) -> None:
    me = process()
    holders = {"dead": uuid4(), "alive": process(), "me, as far as the database knows": me}
    if holder in holders:
        temporary.add_hold(fleeting.pk, holders[holder])
    age(fleeting, minutes)
    temporary.sweep(me, [fleeting.pk] if holder == "me" else [])
    assert Conversation.objects.exists() != is_erased


def test_an_ordinary_conversation_is_neither_held_nor_erased(
    carol: User, gateway: Upstream
) -> None:
    ordinary, here = new_conversation(carol), process()
    store_turn(ordinary, gateway, "Why?")
    age(ordinary, 10)
    temporary.add_hold(ordinary.pk, here)
    temporary.add_hold(uuid4(), here)
    assert not TemporaryHold.objects.exists()
    assert temporary.release_hold(ordinary.pk, here) is None
    assert temporary.sweep(here, []) == []
    assert Conversation.objects.get() == ordinary


def test_keeping_a_conversation_twice_does_not_change_its_title(fleeting: Conversation) -> None:
    temporary.make_permanent(fleeting)
    fleeting.rename("Mine")
    temporary.make_permanent(Conversation.objects.get())
    assert Conversation.objects.get().title == "Mine"


def test_a_kept_conversation_is_not_titled_by_a_deleted_prompt(
    fleeting: Conversation, gateway: Upstream
) -> None:
    fleeting.messages.update(deleted_at=timezone.now())
    store_turn(fleeting, gateway, "And why is it not?")
    temporary.make_permanent(fleeting)
    assert Conversation.objects.get().title == "And why is it not?"


def test_a_kept_conversation_is_titled_by_its_first_prompt(fleeting: Conversation) -> None:
    here = process()
    temporary.add_hold(fleeting.pk, here)
    temporary.make_permanent(fleeting)
    assert temporary.release_hold(fleeting.pk, here) is None
    permanent = Conversation.objects.get()
    assert (permanent.title, permanent.is_temporary, permanent.titled_by) == (
        "Why is the sky blue?",
        False,
        "prompt",
    )
    assert not TemporaryHold.objects.exists()


def test_a_temporary_conversation_is_never_titled_by_a_model(fleeting: Conversation) -> None:
    assert not fleeting.claim_title(fleeting.title)
