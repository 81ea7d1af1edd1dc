"""A model fails before its first token, and another one answers."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.db import OperationalError
from django.test import Client
from prometheus_client import REGISTRY

from chatapp.models import (
    AccessRule,
    BudgetAccount,
    BudgetHold,
    Conversation,
    Fallback,
    Limit,
    Message,
    ModelChoice,
    Price,
    Upstream,
    UpstreamFailure,
    Usage,
    User,
)
from chatapp.models.conversations.threads.branch_history import BranchHistory
from chatapp.models.conversations.turns.takeovers import plan_takeover, take_over
from chatapp.realtime.generation import fallback
from chatapp.realtime.generation.fallback import calls_for_another
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.requests.content import ImagePart
from chatapp.upstream.wire.requests.history import History
from tests.realtime.generation.conftest import Desk
from tests.realtime.generation.replies import call
from tests.support.fake_upstream import (
    MODEL,
    Close,
    FakeUpstream,
    Stall,
    answer,
    delta,
    done,
    error,
    finish,
    role,
)
from tests.support.reviewer import open_for_review
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

BUSY = {"error": {"message": "busy"}}
LATER = {"retry-after": "30"}


@pytest.fixture
def spare() -> Iterator[FakeUpstream]:
    """The server of the fallback."""
    with FakeUpstream() as spare:
        yield spare


@pytest.fixture
def second(saved_upstream: Upstream, spare: FakeUpstream) -> Upstream:
    """The upstream whose models "small" and then "tiny" answer if the first one's model fails."""
    upstream = Upstream.objects.create(
        name="Second",
        base_url=spare.base_url,
        api_key="sk-second",
        offers_clock=False,
        parameters={"temperature": 0.5},
        offered_models="small = The small one\ntiny",
    )
    choices = [ModelChoice(upstream.pk, "small"), ModelChoice(upstream.pk, "tiny")]
    for model in (MODEL, "m"):
        Fallback.replace(saved_upstream, model, choices)
    return upstream


def models_asked(server: FakeUpstream) -> list[str]:
    return [request.body["model"] for request in server.chat_requests]


async def load_ended_reply(reply: UUID) -> Message:
    messages = Message.objects.select_related("usage", "upstream")
    message: Message = await messages.aget(pk=reply)
    return message


# Which failures


@pytest.mark.parametrize(
    ("failure", "is_one"),
    [
        (None, True),
        (UpstreamError(ErrorKind.UNREACHABLE), True),
        (UpstreamError(ErrorKind.TIMED_OUT), True),
        (UpstreamError(ErrorKind.EMPTY, status=200), True),
        (UpstreamError(ErrorKind.SERVER_ERROR, status=503), True),
        (UpstreamError(ErrorKind.RATE_LIMITED, status=429), True),
        (UpstreamError(ErrorKind.RATE_LIMITED, status=429, code="insufficient_quota"), True),
        (UpstreamError(ErrorKind.BAD_REQUEST, status=402), True),
        (UpstreamError(ErrorKind.BAD_REQUEST, status=408), True),
        (UpstreamError(ErrorKind.UNAUTHORIZED, status=401), True),
        (UpstreamError(ErrorKind.UNAUTHORIZED, "no access to this model", status=403), True),
        (UpstreamError(ErrorKind.UNAUTHORIZED, "Your input was flagged", status=403), False),
        (UpstreamError(ErrorKind.NOT_FOUND, status=404), True),
        (UpstreamError(ErrorKind.STREAM_ERROR, code="502"), True),
        (UpstreamError(ErrorKind.STREAM_ERROR, type="overloaded_error"), True),
        (UpstreamError(ErrorKind.STREAM_ERROR, type="invalid_request_error"), False),
        (UpstreamError(ErrorKind.BAD_REQUEST, status=400), False),
        (UpstreamError(ErrorKind.BAD_REQUEST, status=413), False),
        (UpstreamError(ErrorKind.NO_IMAGES, status=400), False),
        (UpstreamError(ErrorKind.FILE_LOST), False),
        (UpstreamError(ErrorKind.TOO_MANY_ROUNDS), False),
    ],
)
def test_a_failure_of_the_upstream_calls_for_another_model_and_one_of_the_request_does_not(
    failure: UpstreamError | None, is_one: bool
) -> None:
    assert calls_for_another(failure) is is_one


