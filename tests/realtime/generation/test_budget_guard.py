"""A reply under a limit: what it tells its upstream, and when it ends."""

import asyncio
from uuid import uuid4

import pytest
from django.db import OperationalError

from chatapp.models import BudgetAccount, BudgetHold, Limit, Upstream, Usage
from chatapp.models.billing import reservations, tool_tokens
from chatapp.realtime.generation import budget_guard
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.upstream.wire.events import AnswerDelta, ReasoningDelta, StreamDone, ToolCallDelta
from chatapp.upstream.wire.requests.dialects import RequestOptions
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY
from tests.realtime.generation.replies import call
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Stall,
    delta,
    done,
    finish,
    role,
    usage,
)
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

AT_ONCE = 256 * 1024  # bytes that asyncio reads from a socket
CLOCK = "current_date_and_time"


@pytest.fixture(autouse=True)
def tools_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_tokens, "tokens_by_upstream", {})


async def alimit(cap: int) -> Limit:
    return await Limit.objects.acreate(cap=cap, measure="tokens", period="ever")


def text(count: int) -> bytes:
    """Return a delta of `count` bytes."""
    return delta("word " * (count // 5))


async def until_held(tokens: int) -> None:
    async with asyncio.timeout(10):
        while (await BudgetHold.objects.aget()).held < tokens:  # noqa: ASYNC110 - polls a database
            await asyncio.sleep(0.01)


async def account() -> tuple[int, int, int]:
    account = await BudgetAccount.objects.aget()
    return account.spent, account.held, account.overrun


async def test_without_a_limit_no_max_tokens_is_sent(tab: Tab, upstream: FakeUpstream) -> None:
    await tab.ask()
    await tab.until_ended()
    assert "max_tokens" not in upstream.chat_requests[0].body


async def test_max_tokens_is_what_the_budget_affords(tab: Tab, upstream: FakeUpstream) -> None:
    await alimit(4000)
    upstream.script(role(), delta("As much as"), finish("length"), usage(900, 100), done())
    reply = await tab.ask("Why?")
    await tab.until_ended()
    [chat_request] = upstream.chat_requests
    assert 1000 < chat_request.body["max_tokens"] < 4000
    message = await load_reply(reply)
    assert (message.ending, message.content) == ("over_budget", "As much as")
    assert await account() == (1000, 0, 0)


async def test_a_large_budget_sends_no_max_tokens(tab: Tab, upstream: FakeUpstream) -> None:
    await alimit(10**9)
    upstream.script(role(), delta("As much as"), finish("length"), usage(9, 1), done())
    reply = await tab.ask("Why?")
    await tab.until_ended()
    assert "max_tokens" not in upstream.chat_requests[0].body
    assert (await load_reply(reply)).ending == "length"


async def test_a_reply_reserves_more_until_the_budget_is_used_up_and_keeps_its_text(
    tab: Tab, upstream: FakeUpstream
) -> None:
    await alimit(9000)
    first, second = Pause(), Pause()
    upstream.script(role(), text(1500), first, text(3000), second, text(2000), text(3000), Stall())
    reply = await tab.ask("Why?")
    await until_held(5000)
    first.release()
    await until_held(9000)
    second.release()
    await tab.until_ended()
    [chat_request] = upstream.chat_requests
    await chat_request.until_closed()
    message = await load_reply(reply)
    assert message.ending == "over_budget"
    assert len(message.content) == 9500
    hold = await BudgetHold.objects.aget()
    assert (hold.held, hold.spent) == (0, message.usage.total_tokens)
    assert await account() == (hold.spent, 0, 0)


async def test_a_fast_reply_ends_before_more_could_be_reserved(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(_: object) -> None:
        raise OperationalError("busy")

    monkeypatch.setattr(reservations, "grow", too_late)
    await alimit(20_000)
    upstream.script(role(), *[text(10_000)] * 400, Stall())
    reply = await tab.ask("Why?")
    await tab.until_ended()
    [chat_request] = upstream.chat_requests
    await chat_request.until_closed()
    message = await load_reply(reply)
    assert message.ending == "over_budget"
    assert len(message.content) < 20_000 + AT_ONCE


async def test_each_round_is_admitted_again(tab: Tab, upstream: FakeUpstream) -> None:
    await alimit(8000)
    upstream.script(
        role(), delta("Let me see."), call(CLOCK, "{}"), finish("tool_calls"), usage(5000, 2900)
    )
    reply = await tab.ask("What time is it?")
    await tab.until_ended()
    assert len(upstream.chat_requests) == 1
    message = await load_reply(reply)
    assert message.ending == "over_budget"
    assert message.earlier_rounds[0]["content"] == "Let me see."
    assert await account() == (7900, 0, 0)


async def test_a_refused_prompt_is_returned_unsent(tab: Tab, upstream: FakeUpstream) -> None:
    await alimit(100)
    prompt = str(uuid4())
    await tab.send(action="prompt", message="Why?", prompt=prompt)
    frame = await tab.until("100 left of the 100 tokens in total for everybody.")
    assert '<a href="/limits/me/">Your limits</a>' in frame
    assert f'data-prompt="{prompt}"' in frame
    assert upstream.chat_requests == []


async def test_tools_that_exceed_the_budget_are_left_out_of_the_first_request(
    tab: Tab, upstream: FakeUpstream
) -> None:
    """They were not known yet when the prompt was admitted, and now are."""
    await alimit(600)
    upstream.script(role(), delta("So."), finish(), usage(20, 5), done())
    reply = await tab.ask("Why?")
    await tab.until_ended()
    [chat_request] = upstream.chat_requests
    assert "tools" not in chat_request.body
    assert chat_request.body["max_tokens"] > 150
    assert (await load_reply(reply)).ending == "complete"
    await tab.send(action="prompt", message="Why?", prompt=str(uuid4()))
    page_text = await tab.until("This prompt may need up to")
    assert "shorten it." in page_text
    assert "start a new chat" not in page_text
    assert len(upstream.chat_requests) == 1


@pytest.mark.parametrize(
    ("parameters", "base_url", "dialect", "expected"),
    [
        ({}, "http://gw/v1", "auto", {"max_tokens": 50}),
        ({}, "https://api.openai.com/v1", "auto", {"max_completion_tokens": 50}),
        ({}, "http://gw/v1", "openai", {"max_completion_tokens": 50}),
        ({"max_tokens": 20}, "http://gw/v1", "auto", {"max_tokens": 20}),
        ({"max_tokens": 200, "n": 2}, "http://gw/v1", "auto", {"max_tokens": 25, "n": 2}),
        ({"max_completion_tokens": 99}, "http://gw/v1", "auto", {"max_completion_tokens": 50}),
        ({"max_tokens": "many"}, "http://gw/v1", "auto", {"max_tokens": 50}),
    ],
)
async def test_the_limit_is_sent_under_the_name_the_upstream_knows(
    parameters: dict[str, object], base_url: str, dialect: str, expected: dict[str, object]
) -> None:
    upstream = Upstream(pk=1, base_url=base_url, dialect=dialect)
    reservation = reservations.Reservation(
        message=uuid4(), holds={}, price=None, prompt=10**6, affordable=50
    )
    options = RequestOptions([], parameters)
    guard = BudgetGuard(reservation, lambda: None)
    sent_options = await guard.admit_request(
        PromptSize.of(EMPTY_HISTORY), Usage.empty(), options, upstream, "m"
    )
    assert sent_options.parameters == expected
    assert guard.was_cut_short == (expected != parameters)


async def test_a_request_goes_on_during_a_database_outage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: object) -> bool:
        raise OperationalError("away")

    monkeypatch.setattr(budget_guard, "admit_again", away)
    reservation = reservations.Reservation(message=uuid4(), holds={}, price=None, affordable=10**6)
    ended: list[bool] = []
    guard = BudgetGuard(reservation, lambda: ended.append(True))
    upstream = Upstream(pk=1, base_url="http://gw/v1")
    options = RequestOptions()
    size = PromptSize.of(EMPTY_HISTORY)
    assert await guard.admit_request(size, Usage.empty(), options, upstream, "m") == options
    guard.count([AnswerDelta("왜"), ReasoningDelta("x"), ToolCallDelta(0, "a", "f", "{}")])
    guard.count([StreamDone()])
    assert (reservation.written, ended) == (3 + 1 + 3, [])
