"""The cost of replies in money: at which price, and that no token is paid for twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatapp.models import Conversation, Price, Upstream, Usage
from chatapp.models.billing.prices import DOLLAR, MAX_COST, MAX_PRICE
from chatapp.models.conversations.messages.costs import Cost
from chatapp.rendering.fragments.words import usage_details
from chatapp.upstream.wire.events import SourcesCited, TokenUsage, UsageReported
from chatapp.upstream.wire.model_list import ListedModel
from chatapp.upstream.wire.model_prices import ListedPrice
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY
from chatapp.upstream.wire.sources import Source
from tests.support.stored import MODEL, begin_turn, build_reply, end

pytestmark = pytest.mark.django_db

CENT = DOLLAR // 100
YESTERDAY = timezone.now() - timedelta(days=1)


def price(gateway: Upstream, source: str = "administrator", **figures: Any) -> Price:
    """Set a price that has been valid since yesterday."""
    fields = {"holds_from": YESTERDAY, "model": MODEL} | figures
    return Price.objects.create(upstream=gateway, source=source, **fields)


def book_reply(
    conversation: Conversation,
    gateway: Upstream,
    tokens: TokenUsage | None = None,
    provenance: Usage.Provenance = Usage.Provenance.REPORTED,
) -> Usage:
    """Book a reply of a million tokens in and two million out, or of these."""
    tokens = tokens or TokenUsage(1_000_000, 2_000_000, 3_000_000)
    _, reply = begin_turn(conversation, gateway, "Why?")
    end(reply, build_reply("So."), usage=Usage.from_tokens(provenance, tokens))
    return Usage.objects.get(pk=reply.pk)


@pytest.mark.parametrize(
    ("figures", "tokens", "cost"),
    [
        ({}, TokenUsage(1000, 500, 1500), 20_000),
        ({}, TokenUsage(1000, 500, 1500, cached_tokens=400, reasoning_tokens=300), 20_000),
        ({"cached": 1 * DOLLAR}, TokenUsage(1000, 500, 1500, cached_tokens=400), 16_400),
        ({"cached": 0}, TokenUsage(1000, 0, 1000, cached_tokens=1000), 0),
        ({"cache_write": 12 * DOLLAR}, TokenUsage(1000, 0, 1000, cache_write_tokens=100), 10_200),
        ({"reasoning": 40 * DOLLAR}, TokenUsage(0, 500, 500, reasoning_tokens=100), 12_000),
        # Counts that an upstream got wrong are not paid for twice.
        ({"cached": 1 * DOLLAR}, TokenUsage(10, 0, 10, cached_tokens=99, cache_write_tokens=9), 10),
        ({}, TokenUsage(0, 5, 5, reasoning_tokens=99), 100),
        ({}, TokenUsage(0, 0, 0), 0),
    ],
)
def test_cached_and_reasoning_tokens_are_parts_and_never_paid_twice(
    gateway: Upstream, figures: dict[str, int], tokens: TokenUsage, cost: int
) -> None:
    fields: dict[str, Any] = {"input": 10 * DOLLAR, "output": 20 * DOLLAR} | figures
    assert price(gateway, **fields).cost(tokens) == cost * (DOLLAR // 10**6)


def test_fractions_of_a_nano_dollar_are_rounded(gateway: Upstream) -> None:
    cheap = price(gateway, input=37_500_000, output=0)  # 37.5 nano-dollars a token
    assert [cheap.cost(TokenUsage(count, 0, count)) for count in (1, 2, 3)] == [38, 75, 113]
    assert cheap.at_most(1, 0) == 38


def test_a_cost_is_capped_so_that_sums_fit_the_database(gateway: Upstream) -> None:
    dear = price(gateway, input=MAX_PRICE, output=MAX_PRICE)
    assert dear.cost(TokenUsage(10**12, 10**12, 2 * 10**12)) == MAX_COST
    assert dear.at_most(10**12, 10**12) == MAX_COST


def test_a_reply_is_booked_with_its_price(conversation: Conversation, gateway: Upstream) -> None:
    price(gateway, input=10 * CENT, output=20 * CENT)
    usage = book_reply(conversation, gateway)
    assert usage.cost == 50 * CENT
    assert usage.price
    assert usage.price["input"] == 10 * CENT
    assert usage.price["source"] == "administrator"


def test_an_estimate_gets_a_cost_and_stays_an_estimate(
    conversation: Conversation, gateway: Upstream
) -> None:
    price(gateway, input=10 * CENT, output=20 * CENT)
    usage = book_reply(conversation, gateway, provenance=Usage.Provenance.ESTIMATED)
    assert (usage.cost, usage.provenance) == (50 * CENT, "estimated")


def test_a_model_without_a_price_counts_only_tokens(
    conversation: Conversation, gateway: Upstream
) -> None:
    price(gateway, model="another", input=1, output=1)
    price(gateway, input=1)  # and no price for the output
    usage = book_reply(conversation, gateway)
    assert (usage.cost, usage.price, usage.total_tokens) == (None, None, 3_000_000)


def test_the_cost_reported_by_the_gateway_overrides_every_price(
    conversation: Conversation, gateway: Upstream
) -> None:
    price(gateway, source="gateway", input=10 * CENT, output=20 * CENT)
    usage = book_reply(conversation, gateway, TokenUsage(100, 20, 120, cost=12_300_000))
    assert (usage.cost, usage.price) == (12_300_000, {"source": "reported"})
    assert usage.has_reported_cost
    assert "cost as the provider reported it" in usage_details(usage)
    free = book_reply(conversation, gateway, TokenUsage(100, 20, 120, cost=0))
    assert (free.cost, free.has_reported_cost) == (0, True)


def test_a_computed_cost_is_never_taken_for_a_reported_one(
    conversation: Conversation, gateway: Upstream
) -> None:
    price(gateway, input=10 * CENT, output=20 * CENT)
    _, reply = begin_turn(conversation, gateway, "Why?")
    usage = Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(10**6, 0, 10**6))
    for _ in range(2):  # as if the reply were saved again
        reply.bill(usage)
        assert (usage.cost, usage.has_reported_cost) == (10 * CENT, False)


def test_rounds_have_a_reported_cost_only_if_every_round_does() -> None:
    def record(tokens: TokenUsage | None) -> dict[str, Any]:
        provenance = Usage.Provenance.REPORTED if tokens else Usage.Provenance.UNKNOWN
        return Usage.from_tokens(provenance, tokens).as_record()

    charged, other = TokenUsage(1, 2, 3, cost=5), TokenUsage(1, 2, 3)
    assert Usage.sum_rounds([record(charged), record(charged)]).cost == 10
    assert Usage.sum_rounds([record(charged), record(other)]).cost is None
    assert Usage.sum_rounds([record(charged), record(None)]).cost is None
    old = {name: value for name, value in record(other).items() if name != "cost"}
    assert Usage.sum_rounds([record(charged), old]).total_tokens == 6  # version 0.4 had no cost


def test_unknown_usage_has_no_cost(conversation: Conversation, gateway: Upstream) -> None:
    price(gateway, input=CENT, output=CENT)
    _, reply = begin_turn(conversation, gateway, "Why?")
    end(reply, build_reply("So."))
    assert Usage.objects.get().cost is None


def test_a_new_price_does_not_change_past_costs(
    conversation: Conversation, gateway: Upstream
) -> None:
    price(gateway, input=10 * CENT, output=20 * CENT)
    before = book_reply(conversation, gateway)
    price(gateway, input=DOLLAR, output=DOLLAR, holds_from=timezone.now())
    assert book_reply(conversation, gateway).cost == 3 * DOLLAR
    Price.objects.all().delete()
    before.refresh_from_db()
    assert before.cost == 50 * CENT


def test_a_reply_is_priced_as_of_its_request(conversation: Conversation, gateway: Upstream) -> None:
    price(gateway, input=10 * CENT, output=20 * CENT)
    _, reply = begin_turn(conversation, gateway, "Why?")
    price(gateway, input=DOLLAR, output=DOLLAR, holds_from=timezone.now())
    tokens = TokenUsage(1_000_000, 0, 1_000_000)
    for _ in range(2):  # a second time as if its process had been taken for dead
        end(reply, build_reply("So."), usage=Usage.from_tokens(Usage.Provenance.REPORTED, tokens))
        assert Usage.objects.get().cost == 10 * CENT


def test_the_gateways_price_takes_precedence_and_the_librarys_comes_last(gateway: Upstream) -> None:
    def find_input_price() -> int | None:
        current_price = Price.find(gateway.pk, MODEL)
        return current_price.input if current_price else None

    assert find_input_price() is None
    price(gateway, "genai-prices", input=3, output=3)
    assert find_input_price() == 3
    price(gateway, "administrator", input=2, output=2)
    assert find_input_price() == 2
    price(gateway, "gateway", input=1, output=1)
    assert find_input_price() == 1
    price(gateway, "gateway", holds_from=timezone.now())  # its list has no price any more
    assert find_input_price() == 2
    price(gateway, "administrator", input=9, output=9, holds_from=datetime(2100, 1, 1, tzinfo=UTC))
    assert find_input_price() == 2


def test_a_context_size_is_stored_beside_a_price(gateway: Upstream) -> None:
    price(gateway, "administrator", input=1, output=1)
    assert Price.find_context_tokens(gateway.pk, MODEL) is None
    price(gateway, "gateway", context_tokens=8192)
    assert Price.find_context_tokens(gateway.pk, MODEL) == 8192
    current_price = Price.find(gateway.pk, MODEL)
    assert current_price
    assert current_price.source == "administrator"


LISTED = ListedPrice(input=3, output=5, cached=1)


def list_price_rows() -> list[tuple[str, int | None, int | None]]:
    rows = Price.objects.order_by("pk")
    return [(row.model, row.input, row.context_tokens) for row in rows]


def test_a_listed_price_is_stored_only_when_it_changes(gateway: Upstream) -> None:
    listed = [ListedModel("a", context_tokens=8192, price=LISTED), ListedModel("b")]
    assert Price.update_from_list(gateway.pk, listed) == 1
    assert Price.update_from_list(gateway.pk, listed) == 0
    assert list_price_rows() == [("a", 3, 8192)]
    dearer = replace(LISTED, input=4)
    assert Price.update_from_list(gateway.pk, [ListedModel("a", price=dearer)]) == 1
    assert Price.update_from_list(gateway.pk, [ListedModel("b", price=LISTED)]) == 2  # "a" is gone
    assert list_price_rows() == [("a", 3, 8192), ("a", 4, None), ("a", None, None), ("b", 3, None)]
    assert Price.find(gateway.pk, "a") is None
    current_price = Price.find(gateway.pk, "b")
    assert current_price
    assert (current_price.source, current_price.cached) == ("gateway", 1)


def test_a_computed_cost_leaves_out_fees_for_searches_and_says_so(
    conversation: Conversation, gateway: Upstream
) -> None:
    price(gateway, input=10 * CENT, output=20 * CENT)
    searched = book_reply(conversation, gateway, TokenUsage(10**6, 0, 10**6, extra_fees=2))
    assert (searched.cost, searched.extra_fees) == (10 * CENT, 2)
    assert searched.has_partial_cost
    assert "cost without the provider's fees for searches and tools" in usage_details(searched)
    plain = book_reply(conversation, gateway, TokenUsage(10**6, 0, 10**6))
    assert not plain.has_partial_cost


def test_a_reported_cost_has_all_fees(conversation: Conversation, gateway: Upstream) -> None:
    price(gateway, input=10 * CENT, output=20 * CENT)
    usage = book_reply(conversation, gateway, TokenUsage(1, 2, 3, extra_fees=2, cost=CENT))
    assert (usage.cost, usage.extra_fees, usage.has_partial_cost) == (CENT, None, False)


def test_an_unknown_cost_is_not_a_partial_one(
    conversation: Conversation, gateway: Upstream
) -> None:
    usage = book_reply(conversation, gateway, TokenUsage(1, 2, 3, extra_fees=2))
    assert (usage.cost, usage.has_partial_cost) == (None, False)


def test_fees_of_all_rounds_add_up() -> None:
    records = [
        Usage.from_tokens(
            Usage.Provenance.REPORTED, TokenUsage(1, 2, 3, extra_fees=fees)
        ).as_record()
        for fees in (2, None, 1)
    ]
    assert ["extra_fees" in record for record in records] == [True, False, True]
    assert Usage.sum_rounds(records).extra_fees == 3


def test_a_reply_that_cites_sources_has_searched() -> None:
    cost, reply = Cost(), build_reply("So.")
    reply.apply(UsageReported(TokenUsage(1, 2, 3)))
    cost.begin_try(PromptSize.of(EMPTY_HISTORY))
    assert cost.usage([reply]).extra_fees is None
    reply.apply(SourcesCited((Source("https://a.example/one"),)))
    assert cost.usage([reply]).extra_fees == 1
    reply.apply(UsageReported(TokenUsage(1, 2, 3, extra_fees=4)))
    assert cost.usage([reply]).extra_fees == 4
