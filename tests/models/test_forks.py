"""A fork is a conversation with copies of a branch, and nothing of it is counted twice."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from chatapp.models import (
    Conversation,
    Deletion,
    Fork,
    Message,
    Refused,
    ReplyImage,
    Upstream,
    Usage,
    User,
)
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from tests.support.stored import answered, asked, end, reply_of

pytestmark = pytest.mark.django_db

Queries = Callable[[int], AbstractContextManager[object]]
COPIED = (
    *Message.OTHER_CHOICES,
    "role",
    "is_continuation",
    "created_at",
    "earlier_rounds",
    "model",
)


@pytest.fixture
def reply(conversation: Conversation, gateway: Upstream) -> Message:
    """The second one, that was stopped, with its usage and an image."""
    _, first = answered(conversation, gateway, "Why?")
    _, reply = asked(conversation, gateway, "And then?", first)
    reply.earlier_rounds = [{"content": "Let me see"}]
    reply.new_images = ()
    end(reply, reply_of("Half of", "Well"), Ending.STOPPED, used(7))
    ReplyImage.objects.create(message=reply, position=0, media_type="image/png", data=b"pixels")
    Message.objects.filter(pk=reply.pk).update(extras_record={"image_count": 1})
    answered(conversation, gateway, "And in the end?", reply)
    return reply


def used(tokens: int) -> Usage:
    return Usage.counted(Usage.Provenance.REPORTED, TokenUsage(tokens, 0, tokens))


def told(messages: list[Message]) -> list[list[object]]:
    rows = Message.objects.in_bulk([message.pk for message in messages])
    return [[getattr(rows[message.pk], name) for name in COPIED] for message in messages]


def test_a_fork_has_the_branch_up_to_a_message(
    carol: User, conversation: Conversation, reply: Message
) -> None:
    fork = Fork(reply.pk).store(carol)
    copies, originals = fork.view().thread, conversation.view().thread[:4]
    assert told(copies) == told(originals)
    assert not {one.pk for one in copies} & {one.pk for one in originals}
    assert [one.siblings for one in copies] == [[one] for one in copies]
    assert bytes(copies[-1].images.get().data) == b"pixels"
    assert (fork.user, fork.title) == (carol, "Sky (fork)")
    assert list(carol.conversations.all()) == [fork, conversation]
    assert conversation.messages.count() == 6


def test_what_a_fork_has_cost_is_counted_where_it_was_asked(carol: User, reply: Message) -> None:
    fork = Fork(reply.pk).store(carol)
    assert Conversation.objects.with_usage().get(pk=fork.pk).reply_count == 0
    assert Usage.objects.count() == 3


def test_a_fork_has_no_other_branches(
    carol: User, conversation: Conversation, reply: Message, gateway: Upstream
) -> None:
    answered(conversation, gateway, "Or else?", reply)
    Deletion(conversation.view().thread[-2].pk).store(carol)
    assert Fork(reply.pk).store(carol).messages.count() == 4


def test_a_fork_goes_on_by_itself(
    carol: User, conversation: Conversation, reply: Message, gateway: Upstream
) -> None:
    fork = Fork(reply.pk).store(carol)
    answered(fork, gateway, "Elsewhere?", fork.view().thread[-1])
    assert [one.content for one in fork.view().thread][-2:] == ["Elsewhere?", "To Elsewhere?"]
    assert conversation.messages.filter(content="Elsewhere?").count() == 0


def test_a_fork_of_a_fork_is_called_one(
    carol: User, conversation: Conversation, reply: Message
) -> None:
    conversation.rename("x" * 80)
    fork = Fork(reply.pk).store(carol)
    again = Fork(fork.view().thread[-1].pk).store(carol)
    assert fork.title == again.title == "x" * 73 + " (fork)"


def test_a_long_branch_takes_a_bounded_number_of_statements(
    carol: User,
    conversation: Conversation,
    gateway: Upstream,
    django_assert_max_num_queries: Queries,
) -> None:
    last = None
    for number in range(30):
        _, last = answered(conversation, gateway, str(number), last)
    assert last
    with django_assert_max_num_queries(16):
        fork = Fork(last.pk).store(carol)
    assert [one.content for one in fork.view().thread] == [
        one.content for one in conversation.view().thread
    ]


def test_nothing_is_forked_from_what_is_written_or_gone_or_somebody_elses(
    carol: User, conversation: Conversation, gateway: Upstream, reply: Message
) -> None:
    mallory = User.objects.create_user("mallory")
    with pytest.raises(Refused, match="not here"):
        Fork(reply.pk).store(mallory)
    Deletion(reply.pk).store(carol)
    with pytest.raises(Refused, match="not here"):
        Fork(reply.pk).store(carol)
    _, streaming = asked(conversation, gateway, "Now?")
    with pytest.raises(Refused, match="being written"):
        Fork(streaming.pk).store(carol)
