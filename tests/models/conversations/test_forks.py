"""Forking copies a branch into a new conversation, and counts nothing twice."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from uuid import uuid4

import pytest
from pytest_django import Settings

from chatapp.concurrency.token_bucket import TokenBucket
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
from chatapp.models.conversations.chats import temporary
from chatapp.models.conversations.turns import forks
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from tests.support.stored import begin_turn, build_reply, end, fork_conversation, store_turn

pytestmark = pytest.mark.django_db

Queries = Callable[[int], AbstractContextManager[object]]
COPIED = (
    *Message.OTHER_CHOICE_FIELDS,
    "role",
    "is_continuation",
    "created_at",
    "earlier_rounds",
    "model",
)


@pytest.fixture
def reply(conversation: Conversation, gateway: Upstream) -> Message:
    """The second reply: stopped, with usage and an image. A third turn follows it."""
    _, first = store_turn(conversation, gateway, "Why?")
    _, reply = begin_turn(conversation, gateway, "And then?", first)
    reply.earlier_rounds = [{"content": "Let me see"}]
    reply.new_images = ()
    end(reply, build_reply("Half of", "Well"), Ending.STOPPED, build_usage(7))
    ReplyImage.objects.create(message=reply, position=0, media_type="image/png", data=b"pixels")
    Message.objects.filter(pk=reply.pk).update(extras_record={"image_count": 1})
    store_turn(conversation, gateway, "And in the end?", reply)
    return reply


def build_usage(tokens: int) -> Usage:
    return Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(tokens, 0, tokens))


def copied_fields(messages: list[Message]) -> list[list[object]]:
    rows = Message.objects.in_bulk([message.pk for message in messages])
    return [[getattr(rows[message.pk], name) for name in COPIED] for message in messages]


def test_a_fork_contains_the_branch_up_to_a_message(
    carol: User, conversation: Conversation, reply: Message
) -> None:
    fork = fork_conversation(carol, reply.pk)
    copies, originals = fork.view().thread, conversation.view().thread[:4]
    assert copied_fields(copies) == copied_fields(originals)
    assert not {copy.pk for copy in copies} & {original.pk for original in originals}
    assert [copy.siblings for copy in copies] == [[copy] for copy in copies]
    assert copies[-1].images.get().read() == b"pixels"
    assert (fork.user, fork.title) == (carol, "Sky (fork)")
    assert list(carol.conversations.all()) == [fork, conversation]
    assert conversation.messages.count() == 6


def test_a_fork_shares_the_file_of_an_image(
    carol: User, conversation: Conversation, reply: Message
) -> None:
    assert ReplyImage.objects.move_one_to_storage()
    image = fork_conversation(carol, reply.pk).view().thread[-1].images.get()
    assert image.file == reply.images.get().file
    conversation.delete()
    assert image.read() == b"pixels"


def test_costs_stay_with_the_original_and_are_not_copied_to_the_fork(
    carol: User, reply: Message
) -> None:
    fork = fork_conversation(carol, reply.pk)
    assert Conversation.objects.with_usage().get(pk=fork.pk).reply_count == 0
    assert Usage.objects.count() == 3


def test_a_fork_contains_no_other_branches(
    carol: User, conversation: Conversation, reply: Message, gateway: Upstream
) -> None:
    store_turn(conversation, gateway, "Or else?", reply)
    Deletion(conversation.view().thread[-2].pk).store(carol)
    assert fork_conversation(carol, reply.pk).messages.count() == 4


def test_a_fork_continues_independently(
    carol: User, conversation: Conversation, reply: Message, gateway: Upstream
) -> None:
    fork = fork_conversation(carol, reply.pk)
    store_turn(fork, gateway, "Elsewhere?", fork.view().thread[-1])
    assert [message.content for message in fork.view().thread][-2:] == [
        "Elsewhere?",
        "To Elsewhere?",
    ]
    assert conversation.messages.filter(content="Elsewhere?").count() == 0


def test_a_fork_of_a_fork_keeps_a_single_suffix(
    carol: User, conversation: Conversation, reply: Message
) -> None:
    conversation.rename("x" * 80)
    fork = fork_conversation(carol, reply.pk)
    again = fork_conversation(carol, fork.view().thread[-1].pk)
    assert fork.title == again.title == "x" * 73 + " (fork)"


def test_forking_a_long_branch_takes_a_bounded_number_of_statements(
    carol: User,
    conversation: Conversation,
    gateway: Upstream,
    django_assert_max_num_queries: Queries,
) -> None:
    last = None
    for number in range(30):
        _, last = store_turn(conversation, gateway, str(number), last)
    assert last
    with django_assert_max_num_queries(22):
        fork = fork_conversation(carol, last.pk)
    assert [message.content for message in fork.view().thread] == [
        message.content for message in conversation.view().thread
    ]


def test_streaming_deleted_and_other_peoples_messages_can_not_be_forked(
    carol: User, conversation: Conversation, gateway: Upstream, reply: Message
) -> None:
    mallory = User.objects.create_user("mallory")
    with pytest.raises(Refused, match="no longer exists"):
        fork_conversation(mallory, reply.pk)
    Deletion(reply.pk).store(carol)
    with pytest.raises(Refused, match="no longer exists"):
        fork_conversation(carol, reply.pk)
    _, streaming = begin_turn(conversation, gateway, "Now?")
    with pytest.raises(Refused, match="being written"):
        fork_conversation(carol, streaming.pk)


def test_a_fork_is_copied_in_short_transactions_and_shown_when_complete(
    carol: User, conversation: Conversation, gateway: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "BYTES_AT_ONCE", 3_000)
    last = None
    for _ in range(3):
        _, last = store_turn(conversation, gateway, "x" * 900, last)
    assert last
    copying = Fork(last.pk).begin(carol, TokenBucket(0, 10**9))
    fork = copying.conversation
    lengths = []
    is_whole = False
    while not is_whole:
        assert fork not in carol.conversations.filter(is_temporary=False)
        is_whole = copying.step(carol)
        lengths.append(fork.messages.count())
    assert lengths == [1, 2, 3, 4, 5, 6]
    assert fork in carol.conversations.filter(is_temporary=False)


def test_an_interrupted_fork_is_swept_away(
    carol: User, reply: Message, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "MESSAGES_AT_ONCE", 1)
    monkeypatch.setattr(temporary, "ABANDONED_AFTER", timedelta())
    copying = Fork(reply.pk).begin(carol, TokenBucket(0, 10**9))
    copying.step(carol)
    Deletion(conversation.view().thread[1].pk).store(carol)
    with pytest.raises(Refused, match="no longer exists"):
        copying.step(carol)
    assert temporary.sweep(uuid4(), []) == [(carol.pk, copying.conversation.pk)]
    assert list(carol.conversations.all()) == [conversation]


def test_forks_count_towards_a_persons_storage(
    carol: User, reply: Message, settings: Settings
) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 10_000
    size = fork_conversation(carol, reply.pk).stored_bytes
    assert 4 * 1024 < size < 5_000
    fork = fork_conversation(carol, reply.pk)
    with pytest.raises(Refused, match=r"take up 8\.\d\xa0KB of the 9\.8\xa0KB"):
        fork_conversation(carol, reply.pk)
    fork.erase()
    fork_conversation(carol, reply.pk)


def test_forking_has_an_hourly_limit_too(carol: User, reply: Message) -> None:
    hourly = TokenBucket(0, 10_000)
    fork_conversation(carol, reply.pk, hourly)
    fork_conversation(carol, reply.pk, hourly)
    with pytest.raises(Refused, match="within an hour"):
        fork_conversation(carol, reply.pk, hourly)
    assert carol.conversations.count() == 3
