"""The pages of limits and prices: setting them, and what people see of their own limits."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatapp.erasure.people import erase
from chatapp.models import (
    AuditDetail,
    AuditEvent,
    BudgetAccount,
    Limit,
    Price,
    Upstream,
    Usage,
    User,
)
from chatapp.models.billing.limits import Measure, Period
from chatapp.models.billing.prices import DOLLAR
from chatapp.staff.limits.forms import LimitForm
from tests.conftest import signed_in
from tests.support.allowed import limit, store_price
from tests.support.stored import MODEL, new_conversation, store_turn

pytestmark = pytest.mark.django_db

MARKUP = "<script>alert(1)</script>"


def page_text(client: Client, path: str = "/limits/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def post(client: Client, path: str, **fields: Any) -> str:
    """Return the text of the page that follows a post: the form again if it was refused."""
    answer = client.post(path, fields, follow=True)
    assert answer.status_code == 200, answer.content.decode()
    return " ".join(answer.content.decode().split())


def fields(**overrides: Any) -> dict[str, Any]:
    return {"amount": "1000", "measure": "tokens", "period": "day", "whose": "each"} | overrides


# Setting limits


def test_without_limits_the_page_says_when_new_ones_apply(olives: Client) -> None:
    assert "No limits yet. New limits apply from the next prompt." in page_text(olives)


@pytest.mark.parametrize(
    ("entered", "expected"),
    [
        ({}, "1,000 tokens a day for each person"),
        ({"whose": "all", "period": "ever"}, "1,000 tokens in total for everybody"),
        ({"measure": "money", "amount": "12.5"}, "$12.50 a day for each person"),
        ({"measure": "a_minute", "amount": "1"}, "1 reply a minute for each person"),
        ({"measure": "at_once", "amount": "3"}, "3 replies at once for each person"),
        ({"whose": "person", "person": "Alice"}, "1,000 tokens a day for alice"),
        ({"whose": "group", "group": "team"}, "for the group team"),
        ({"whose": "group_each", "group": "team"}, "for each person of the group team"),
        ({"upstream": "Fake"}, "for each person, with Fake"),
        ({"upstream": "Fake", "model": "m"}, "for each person, with m"),
    ],
)
def test_an_administrator_sets_a_limit(
    olives: Client, alice: User, saved_upstream: Upstream, entered: dict[str, str], expected: str
) -> None:
    named: dict[str, object] = dict(entered)
    if "group" in entered:
        named["group"] = Group.objects.create(name="team").pk
    if "upstream" in entered:
        named["upstream"] = saved_upstream.pk
    page = post(olives, "/limits/new/", **fields(**named))
    assert "Limit added: " in page
    assert expected in page
    made = Limit.objects.get()
    assert expected in str(made)
    assert AuditEvent.objects.filter(action="limit.added", target=str(made.pk)).exists()
    # The form that changes it shows the same values.
    before = Limit.objects.values().get()
    again = {
        name: initial_value
        for name, initial_value in LimitForm(limit=made).initial.items()
        if initial_value is not None
    }
    for value in filter(None, map(str, again.values())):
        assert f'value="{value}"' in page_text(olives, f"/limits/{made.pk}/")
    assert "Limit changed" in post(olives, f"/limits/{made.pk}/", **again)
    assert Limit.objects.values().get() == before


@pytest.mark.parametrize(
    ("entered", "expected"),
    [
        ({"amount": ""}, "This field is required."),
        ({"amount": "-1"}, "greater than or equal to 0"),
        ({"amount": "1.5"}, "Enter a whole number; only US dollars have cents."),
        ({"amount": "1e30"}, "no more than"),
        ({"amount": "NaN"}, "Enter a number."),
        ({"amount": "9" * 15, "measure": "money"}, "This amount is too large."),
        ({"measure": "minutes"}, "Select a valid choice."),
        ({"whose": "person"}, "Choose a person."),
        ({"whose": "person", "person": "nobody"}, "Nobody has this username or email address."),
        ({"whose": "person", "person": "a\x00b"}, "Null characters are not allowed."),
        ({"whose": "group"}, "Choose a group."),
        ({"whose": "group", "group": "999"}, "Select a valid choice."),
        ({"model": "m"}, "Choose the provider that has this model."),
        ({"whom_to_ask": "x" * 101}, "at most 100 characters"),
    ],
)
def test_an_invalid_limit_is_refused_with_an_error_at_its_field(
    olives: Client, entered: dict[str, str], expected: str
) -> None:
    assert expected in post(olives, "/limits/new/", **fields(**entered))
    assert not Limit.objects.exists()
    assert not AuditEvent.objects.filter(action="limit.added").exists()


@pytest.fixture
def used_last_month(alice: User, bob: User, saved_upstream: Upstream) -> None:
    now = timezone.now()
    last_month = Period.MONTH.around(now)[0] - timedelta(hours=1)
    for user, model, tokens, moment in (
        (alice, "m", 700, last_month),
        (alice, "n", 200, last_month),
        (bob, "m", 50, last_month),
        (bob, "m", 9_999, now),
    ):
        Usage.objects.create(
            message_id=uuid4(),
            user=user,
            upstream=saved_upstream,
            model=model,
            provenance="reported",
            booked_at=moment,
            total_tokens=tokens,
            cost=tokens * DOLLAR,
        )


@pytest.mark.parametrize(
    ("entered", "expected"),
    [
        ({}, "concerns 3 people. Last month they used 950 tokens in all. The most: alice 900"),
        ({"measure": "money"}, "they used $950.00 in all."),
        ({"whose": "person", "person": "bob"}, "concerns 1 person. Last month they used 50 tokens"),
        ({"whose": "group_each", "group": "team"}, "concerns 1 person. Last month they used 900"),
        ({"model": "n"}, "concerns 3 people. Last month they used 200 tokens in all."),
        ({"model": "other"}, "concerns 3 people. Last month they used nothing of it."),
        ({"measure": "at_once"}, "concerns 3 people. </p>"),
        ({"amount": ""}, ""),
        ({"whose": "person", "person": "nobody"}, ""),
    ],
)
def test_the_preview_says_whom_a_limit_concerns_and_what_they_used(
    olives: Client,
    alice: User,
    saved_upstream: Upstream,
    used_last_month: None,
    entered: dict[str, Any],
    expected: str,
) -> None:
    if "group" in entered:
        team = Group.objects.create(name="team")
        team.user_set.add(alice)
        entered = entered | {"group": team.pk}
    if "model" in entered:
        entered = entered | {"upstream": saved_upstream.pk}
    answer = olives.get("/limits/preview/", fields(**entered))
    text = re.sub(r"</?span[^>]*>", "", " ".join(answer.text.split()))
    assert expected in text
    assert bool(expected) == bool(text)
    assert not Limit.objects.exists()


def test_changing_the_cap_keeps_usage_and_changing_the_unit_resets_it(olives: Client) -> None:
    stored_limit = limit(500, period="day")
    BudgetAccount.objects.create(limit=stored_limit, spent=400, held=50, since=timezone.now())
    post(olives, f"/limits/{stored_limit.pk}/", **fields(whose="all", amount="800"))
    assert "400 of 800 tokens left" in page_text(olives)
    post(olives, f"/limits/{stored_limit.pk}/", **fields(whose="all", amount="8", measure="money"))
    assert not BudgetAccount.objects.exists()
    assert AuditEvent.objects.filter(action="limit.changed").count() == 2


CHANGES = {
    "measure": {"measure": "money"},
    "cap": {"amount": "800"},
    "period": {"period": "month"},
    "user": {"whose": "person", "person": "alice"},
    "group": {"whose": "group", "group": "team"},
    "upstream": {"upstream": "Fake"},
    "model": {"upstream": "Fake", "model": "m"},
    "is_each": {"whose": "each"},
}


def test_changes_covers_every_field_of_a_limit() -> None:
    names = {field.name for field in Limit._meta.fields}
    assert names - {"id", "whom_to_ask"} == CHANGES.keys()


def test_the_log_names_neither_the_person_of_a_limit_nor_its_contact(
    olives: Client, olive: User, alice: User, bob: User
) -> None:
    personal = {"whose": "person", "person": "alice", "whom_to_ask": "Alice's neighbour"}
    post(olives, "/limits/new/", **fields(**personal))
    stored_limit = Limit.objects.get()
    page = f"/limits/{stored_limit.pk}/"
    post(olives, page, **fields(whose="person", person="bob", whom_to_ask="Alice herself"))
    event = AuditEvent.objects.get(action="limit.changed")
    assert event.detail.values == {"before": {"user": alice.pk}, "after": {"user": bob.pk}}
    assert '<td dir="auto">alice</td>' in page_text(olives, "/audit/")
    assert f">{Limit.objects.get()}</a>" in page_text(olives, "/audit/")
    erase([alice])
    assert "alice" not in "".join(AuditDetail.objects.values_list("content", flat=True)).lower()
    assert f">person {event.detail.values['before']['user']}, erased</td>" in page_text(
        olives, "/audit/"
    )


@pytest.mark.parametrize("name", CHANGES)
def test_the_log_has_each_changed_field_of_a_limit_before_and_after(
    olives: Client, alice: User, saved_upstream: Upstream, name: str
) -> None:
    entered: dict[str, Any] = dict(CHANGES[name])
    if "group" in entered:
        entered["group"] = Group.objects.create(name="team").pk
    if "upstream" in entered:
        entered["upstream"] = saved_upstream.pk
    stored_limit = limit(500, period="day")
    page = f"/limits/{stored_limit.pk}/"
    post(olives, page, **(fields(whose="all", amount="500") | entered))
    logged = AuditEvent.objects.get(action="limit.changed").detail.values
    assert logged["before"][name] != logged["after"][name]
    assert logged["before"].keys() == logged["after"].keys()
    changed = {key for key in logged["after"] if logged["before"][key] != logged["after"][key]}
    assert changed == logged["after"].keys()


def test_removing_a_limit_removes_its_accounts(olives: Client, alice: User) -> None:
    stored_limit = limit(500)
    BudgetAccount.objects.create(limit=stored_limit, spent=400)
    assert "Limit removed: 500 tokens in total" in post(
        olives, f"/limits/{stored_limit.pk}/remove/"
    )
    assert not Limit.objects.exists()
    assert AuditEvent.objects.filter(action="limit.deleted").exists()
    assert olives.post(f"/limits/{stored_limit.pk}/remove/").status_code == 404
    assert olives.get(f"/limits/{10**30}/").status_code == 404


def test_the_page_shows_usage_overrun_and_when_each_limit_resets(
    olives: Client, alice: User, bob: User
) -> None:
    each = limit(1000, period="day", is_each=True)
    limit(5, measure=Measure.AT_ONCE)
    now = timezone.now()
    BudgetAccount.objects.create(limit=each, user=alice, spent=1200, overrun=200, since=now)
    BudgetAccount.objects.create(limit=each, user=bob, spent=700, since=now - timedelta(days=2))
    page = page_text(olives)
    assert "0 of 1,000 tokens left, 200 tokens over the limit" in page
    assert "tomorrow at 00:00 (UTC)</time>" in page
    assert "0 of 5 running" in page
    assert "bob" not in page  # he has used nothing today


def test_only_administrators_set_limits_and_prices(
    alices: Client, saved_upstream: Upstream
) -> None:
    stored_limit, price = limit(500), store_price(saved_upstream, 1, 1)
    for path in ("new/", f"{stored_limit.pk}/", f"{stored_limit.pk}/remove/", "prices/new/", ""):
        assert alices.post(f"/limits/{path}", fields()).status_code in (403, 405)
    assert alices.post(f"/limits/prices/{price.pk}/remove/").status_code == 403
    assert (Limit.objects.count(), Price.objects.count()) == (1, 1)


# Prices


def price_fields(connected: Upstream, **overrides: Any) -> dict[str, Any]:
    figures = {"input": "2.5", "output": "10", "holds_from": "2026-01-31"}
    return {"upstream": connected.pk, "model": MODEL} | figures | overrides


def test_an_administrator_adds_a_price_and_removes_it(
    olives: Client, saved_upstream: Upstream
) -> None:
    page = post(olives, "/limits/prices/new/", **price_fields(saved_upstream, cached="0.0375"))
    assert "Price added" in page
    price = Price.objects.get()
    assert (price.input, price.output, price.cached) == (25 * DOLLAR // 10, 10 * DOLLAR, 37_500_000)
    assert (price.reasoning, price.holds_from.isoformat()) == (None, "2026-01-31T00:00:00+00:00")
    assert "$2.50" in page_text(olives)
    post(
        olives,
        "/limits/prices/new/",
        **price_fields(saved_upstream, input="3", context_tokens="8000"),
    )
    assert "Price removed" in post(olives, f"/limits/prices/{price.pk}/remove/")
    events = AuditEvent.objects.filter(action="price.changed").order_by("sequence")
    first, second, removed = [event.detail.values for event in events]
    assert (first.get("before"), removed.get("after")) == (None, None)
    assert removed["before"] == second["before"] == first["after"]
    assert (first["after"]["upstream"], first["after"]["cached"]) == ("Fake", 37_500_000)
    assert (second["after"]["input"], second["after"]["context_tokens"]) == (3 * DOLLAR, 8000)


def test_an_administrator_edits_a_price(olives: Client, saved_upstream: Upstream) -> None:
    post(olives, "/limits/prices/new/", **price_fields(saved_upstream, cached="0.0375"))
    price = Price.objects.get()
    address = f"/limits/prices/{price.pk}/"
    assert address in page_text(olives)
    assert 'value="0.0375"' in page_text(olives, address)
    assert "Price changed" in post(olives, address, **price_fields(saved_upstream, output="12"))
    changed = Price.objects.get()
    assert (changed.pk, changed.output, changed.cached) == (price.pk, 12 * DOLLAR, None)


def test_a_gateways_own_price_is_shown_and_cannot_be_removed(
    olives: Client, saved_upstream: Upstream
) -> None:
    price = store_price(saved_upstream, 1, 2)
    Price.objects.update(source="gateway")
    assert "<td>the provider" in page_text(olives)
    assert olives.post(f"/limits/prices/{price.pk}/remove/").status_code == 404


@pytest.mark.parametrize(
    "wrong",
    [
        {"input": ""},
        {"output": "-1"},
        {"input": "1e20"},
        {"cached": "cheap"},
        {"model": ""},
        {"model": "a\x00b"},
        {"model": "m" * 201},
        {"upstream": "999"},
        {"holds_from": "tomorrow"},
        {"holds_from": "9999-12-31"},
        {"holds_from": "0001-01-01"},
        {"context_tokens": "-1"},
        {"context_tokens": "9" * 30},
    ],
)
def test_an_invalid_price_is_refused(
    olives: Client, saved_upstream: Upstream, wrong: dict[str, str]
) -> None:
    page = post(olives, "/limits/prices/new/", **price_fields(saved_upstream, **wrong))
    assert 'class="errors"' in page
    assert not Price.objects.exists()


def test_models_without_a_known_price_are_listed(
    olives: Client, alice: User, saved_upstream: Upstream
) -> None:
    store_turn(new_conversation(alice), saved_upstream, "Why?")
    assert "These models have no known price" not in page_text(
        olives
    )  # as its usage is unknown, too
    report_usage(alice)
    assert "These models have no known price" in page_text(olives)
    assert f"upstream={saved_upstream.pk}&amp;model=google%2Fgemini-3-flash" in page_text(olives)
    store_price(saved_upstream, 1, 1)
    assert "These models have no known price" not in page_text(olives)


def report_usage(person: User) -> None:
    person.usage.update(total_tokens=30, prompt_tokens=10, completion_tokens=20)


# What people see


def test_people_without_limits_are_told_so(alices: Client) -> None:
    assert "You have no limits" in page_text(alices, "/limits/me/")


def test_people_see_their_usage_of_this_month(
    alices: Client, alice: User, saved_upstream: Upstream
) -> None:
    store_price(saved_upstream, 1000, 2000)
    store_turn(new_conversation(alice), saved_upstream, "Why?")
    assert "0 tokens, cost unknown." in page_text(alices, "/limits/me/")
    report_usage(alice)
    alice.usage.update(cost=50_000, provenance="estimated")
    page = page_text(alices, "/limits/me/")
    assert "30 tokens (30 estimated), $0.00005 ($0.00005 estimated)." in page
    alice.usage.update(extra_fees=1)
    assert "(30 estimated), at least $0.00005 (" in page_text(alices, "/limits/me/")
    alice.usage.update(extra_fees=None)
    store_turn(new_conversation(alice), saved_upstream, "And how?")
    assert "(30 estimated), at least $0.00005 (" in page_text(alices, "/limits/me/")


def test_people_see_their_own_limits_and_usage_only(alices: Client, alice: User, bob: User) -> None:
    each = limit(1000, is_each=True, whom_to_ask=MARKUP)
    limit(77, user=bob)
    BudgetAccount.objects.create(limit=each, user=alice, spent=300)
    BudgetAccount.objects.create(limit=each, user=bob, spent=555)
    page = page_text(alices, "/limits/me/")
    assert "700 of 1,000 tokens left" in page
    assert "Shared by" not in page
    assert "555" not in page
    assert "77" not in page
    assert MARKUP not in page


def test_markup_in_names_is_escaped(olives: Client, alice: User, saved_upstream: Upstream) -> None:
    group = Group.objects.create(name=MARKUP)
    Upstream.objects.update(name=MARKUP)
    User.objects.filter(pk=alice.pk).update(username=MARKUP)
    limit(1, group=group, upstream=saved_upstream, model=MARKUP, whom_to_ask=MARKUP)
    each = limit(1, is_each=True)
    BudgetAccount.objects.create(limit=each, user=alice, spent=1)
    store_price(saved_upstream, 1, 1, MARKUP)
    assert MARKUP not in page_text(olives)
    assert MARKUP not in page_text(olives, f"/limits/prices/new/?model={MARKUP}&upstream={MARKUP}")


def test_the_composer_warns_when_most_of_a_limit_is_used(alices: Client, alice: User) -> None:
    stored_limit = limit(1000, is_each=True)
    mine = BudgetAccount.objects.create(limit=stored_limit, user=alice, spent=789)
    assert "left of your" not in page_text(alices, "/")
    mine.spent = 850
    mine.save()
    assert "150 left of your 1,000 tokens in total.</span>" in page_text(alices, "/")


def test_a_limit_of_zero_is_full(alices: Client) -> None:
    limit(0)
    assert "The limit of 0 tokens in total for everybody is used up." in page_text(alices, "/")


def test_setting_a_limit_or_a_price_asks_for_the_password(
    olive: User, saved_upstream: Upstream
) -> None:
    client = signed_in(olive)
    assert "No limits yet" in page_text(client)
    stored_limit, price = limit(500), store_price(saved_upstream, 1, 2)
    for path in (
        "/limits/new/",
        f"/limits/{stored_limit.pk}/",
        f"/limits/{stored_limit.pk}/remove/",
        "/limits/prices/new/",
        f"/limits/prices/{price.pk}/remove/",
    ):
        answer = client.post(path, fields(amount="9"))
        assert answer.headers["location"].startswith("/accounts/reauthenticate/?next="), path
    assert (Limit.objects.get().cap, Price.objects.count()) == (500, 1)
