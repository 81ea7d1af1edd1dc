"""What a person deletes goes with all that follows it, and comes back as it was."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chatapp.models import Conversation, Deletion, Message, Refused, Restoration, Upstream, User
from chatapp.models.messages import MessageQuerySet
from tests.support.stored import answered, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(conversation: Conversation, gateway: Upstream) -> list[Message]:
    """Two prompts and their replies, one after the other."""
    prompt, reply = answered(conversation, gateway, "Why?")
    return [prompt, reply, *answered(conversation, gateway, "And then?", reply)]


def texts(conversation: Conversation) -> list[str]:
    conversation.refresh_from_db()
    return [message.content for message in conversation.view().thread]


def there(conversation: Conversation) -> set[object]:
    return set(conversation.messages.filter(deleted_at=None).values_list("pk", flat=True))


def test_a_message_goes_with_all_that_follows_it(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    deleted = Deletion(turns[1].pk).store(carol)
    assert (deleted.count, deleted.message, deleted.conversation) == (3, turns[1], conversation)
    assert texts(conversation) == ["Why?"]
    assert conversation.messages.count() == 4


def test_what_was_deleted_is_sent_to_nobody(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    Deletion(turns[2].pk).store(carol)
    conversation.refresh_from_db()
    said = conversation.said(turns[3].pk)
    assert (said.end, said.length) == (turns[1].pk, 2)


def test_an_empty_conversation_can_be_asked_in(
    carol: User, conversation: Conversation, turns: list[Message], gateway: Upstream
) -> None:
    Deletion(turns[0].pk).store(carol)
    assert texts(conversation) == []
    assert conversation.view().head is None
    answered(conversation, gateway, "Again")
    assert texts(conversation) == ["Again", "To Again"]


def test_the_one_beside_it_is_shown_and_counted_alone(
    carol: User, conversation: Conversation, turns: list[Message], gateway: Upstream
) -> None:
    second, _ = answered(conversation, gateway, "Or else?", turns[1])
    Deletion(second.pk).store(carol)
    assert texts(conversation)[2:] == ["And then?", "To And then?"]
    assert [one.siblings for one in conversation.view().thread] == [[one] for one in turns]


def test_undo_brings_back_exactly_what_a_deletion_took(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    Deletion(turns[3].pk).store(carol)
    before = there(conversation)
    Deletion(turns[1].pk).store(carol)
    assert Restoration(turns[1].pk).store(carol) == conversation
    assert there(conversation) == before
    Restoration(turns[3].pk).store(carol)
    assert texts(conversation) == ["Why?", "To Why?", "And then?", "To And then?"]


def test_undo_shows_the_branch_that_was_read(
    carol: User, conversation: Conversation, turns: list[Message], gateway: Upstream
) -> None:
    answered(conversation, gateway, "Or else?", turns[1])
    Deletion(turns[0].pk).store(carol)
    Restoration(turns[0].pk, turns[3].pk).store(carol)
    assert texts(conversation)[2] == "And then?"


def test_what_follows_something_deleted_does_not_come_back_before_that(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    Deletion(turns[2].pk).store(carol)
    Deletion(turns[0].pk).store(carol)
    with pytest.raises(Refused, match="deleted too"):
        Restoration(turns[2].pk).store(carol)
    with pytest.raises(Refused, match="deleted too"):
        Restoration(turns[1].pk).store(carol)  # no deletion was of it alone
    assert texts(conversation) == []


def test_nothing_goes_or_comes_back_twice(carol: User, turns: list[Message]) -> None:
    with pytest.raises(Refused, match="not here"):
        Restoration(turns[0].pk).store(carol)
    Deletion(turns[0].pk).store(carol)
    for pk in (turns[0].pk, turns[3].pk, uuid4()):
        with pytest.raises(Refused, match="not here"):
            Deletion(pk).store(carol)


def test_two_deletions_have_never_one_moment(
    carol: User, turns: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)  # a clock that stands still
    Deletion(turns[2].pk).store(carol)
    Deletion(turns[1].pk).store(carol)
    Restoration(turns[1].pk).store(carol)
    assert there(turns[0].conversation) == {turns[0].pk, turns[1].pk}


def test_a_reply_that_is_being_written_is_stopped_first(
    carol: User, conversation: Conversation, gateway: Upstream
) -> None:
    prompt, reply = asked(conversation, gateway, "Why?")
    with pytest.raises(Refused, match="Stop it first"):
        Deletion(prompt.pk).store(carol)
    assert there(conversation) == {prompt.pk, reply.pk}


def test_other_peoples_messages_are_not_there(turns: list[Message]) -> None:
    mallory = User.objects.create_user("mallory")
    for act in (Deletion(turns[0].pk), Restoration(turns[0].pk)):
        with pytest.raises(Refused, match="not here"):
            act.store(mallory)


def test_what_was_deleted_long_ago_is_taken_out_a_few_at_a_time(
    carol: User,
    conversation: Conversation,
    turns: list[Message],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatapp.models.messages.PURGED_AT_ONCE", 2)
    Deletion(turns[1].pk).store(carol)
    purge: MessageQuerySet = Message.objects.all()
    now = timezone.now()
    assert purge.purge_deleted(now - timedelta(days=30)) == 0
    assert [purge.purge_deleted(now + timedelta(1)) for _ in range(3)] == [2, 1, 0]
    assert list(conversation.messages.all()) == [turns[0]]


def test_what_a_deleted_reply_has_cost_stays_counted(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    def count() -> int:
        return Conversation.objects.with_usage().get(pk=conversation.pk).reply_count

    before = count()
    Deletion(turns[0].pk).store(carol)
    assert count() == before == 2