# Answering


async def test_the_fallback_answers_and_the_reply_says_so(
    tab: Tab,
    alice: User,
    alices: Client,
    olives: Client,
    upstream: FakeUpstream,
    saved_upstream: Upstream,
    spare: FakeUpstream,
    second: Upstream,
    caplog: pytest.LogCaptureFixture,
) -> None:
    upstream.fail(429, BUSY, LATER)
    labels = {"upstream": saved_upstream.name, "fallback_upstream": "Second"}
    before = REGISTRY.get_sample_value("chatapp_fallbacks_total", labels) or 0
    with caplog.at_level(logging.WARNING):
        reply = await tab.ask()
        assert f"{MODEL} was rate-limited. Asking The small one…" in await tab.until("Asking")
        end = await tab.until_ended()
    sentence = f"Answered by The small one because {MODEL} was rate-limited."
    assert sentence in end
    frames = "".join(tab.frames)
    assert f"in place of <bdi>{MODEL}</bdi>" in frames
    message = await load_ended_reply(reply)
    assert (message.ending, message.upstream, message.model) == ("complete", second, "small")
    assert (message.usage.upstream_id, message.usage.model) == (second.pk, "small")
    assert message.chosen_model == ModelChoice(saved_upstream.pk, MODEL)
    assert (len(upstream.chat_requests), models_asked(spare)) == (1, ["small"])
    body = spare.chat_requests[0].body
    assert body["temperature"] == 0.5
    assert "tools" not in body
    assert spare.chat_requests[0].headers["authorization"] == "Bearer sk-second"
    failure = await UpstreamFailure.objects.aget()
    assert (failure.upstream_id, failure.kind, failure.count) == (
        saved_upstream.pk,
        "rate_limited",
        1,
    )
    assert REGISTRY.get_sample_value("chatapp_fallbacks_total", labels) == before + 1
    [record] = [entry for entry in caplog.records if "fallback" in entry.message]
    assert vars(record)["fallback"] == "small of Second"
    page = await database_sync_to_async(alices.get)(f"/c/{message.conversation_id}/")
    assert sentence in page.text
    reviewed = await database_sync_to_async(open_for_review)(olives, message.conversation_id)
    assert sentence in reviewed.text
    assert f"{MODEL}: error rate_limited" in " ".join(reviewed.text.split())
    assert f'data-model="{saved_upstream.pk}/{MODEL}"' in page.text
    used = await database_sync_to_async(Conversation.find_last_used_model)(alice)
    assert used == ModelChoice(saved_upstream.pk, MODEL)


