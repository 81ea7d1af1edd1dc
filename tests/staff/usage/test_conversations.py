"""What a conversation cost, as its owner is told."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import Conversation, Deletion, Message, Upstream, Usage, User
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from tests.support.stored import answered, asked, end, forked, reply_of, started_by

pytestmark = pytest.mark.django_db

Provenance = Usage.Provenance


@pytest.fixture
def sky(alice: User) -> Conversation:
    return started_by(alice)


def cost(
    conversation: Conversation,
    gateway: Upstream,
    tokens: TokenUsage | None,
    provenance: Provenance = Provenance.REPORTED,
    dollars: float | None = None,
    after: Message | None = None,
) -> Message:
    """A reply at this cost; of the branch that begins with it where it follows nothing."""
    _, reply = asked(conversation, gateway, "Why?", after)
    end(reply, reply_of("So."), usage=Usage.counted(provenance, tokens))
    nano = None if dollars is None else round(dollars * 10**9)
    Usage.objects.filter(pk=reply.pk).update(cost=nano)
    return reply


def said(client: Client, conversation: Conversation) -> str:
    answer = client.get(f"{conversation.get_absolute_url()}usage/")
    assert answer.status_code == 200
    return " ".join(re.sub("<[^>]*>", " ", answer.content.decode()).split())


def test_all_branches_count_and_parts_are_told_as_parts(
    alices: Client, sky: Conversation, connected: Upstream
) -> None:
    counts = TokenUsage(1200, 300, 1500, cached_tokens=1000, reasoning_tokens=250)
    first = cost(sky, connected, counts, dollars=0.25)
    cost(sky, connected, TokenUsage(34, 5, 39), dollars=0.5, after=first)
    cost(sky, connected, TokenUsage(1000, 2000, 3000), dollars=1.0)
    other = started_by(sky.user, "Sea")
    cost(other, connected, TokenUsage(777, 777, 1554), dollars=7.0)
    Usage.book(
        [
            Usage(
                message_id=sky.pk,
                kind=Usage.Kind.TITLE,
                provenance="reported",
                prompt_tokens=2,
                completion_tokens=3,
                cost=10**8,
            )
        ]
    )
    page = said(alices, sky)
    assert "Usage of “ Sky ” Replies 3 and a title Tokens in 2,236 of them 1,000 from a" in page
    assert "Tokens out 2,308 of them 250 reasoning Cost $1.85 All branches" in page


def test_what_is_estimated_or_not_known_is_never_told_as_known(
    alices: Client, sky: Conversation, connected: Upstream
) -> None:
    cost(sky, connected, None, Provenance.UNKNOWN)
    page = said(alices, sky)
    assert "Tokens in Not known Tokens out Not known Cost Not known" in page
    cost(sky, connected, TokenUsage(10, 20, 30), dollars=0.5)
    cost(sky, connected, TokenUsage(100, 200, 300), Provenance.ESTIMATED, dollars=0.25)
    cost(sky, connected, TokenUsage(1, 2, 3))
    page = said(alices, sky)
    assert "Tokens in At least 111 Tokens out At least 222 Cost At least $0.75" in page
    assert "Estimated, since no usage was reported: 300 of the tokens and $0.25 of the" in page
    assert "Not known: the tokens of 1 and the cost of 2 of 4." in page


def test_what_costs_nothing_is_not_what_nobody_knows(
    alices: Client, sky: Conversation, connected: Upstream
) -> None:
    cost(sky, connected, TokenUsage(10, 20, 30), dollars=0)
    page = said(alices, sky)
    assert "Cost $0.00" in page
    assert "Not known" not in page
    assert "Estimated" not in page


def test_what_was_deleted_counts_until_it_is_gone_for_good(
    alices: Client, sky: Conversation, connected: Upstream
) -> None:
    reply = cost(sky, connected, TokenUsage(10, 20, 30))
    assert reply.parent_id
    Deletion(reply.parent_id).store(sky.user)
    assert "Tokens in 10" in said(alices, sky)
    Message.objects.purge_deleted(timezone.now())
    assert Usage.objects.filter(pk=reply.pk).exists()
    page = said(alices, sky)
    assert "Nothing is counted here yet." in page
    assert "What was deleted for good counts in Your usage alone." in page


def test_what_is_being_written_and_what_was_copied_counts_elsewhere(
    alices: Client, sky: Conversation, connected: Upstream
) -> None:
    _, reply = answered(sky, connected, "Why?")
    fork = forked(sky.user, reply.pk)
    page = said(alices, fork)
    assert "Nothing is counted here yet." in page
    assert "counts where it was written: 1 reply." in page
    asked(fork, connected, "And at night?", fork.messages.get(role="assistant"))
    assert "counts once it ends: 1 reply." in said(alices, fork)
    page = said(alices, sky)
    assert "copied" not in page
    assert "being written" not in page


def test_other_choices_of_a_response_are_no_copies(
    alices: Client, sky: Conversation, connected: Upstream
) -> None:
    _, reply = asked(sky, connected, "Why?")
    second = reply_of("Or so.")
    second.choice = 1
    end(reply, reply_of("So."), others=(reply.other_choice(second, Ending.COMPLETE),))
    page = said(alices, sky)
    assert "Replies 1 " in page
    assert "copied" not in page


def test_only_its_owner_is_told_and_nobody_of_what_is_in_the_trash(
    alices: Client, bobs: Client, olives: Client, sky: Conversation, connected: Upstream
) -> None:
    answered(sky, connected, "Why?")
    path = f"{sky.get_absolute_url()}usage/"
    assert [one.get(path).status_code for one in (alices, bobs, olives)] == [200, 404, 404]
    assert Client().get(path).headers["location"].startswith("/accounts/login/")
    assert alices.get(f"/c/{uuid4()}/usage/").status_code == 404
    Conversation.objects.update(trashed_at=timezone.now())
    assert alices.get(path).status_code == 404
