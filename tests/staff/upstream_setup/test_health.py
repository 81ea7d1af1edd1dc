"""The page of upstreams: the state of each, and how often it failed."""

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.utils import timezone

from chatapp.models import Conversation, Upstream, UpstreamFailure, User
from chatapp.models.platform.calendar import get_day
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import Failed
from chatapp.upstream.wire.reply import Ending, Reply
from tests.support.fake_upstream import FakeUpstream
from tests.support.page import parse
from tests.support.stored import begin_turn, end, store_turn

pytestmark = pytest.mark.django_db


def fail(conversation: Conversation, upstream: Upstream, kind: ErrorKind | None) -> None:
    _, message = begin_turn(conversation, upstream, "Why?")
    reply = Reply()
    if kind:
        reply.apply(Failed(UpstreamError(kind, "sk-secret is not valid")))
    end(message, reply, Ending.FAILED if kind else Ending.CUT_OFF)


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return alice.conversations.create(title="Sky")


def counts() -> dict[str, int]:
    return dict(UpstreamFailure.objects.values_list("kind", "count"))


async def load_page_text(client: AsyncClient) -> str:
    answer = await client.get("/settings/models/")
    assert answer.status_code == 200
    return " ".join(parse(answer.content.decode()).text.split())


def test_failures_are_counted_by_kind(conversation: Conversation, saved_upstream: Upstream) -> None:
    for kind in (ErrorKind.UNAUTHORIZED, ErrorKind.UNAUTHORIZED, ErrorKind.RATE_LIMITED, None):
        fail(conversation, saved_upstream, kind)
    store_turn(conversation, saved_upstream, "And now?")
    assert counts() == {"unauthorized": 2, "rate_limited": 1, "cut_off": 1}


@pytest.mark.parametrize("ending", [Ending.STOPPED, Ending.ABANDONED, Ending.OVER_BUDGET])
def test_stopped_and_over_budget_replies_are_not_failures(
    conversation: Conversation, saved_upstream: Upstream, ending: Ending
) -> None:
    _, message = begin_turn(conversation, saved_upstream, "Why?")
    end(message, Reply(), ending)
    assert counts() == {}


async def test_a_refused_key_is_shown_with_what_to_do(
    olives: AsyncClient,
    upstream: FakeUpstream,
    saved_upstream: Upstream,
    conversation: Conversation,
) -> None:
    assert "refused its key" not in await load_page_text(olives)
    await sync_to_async(fail)(conversation, saved_upstream, ErrorKind.UNAUTHORIZED)
    page = await load_page_text(olives)
    assert "It refused its key" in page
    assert "enter a new key" in page
    assert "1 reply, 1 failed" in page
    assert "It refused its key once, most recently" in page
    assert "sk-secret" not in page


async def test_a_refusal_last_week_is_counted_without_a_warning(
    olives: AsyncClient, saved_upstream: Upstream
) -> None:
    then = timezone.now() - timedelta(days=7)
    await UpstreamFailure.objects.acreate(
        upstream=saved_upstream, day=get_day(then), kind="unauthorized", count=12, last_at=then
    )
    page = await load_page_text(olives)
    assert "The key may have been revoked" not in page
    assert "It refused its key 12 times" in page


async def test_a_key_that_was_refused_and_replaced_needs_no_warning(
    olives: AsyncClient, saved_upstream: Upstream, conversation: Conversation
) -> None:
    await sync_to_async(fail)(conversation, saved_upstream, ErrorKind.UNAUTHORIZED)
    assert "The key may have been revoked" in await load_page_text(olives)
    await Upstream.objects.aupdate(connected_at=timezone.now())
    page = await load_page_text(olives)
    assert "The key may have been revoked" not in page
    assert "It refused its key once" in page


async def test_only_administrators_see_the_page(
    alice: User, saved_upstream: Upstream, generations_end: None
) -> None:
    client = AsyncClient(headers={"host": "localhost"})
    await client.aforce_login(alice)
    assert (await client.get("/settings/models/")).status_code == 403