async def test_one_quick_retry_comes_first(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    upstream.fail(503, BUSY)
    upstream.fail(503, BUSY)
    await tab.ask()
    assert "had a server error" in await tab.until_ended()
    assert (len(upstream.chat_requests), len(spare.chat_requests)) == (2, 1)


@pytest.mark.parametrize("steps", [[role(), Close()], [role(), error(type="server_error"), done()]])
async def test_a_stream_that_breaks_before_its_first_token_falls_back(
    tab: Tab, upstream: FakeUpstream, second: Upstream, steps: list[Any]
) -> None:
    upstream.script(*steps)
    reply = await tab.ask()
    assert "Answered by The small one" in await tab.until_ended()
    assert (await load_ended_reply(reply)).ending == "complete"


async def test_fallbacks_are_asked_in_order(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    upstream.fail(401, BUSY)
    spare.fail(429, BUSY, LATER)
    reply = await tab.ask()
    because = f"because {MODEL} refused its key and The small one was rate-limited."
    assert f"Answered by tiny {because}" in await tab.until_ended()
    assert models_asked(spare) == ["small", "tiny"]
    message = await load_ended_reply(reply)
    assert [failure.model for failure in message.failed_models] == [MODEL, "small"]
    kinds = UpstreamFailure.objects.order_by("kind").values_list("upstream__name", "kind")
    assert [kind async for kind in kinds] == [("Second", "rate_limited"), ("Fake", "unauthorized")]


async def test_if_all_fail_the_last_error_is_shown_with_what_was_asked_before(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    for server, times in ((upstream, 1), (spare, 2)):
        for _ in range(times):
            server.fail(401, BUSY)
    reply = await tab.ask()
    end = unescape(await tab.until_ended())
    assert f"tiny was asked because {MODEL} refused its key and The small one refused" in end
    assert "The model's server refused the key" in end
    message = await load_ended_reply(reply)
    assert (message.ending, message.model) == ("failed", "tiny")


async def test_what_the_model_that_failed_refused_is_not_held_against_its_fallback(
    tab: Tab, upstream: FakeUpstream, second: Upstream
) -> None:
    upstream.fail(400, {"error": {"message": "unknown field: stream_options"}})
    upstream.fail(401, BUSY)
    await tab.ask()
    assert "Answered by The small one" in await tab.until_ended()
    await second.arefresh_from_db()
    assert second.takes_usage_option


# Not answering


async def test_nothing_falls_back_once_something_has_arrived(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    upstream.script(role(), delta("Half"), Close())
    reply = await tab.ask()
    await tab.until_ended()
    message = await load_ended_reply(reply)
    assert (message.ending, message.content, message.failed_models) == ("cut_off", "Half", ())
    assert not spare.chat_requests


async def test_a_bad_request_goes_nowhere_else(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    upstream.fail(400, BUSY)
    await tab.ask()
    await tab.until_ended()
    assert not spare.chat_requests


async def test_a_later_round_of_tool_calls_does_not_fall_back(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    upstream.script(role(), call("current_date_and_time", "{}"), finish("tool_calls"), done())
    upstream.fail(401, BUSY)
    reply = await tab.ask()
    await tab.until_ended()
    assert (await load_ended_reply(reply)).ending == "failed"
    assert not spare.chat_requests


async def test_stop_ends_a_reply_that_waits_for_its_fallback(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    upstream.fail(401, BUSY)
    spare.script(Stall())
    reply = await tab.ask()
    await tab.until("Asking")
    request = await spare.until_requested()
    stored = await Message.objects.aget(pk=reply)
    assert (stored.upstream_id, stored.model) == (second.pk, "small")  # before it has answered
    await tab.send(action="stop", conversation=str(stored.conversation_id))
    await tab.until_ended()
    await request.until_closed()
    message = await load_ended_reply(reply)
    assert (message.ending, message.model) == ("stopped", "small")
    assert models_asked(spare) == ["small"]


async def test_closing_the_tab_ends_it_too(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    upstream.fail(401, BUSY)
    spare.script(Stall())
    await tab.ask()
    request = await spare.until_requested()
    await tab.close()
    await request.until_closed()
    assert models_asked(spare) == ["small"]


async def test_a_model_that_the_person_may_not_ask_is_not_asked_for_them(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    nobodys = await Group.objects.acreate(name="Nobody")
    await database_sync_to_async(AccessRule.objects.restrict_to)(
        [nobodys], upstream=second, model="small"
    )
    upstream.fail(401, BUSY)
    await tab.ask()
    assert "Answered by tiny" in await tab.until_ended()
    assert models_asked(spare) == ["tiny"]


async def test_without_a_usable_fallback_the_model_is_retried_as_usual(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    second.enabled = False
    await second.asave()
    for _ in range(3):
        upstream.fail(503, BUSY)
    reply = await tab.ask()
    assert "server failed" in await tab.until_ended()
    assert (len(upstream.chat_requests), len(spare.chat_requests)) == (3, 0)
    assert (await load_ended_reply(reply)).failed_models == ()


async def test_a_deleted_upstream_is_no_fallback(
    tab: Tab, upstream: FakeUpstream, second: Upstream
) -> None:
    await second.adelete()
    assert not await Fallback.objects.aexists()
    upstream.fail(401, BUSY)
    await tab.ask()
    assert "refused the key" in await tab.until_ended()


async def test_a_chat_that_is_too_long_for_a_model_goes_to_the_next(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    await Price.objects.acreate(upstream=second, model="small", context_tokens=5)
    upstream.fail(401, BUSY)
    await tab.ask()
    await tab.until_ended()
    assert models_asked(spare) == ["tiny"]


async def test_images_go_to_no_model_that_takes_none(desk: Desk, second: Upstream) -> None:
    second.model_images = {"small": False}
    await second.asave()
    image = ImagePart("aa/none", "image/png", 1, 1, 1)
    before = History.of([{"role": "user", "content": [image]}])
    turn = replace(await desk.ask(), before=BranchHistory(plain=before))
    fallbacks = fallback.Fallbacks(turn, plan_takeover, take_over)
    other = await fallbacks.next(UpstreamError(ErrorKind.UNREACHABLE), Usage.empty())
    assert other
    assert other.reply.model == "tiny"


async def test_without_a_database_the_reply_fails_as_it_would_without_a_fallback(
    desk: Desk, second: Upstream
) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("locked")

    turn = await desk.ask()
    fallbacks = fallback.Fallbacks(turn, plan_takeover, fail)
    error = UpstreamError(ErrorKind.UNREACHABLE)
    assert await fallbacks.next(error, Usage.empty()) is None
    assert turn.reply.model == "m"


# Limits and cost


async def limit(cap: int, **options: Any) -> Limit:
    fields = {"measure": "tokens", "period": "ever", "cap": cap} | options
    return await Limit.objects.acreate(**fields)


async def accounts() -> dict[str, tuple[int, int]]:
    rows = BudgetAccount.objects.select_related("limit")
    return {account.limit.model or "all": (account.spent, account.held) async for account in rows}


async def test_what_it_costs_is_charged_to_the_limits_of_the_model_that_answers(
    tab: Tab,
    upstream: FakeUpstream,
    saved_upstream: Upstream,
    spare: FakeUpstream,
    second: Upstream,
) -> None:
    for on in ((saved_upstream, MODEL), (second, "small"), (None, "")):
        await limit(100_000, upstream=on[0], model=on[1])
    upstream.fail(401, BUSY)
    spare.script(*answer("It is."))
    reply = await tab.ask()
    await tab.until_ended()
    total = (await load_ended_reply(reply)).usage.total_tokens
    assert await accounts() == {MODEL: (0, 0), "small": (total, 0), "all": (total, 0)}
    assert await Usage.objects.acount() == 1


async def test_a_fallback_beyond_the_budget_is_left_out(
    tab: Tab,
    upstream: FakeUpstream,
    saved_upstream: Upstream,
    spare: FakeUpstream,
    second: Upstream,
) -> None:
    await limit(10, upstream=second, model="small")
    await limit(100_000, upstream=saved_upstream, model=MODEL)
    upstream.fail(401, BUSY)
    await tab.ask()
    assert "Answered by tiny" in await tab.until_ended()
    assert models_asked(spare) == ["tiny"]
    held_amounts = [row.held async for row in BudgetAccount.objects.all()]
    assert set(held_amounts) == {0}
    assert not [row async for row in BudgetHold.objects.filter(settled_at=None)]


async def test_if_the_budget_allows_no_fallback_the_first_error_stays(
    tab: Tab, upstream: FakeUpstream, spare: FakeUpstream, second: Upstream
) -> None:
    await limit(10, upstream=second)
    upstream.fail(401, BUSY)
    reply = await tab.ask()
    assert "refused the key" in await tab.until_ended()
    message = await load_ended_reply(reply)
    assert (message.model, message.failed_models) == (MODEL, ())
    assert not spare.chat_requests


@pytest.mark.usefixtures("one_minute")
@pytest.mark.parametrize("measure", ["at_once", "a_minute"])
async def test_a_reply_counts_once_for_a_limit_on_both_models(
    tab: Tab, upstream: FakeUpstream, second: Upstream, measure: str
) -> None:
    await limit(1, measure=measure)
    upstream.fail(401, BUSY)
    reply = await tab.ask()
    assert "Answered by The small one" in await tab.until_ended()
    assert (await load_ended_reply(reply)).ending == "complete"
    assert await accounts() == {"all": (1 if measure == "a_minute" else 0, 0)}


async def test_a_model_that_timed_out_is_booked_by_itself(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream, second: Upstream
) -> None:
    saved_upstream.silence_seconds = 1
    await saved_upstream.asave()
    await limit(100_000, upstream=saved_upstream, model=MODEL)
    upstream.script(Stall())
    reply = await tab.ask()
    assert f"{MODEL} did not respond in time" in await tab.until_ended()
    message = await load_ended_reply(reply)
    assert message.usage.provenance == "reported"
    other = await Usage.objects.exclude(pk=reply).aget()
    assert (other.upstream_id, other.model, other.ending) == (saved_upstream.pk, MODEL, "timed_out")
    assert other.total_tokens
    assert await accounts() == {MODEL: (other.total_tokens, 0)}


async def test_a_reply_whose_process_dies_is_booked_with_the_model_that_was_asked_last(
    desk: Desk, saved_upstream: Upstream, second: Upstream
) -> None:
    turn = await desk.ask()
    await fallback.Fallbacks(turn, plan_takeover, take_over).next(
        UpstreamError(ErrorKind.UNREACHABLE), Usage.empty()
    )
    assert await database_sync_to_async(Message.objects.interrupt_orphans)() == 1
    message = await load_ended_reply(turn.reply.pk)
    assert (message.ending, message.upstream, message.model) == ("interrupted", second, "small")
    assert (message.usage.upstream_id, message.usage.model) == (second.pk, "small")
    assert [failure.upstream for failure in message.failed_models] == [saved_upstream.pk]


async def test_a_reply_that_was_ended_elsewhere_is_given_to_no_other_model(
    desk: Desk, saved_upstream: Upstream, second: Upstream
) -> None:
    turn = await desk.ask()
    await database_sync_to_async(Message.objects.interrupt_orphans)()
    fallbacks = fallback.Fallbacks(turn, plan_takeover, take_over)
    error = UpstreamError(ErrorKind.UNREACHABLE)
    assert await fallbacks.next(error, Usage.empty()) is None
    assert (await load_ended_reply(turn.reply.pk)).upstream == saved_upstream


# Side by side


async def test_side_by_side_a_fallback_says_whose_place_it_takes(
    tab: Tab,
    upstream: FakeUpstream,
    saved_upstream: Upstream,
    spare: FakeUpstream,
    second: Upstream,
) -> None:
    upstream.fail(401, BUSY)
    await tab.ask(model=f"{saved_upstream.pk}/{MODEL}", others=f"{second.pk}/small")
    for _ in range(2):
        await tab.until_ended()
    frames = "".join(tab.frames)
    replies = [reply async for reply in Message.objects.filter(role="assistant").order_by("slot")]
    assert [reply.model for reply in replies] == ["small", "small"]
    assert [bool(reply.failed_models) for reply in replies] == [True, False]
    assert f"innerHTML target:.by-{replies[0].pk}" in frames
    assert f"innerHTML target:.by-{replies[1].pk}" not in frames
