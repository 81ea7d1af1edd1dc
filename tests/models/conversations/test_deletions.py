"""Deleting a message with all that follow it, and restoring exactly those."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chatapp.models import Conversation, Deletion, Message, Refused, Restoration, Upstream, User
from chatapp.models.conversations.messages.messages import MessageQuerySet
from tests.support.stored import begin_turn, store_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(conversation: Conversation, gateway: Upstream) -> list[Message]:
    """Two prompts and their replies, one after the other."""
    prompt, reply = store_turn(conversation, gateway, "Why?")
    return [prompt, reply, *store_turn(conversation, gateway, "And then?", reply)]


def texts(conversation: Conversation) -> list[str]:
    conversation.refresh_from_db()
    return [message.content for message in conversation.view().thread]


def present(conversation: Conversation) -> set[object]:
    return set(conversation.messages.filter(deleted_at=None).values_list("pk", flat=True))


def test_deleting_a_message_deletes_all_that_follow_it(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    deleted = Deletion(turns[1].pk).store(carol)
    assert (deleted.count, deleted.message, deleted.conversation) == (3, turns[1], conversation)
    assert texts(conversation) == ["Why?"]
    assert conversation.messages.count() == 4


def test_deleted_messages_are_not_sent_to_the_upstream(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    Deletion(turns[2].pk).store(carol)
    conversation.refresh_from_db()
    branch = conversation.history_through(turns[3].pk)
    assert (branch.end, branch.length) == (turns[1].pk, 2)


def test_an_emptied_conversation_accepts_a_new_prompt(
    carol: User, conversation: Conversation, turns: list[Message], gateway: Upstream
) -> None:
    Deletion(turns[0].pk).store(carol)
    assert texts(conversation) == []
    assert conversation.view().head is None
    store_turn(conversation, gateway, "Again")
    assert texts(conversation) == ["Again", "To Again"]


def test_after_deleting_a_sibling_the_other_is_shown_and_counted_alone(
    carol: User, conversation: Conversation, turns: list[Message], gateway: Upstream
) -> None:
    second, _ = store_turn(conversation, gateway, "Or else?", turns[1])
    Deletion(second.pk).store(carol)
    assert texts(conversation)[2:] == ["And then?", "To And then?"]
    assert [message.siblings for message in conversation.view().thread] == [
        [turn] for turn in turns
    ]


def test_undo_restores_exactly_what_the_deletion_took(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    Deletion(turns[3].pk).store(carol)
    before = present(conversation)
    Deletion(turns[1].pk).store(carol)
    assert Restoration(turns[1].pk).store(carol) == conversation
    assert present(conversation) == before
    Restoration(turns[3].pk).store(carol)
    assert texts(conversation) == ["Why?", "To Why?", "And then?", "To And then?"]


def test_undo_shows_the_branch_that_was_read(
    carol: User, conversation: Conversation, turns: list[Message], gateway: Upstream
) -> None:
    store_turn(conversation, gateway, "Or else?", turns[1])
    Deletion(turns[0].pk).store(carol)
    Restoration(turns[0].pk, turns[3].pk).store(carol)
    assert texts(conversation)[2] == "And then?"


def test_a_message_below_a_deleted_one_can_not_be_restored_first(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    Deletion(turns[2].pk).store(carol)
    Deletion(turns[0].pk).store(carol)
    with pytest.raises(Refused, match="deleted too"):
        Restoration(turns[2].pk).store(carol)
    with pytest.raises(Refused, match="deleted too"):
        Restoration(turns[1].pk).store(carol)  # no deletion started with it
    assert texts(conversation) == []


def test_nothing_is_deleted_or_restored_twice(carol: User, turns: list[Message]) -> None:
    with pytest.raises(Refused, match="no longer exists"):
        Restoration(turns[0].pk).store(carol)
    Deletion(turns[0].pk).store(carol)
    for pk in (turns[0].pk, turns[3].pk, uuid4()):
        with pytest.raises(Refused, match="no longer exists"):
            Deletion(pk).store(carol)


def test_two_deletions_never_have_the_same_timestamp(
    carol: User, turns: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)  # a stopped clock
    Deletion(turns[2].pk).store(carol)
    Deletion(turns[1].pk).store(carol)
    Restoration(turns[1].pk).store(carol)
    assert present(turns[0].conversation) == {turns[0].pk, turns[1].pk}


def test_a_streaming_reply_must_be_stopped_before_it_is_deleted(
    carol: User, conversation: Conversation, gateway: Upstream
) -> None:
    prompt, reply = begin_turn(conversation, gateway, "Why?")
    with pytest.raises(Refused, match="Stop it first"):
        Deletion(prompt.pk).store(carol)
    assert present(conversation) == {prompt.pk, reply.pk}


def test_other_peoples_messages_can_not_be_deleted_or_restored(turns: list[Message]) -> None:
    mallory = User.objects.create_user("mallory")
    for request in (Deletion(turns[0].pk), Restoration(turns[0].pk)):
        with pytest.raises(Refused, match="no longer exists"):
            request.store(mallory)


def test_messages_deleted_long_ago_are_purged_a_few_at_a_time(
    carol: User,
    conversation: Conversation,
    turns: list[Message],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatapp.models.conversations.messages.erasing.PURGED_AT_ONCE", 2)
    Deletion(turns[1].pk).store(carol)
    purge: MessageQuerySet = Message.objects.all()
    now = timezone.now()
    assert purge.purge_deleted(now - timedelta(days=30)) == 0
    assert [purge.purge_deleted(now + timedelta(1)) for _ in range(3)] == [2, 1, 0]
    assert list(conversation.messages.all()) == [turns[0]]


def test_the_cost_of_deleted_replies_is_still_counted(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    def count() -> int:
        return Conversation.objects.with_usage().get(pk=conversation.pk).reply_count

    before = count()
    Deletion(turns[0].pk).store(carol)
    assert count() == before == 2
