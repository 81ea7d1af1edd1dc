"""The usage dialog of a conversation, which only its owner sees."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import Conversation, Deletion, Message, Upstream, Usage, User
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from tests.support.stored import (
    begin_turn,
    build_reply,
    end,
    fork_conversation,
    new_conversation,
    store_turn,
)

pytestmark = pytest.mark.django_db

Provenance = Usage.Provenance


@pytest.fixture
def sky(alice: User) -> Conversation:
    return new_conversation(alice)


def cost(
    conversation: Conversation,
    upstream: Upstream,
    tokens: TokenUsage | None,
    provenance: Provenance = Provenance.REPORTED,
    dollars: float | None = None,
    after: Message | None = None,
) -> Message:
    """Store a reply at this cost; without `after` it begins a new branch."""
    _, reply = begin_turn(conversation, upstream, "Why?", after)
    end(reply, build_reply("So."), usage=Usage.from_tokens(provenance, tokens))
    nano = None if dollars is None else round(dollars * 10**9)
    Usage.objects.filter(pk=reply.pk).update(cost=nano)
    return reply


def build_summary_usage(conversation: Conversation, upstream: Upstream, cost: int) -> Usage:
    usage = Usage.from_tokens(Provenance.REPORTED, TokenUsage(10, 1, 11))
    usage.charge_summary(uuid4(), conversation.pk, conversation.user_id, upstream, "m")
    usage.cost = cost
    return usage


def page_text(client: Client, conversation: Conversation) -> str:
    answer = client.get(f"{conversation.get_absolute_url()}usage/")
    assert answer.status_code == 200
    return " ".join(re.sub("<[^>]*>", " ", answer.content.decode()).split())


def test_all_branches_count_and_cached_and_reasoning_tokens_are_shown_as_parts(
    alices: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    counts = TokenUsage(1200, 300, 1500, cached_tokens=1000, reasoning_tokens=250)
    first = cost(sky, saved_upstream, counts, dollars=0.25)
    cost(sky, saved_upstream, TokenUsage(34, 5, 39), dollars=0.5, after=first)
    cost(sky, saved_upstream, TokenUsage(1000, 2000, 3000), dollars=1.0)
    other = new_conversation(sky.user, "Sea")
    cost(other, saved_upstream, TokenUsage(777, 777, 1554), dollars=7.0)
    Usage.book(
        [
            Usage(
                message_id=sky.pk,
                kind=Usage.Kind.TITLE,
                provenance="reported",
                prompt_tokens=2,
                completion_tokens=3,
                cost=10**8,
            ),
            *(build_summary_usage(sky, saved_upstream, cost) for cost in (10**8, 2 * 10**8)),
        ]
    )
    page = page_text(alices, sky)
    assert (
        "Usage of “ Sky ” Replies 3 plus a title and 2 summaries Tokens in 2,256 including 1,000"
        in page
    )
    assert "Tokens out 2,310 including 250 reasoning Cost $2.15 Includes all" in page


def test_estimated_and_unknown_usage_is_marked_as_such(
    alices: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    cost(sky, saved_upstream, None, Provenance.UNKNOWN)
    page = page_text(alices, sky)
    assert "Tokens in Unknown Tokens out Unknown Cost Unknown" in page
    cost(sky, saved_upstream, TokenUsage(10, 20, 30), dollars=0.5)
    cost(sky, saved_upstream, TokenUsage(100, 200, 300), Provenance.ESTIMATED, dollars=0.25)
    cost(sky, saved_upstream, TokenUsage(1, 2, 3))
    page = page_text(alices, sky)
    assert "Tokens in At least 111 Tokens out At least 222 Cost At least $0.75" in page
    assert "because the provider reported no usage: 300 tokens and $0.25 of the cost." in page
    assert "Tokens unknown for 1, cost unknown for 2 of 4 replies, titles and summaries." in page


def test_a_free_reply_is_not_shown_as_unknown(
    alices: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    cost(sky, saved_upstream, TokenUsage(10, 20, 30), dollars=0)
    page = page_text(alices, sky)
    assert "Cost $0.00" in page
    assert "nknown" not in page
    assert "Estimated" not in page


def test_deleted_messages_count_until_they_are_purged(
    alices: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    reply = cost(sky, saved_upstream, TokenUsage(10, 20, 30))
    assert reply.parent_id
    Deletion(reply.parent_id).store(sky.user)
    assert "Tokens in 10" in page_text(alices, sky)
    Message.objects.purge_deleted(timezone.now())
    assert Usage.objects.filter(pk=reply.pk).exists()
    page = page_text(alices, sky)
    assert "No usage yet." in page
    assert "Permanently deleted messages only count in Your usage ." in page


def test_running_and_copied_replies_are_not_counted_here(
    alices: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    _, reply = store_turn(sky, saved_upstream, "Why?")
    fork = fork_conversation(sky.user, reply.pk)
    page = page_text(alices, fork)
    assert "No usage yet." in page
    assert "Counted in the original chat: 1 reply copied into this fork." in page
    begin_turn(fork, saved_upstream, "And at night?", fork.messages.get(role="assistant"))
    assert "Not counted until finished: 1 reply." in page_text(alices, fork)
    page = page_text(alices, sky)
    assert "copied" not in page
    assert "until finished" not in page


def test_other_choices_of_a_response_are_not_counted_as_copies(
    alices: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    _, reply = begin_turn(sky, saved_upstream, "Why?")
    second = build_reply("Or so.")
    second.choice = 1
    end(reply, build_reply("So."), others=(reply.other_choice(second, Ending.COMPLETE),))
    page = page_text(alices, sky)
    assert "Replies 1 " in page
    assert "copied" not in page


def test_only_the_owner_sees_it_and_nobody_sees_it_for_chats_in_the_trash(
    alices: Client, bobs: Client, olives: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    store_turn(sky, saved_upstream, "Why?")
    path = f"{sky.get_absolute_url()}usage/"
    assert [client.get(path).status_code for client in (alices, bobs, olives)] == [200, 404, 404]
    assert Client().get(path).headers["location"].startswith("/accounts/login/")
    assert alices.get(f"/c/{uuid4()}/usage/").status_code == 404
    Conversation.objects.update(trashed_at=timezone.now())
    assert alices.get(path).status_code == 404


def test_a_cost_without_fees_for_searches_is_at_least(
    alices: Client, sky: Conversation, saved_upstream: Upstream
) -> None:
    searched = TokenUsage(10, 20, 30, extra_fees=2)
    cost(sky, saved_upstream, searched, dollars=0.5)
    page = page_text(alices, sky)
    assert "Cost At least $0.50" in page
    assert "leaves out the provider's fees for searches and tools in 1 reply." in page
    assert "unknown" not in page
    cost(sky, saved_upstream, TokenUsage(1, 2, 3, extra_fees=1))
    assert "for searches and tools in 1 reply." in page_text(alices, sky)  # its cost is unknown
