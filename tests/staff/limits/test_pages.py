"""Limits and prices as administrators set them, and what people see of theirs."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatapp.accounts.erasing import erase
from chatapp.models import Allowance, AuditDetail, AuditEvent, Limit, Price, Upstream, User
from chatapp.models.limits import Measure
from chatapp.models.prices import DOLLAR
from chatapp.staff.limits.forms import LimitForm
from tests.conftest import signed_in
from tests.support.allowed import limit, priced
from tests.support.stored import MODEL, answered, started_by

pytestmark = pytest.mark.django_db

MARKUP = "<script>alert(1)</script>"


def said(client: Client, path: str = "/limits/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def post(client: Client, path: str, **fields: Any) -> str:
    """What the page says after that; or, where it was not taken, instead of that."""
    answer = client.post(path, fields, follow=True)
    assert answer.status_code == 200, answer.content.decode()
    return " ".join(answer.content.decode().split())


def fields(**given: Any) -> dict[str, Any]:
    return {"amount": "1000", "measure": "tokens", "period": "day", "whose": "each"} | given


# Setting limits


def test_where_nothing_is_set_the_page_says_what_a_first_limit_does(olives: Client) -> None:
    assert "Nothing is limited. A first limit counts from the next prompt on" in said(olives)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "1,000 tokens a day for each person"),
        ({"whose": "all", "period": "ever"}, "1,000 tokens for good for everybody"),
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
    olives: Client, alice: User, connected: Upstream, given: dict[str, str], told: str
) -> None:
    named: dict[str, object] = dict(given)
    if "group" in given:
        named["group"] = Group.objects.create(name="team").pk
    if "upstream" in given:
        named["upstream"] = connected.pk
    page = post(olives, "/limits/new/", **fields(**named))
    assert "A limit is set: " in page
    assert told in page
    made = Limit.objects.get()
    assert told in str(made)
    assert AuditEvent.objects.filter(action="limit.added", target=str(made.pk)).exists()
    # As the form that changes it shows it.
    before = Limit.objects.values().get()
    again = {name: one for name, one in LimitForm(limit=made).initial.items() if one is not None}
    for value in filter(None, map(str, again.values())):
        assert f'value="{value}"' in said(olives, f"/limits/{made.pk}/")
    assert "The limit is changed" in post(olives, f"/limits/{made.pk}/", **again)
    assert Limit.objects.values().get() == before


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"amount": ""}, "This field is required."),
        ({"amount": "-1"}, "greater than or equal to 0"),
        ({"amount": "1.5"}, "Enter a whole number; only US dollars have cents."),
        ({"amount": "1e30"}, "no more than"),
        ({"amount": "NaN"}, "Enter a number."),
        ({"amount": "9" * 15, "measure": "money"}, "This is more than can be counted."),
        ({"measure": "minutes"}, "Select a valid choice."),
        ({"whose": "person"}, "Enter the username of somebody who has an account."),
        ({"whose": "person", "person": "nobody"}, "Enter the username of somebody"),
        ({"whose": "person", "person": "a\x00b"}, "Null characters are not allowed."),
        ({"whose": "group"}, "Choose the group that it is for."),
        ({"whose": "group", "group": "999"}, "Select a valid choice."),
        ({"model": "m"}, "Choose the upstream that has this model."),
        ({"whom_to_ask": "x" * 101}, "at most 100 characters"),
    ],
)
def test_what_is_no_limit_is_told_where_it_is_wrong(
    olives: Client, given: dict[str, str], told: str
) -> None:
    assert told in post(olives, "/limits/new/", **fields(**given))
    assert not Limit.objects.exists()
    assert not AuditEvent.objects.filter(action="limit.added").exists()


def test_a_changed_cap_keeps_what_is_spent_and_another_measure_does_not(olives: Client) -> None:
    one = limit(500, period="day")
    Allowance.objects.create(limit=one, spent=400, held=50, since=timezone.now())
    post(olives, f"/limits/{one.pk}/", **fields(whose="all", amount="800"))
    assert "400 tokens used, 50 tokens held" in said(olives)
    post(olives, f"/limits/{one.pk}/", **fields(whose="all", amount="8", measure="money"))
    assert not Allowance.objects.exists()
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


def test_a_change_of_each_field_of_a_limit_is_known_here() -> None:
    names = {field.name for field in Limit._meta.fields}
    assert names - {"id", "whom_to_ask"} == CHANGES.keys()


def test_the_log_names_nobody_whom_a_limit_was_of_or_whom_it_names(
    olives: Client, olive: User, alice: User, bob: User
) -> None:
    whose = {"whose": "person", "person": "alice", "whom_to_ask": "Alice's neighbour"}
    post(olives, "/limits/new/", **fields(**whose))
    one = Limit.objects.get()
    page = f"/limits/{one.pk}/"
    post(olives, page, **fields(whose="person", person="bob", whom_to_ask="Alice herself"))
    event = AuditEvent.objects.get(action="limit.changed")
    assert event.detail.said == {"before": {"user": alice.pk}, "after": {"user": bob.pk}}
    assert '<td dir="auto">alice</td>' in said(olives, "/audit/")
    assert f"{Limit.objects.get()} (limit {one.pk})" in said(olives, "/audit/")
    erase([alice])
    assert "alice" not in "".join(AuditDetail.objects.values_list("content", flat=True)).lower()
    assert f">person {event.detail.said['before']['user']}, erased</td>" in said(olives, "/audit/")


@pytest.mark.parametrize("name", CHANGES)
def test_the_log_says_before_and_after_of_each_field_of_a_limit(
    olives: Client, alice: User, connected: Upstream, name: str
) -> None:
    given: dict[str, Any] = dict(CHANGES[name])
    if "group" in given:
        given["group"] = Group.objects.create(name="team").pk
    if "upstream" in given:
        given["upstream"] = connected.pk
    one = limit(500, period="day")
    page = f"/limits/{one.pk}/"
    post(olives, page, **(fields(whose="all", amount="500") | given))
    told = AuditEvent.objects.get(action="limit.changed").detail.said
    assert told["before"][name] != told["after"][name]
    assert told["before"].keys() == told["after"].keys()
    changed = {key for key in told["after"] if told["before"][key] != told["after"][key]}
    assert changed == told["after"].keys()


def test_a_limit_is_removed_with_its_accounts(olives: Client, alice: User) -> None:
    one = limit(500)
    Allowance.objects.create(limit=one, spent=400)
    assert "The limit is removed: 500 tokens for good" in post(olives, f"/limits/{one.pk}/remove/")
    assert not Limit.objects.exists()
    assert AuditEvent.objects.filter(action="limit.deleted").exists()
    assert olives.post(f"/limits/{one.pk}/remove/").status_code == 404
    assert olives.get(f"/limits/{10**30}/").status_code == 404


def test_the_page_shows_cap_spent_held_overrun_and_when_it_begins_anew(
    olives: Client, alice: User, bob: User
) -> None:
    each = limit(1000, period="day", is_each=True)
    limit(5, measure=Measure.AT_ONCE)
    now = timezone.now()
    Allowance.objects.create(limit=each, user=alice, spent=1200, overrun=200, since=now)
    Allowance.objects.create(limit=each, user=bob, spent=700, since=now - timedelta(days=2))
    page = said(olives)
    assert "1,200 tokens used, 200 tokens beyond it" in page
    assert "at 00:00 (UTC)" in page
    assert "0 replies at once used" in page
    assert "bob" not in page  # who has used nothing today


def test_who_administers_nothing_sets_nothing(alices: Client, connected: Upstream) -> None:
    one, price = limit(500), priced(connected, 1, 1)
    for path in ("new/", f"{one.pk}/", f"{one.pk}/remove/", "prices/new/", ""):
        assert alices.post(f"/limits/{path}", fields()).status_code in (403, 405)
    assert alices.post(f"/limits/prices/{price.pk}/remove/").status_code == 403
    assert (Limit.objects.count(), Price.objects.count()) == (1, 1)


# Prices


def price_fields(connected: Upstream, **given: Any) -> dict[str, Any]:
    figures = {"input": "2.5", "output": "10", "holds_from": "2026-01-31"}
    return {"upstream": connected.pk, "model": MODEL} | figures | given


def test_an_administrator_sets_a_price_and_takes_it_back(
    olives: Client, connected: Upstream
) -> None:
    page = post(olives, "/limits/prices/new/", **price_fields(connected, cached="0.0375"))
    assert "The price is set" in page
    price = Price.objects.get()
    assert (price.input, price.output, price.cached) == (25 * DOLLAR // 10, 10 * DOLLAR, 37_500_000)
    assert (price.reasoning, price.holds_from.isoformat()) == (None, "2026-01-31T00:00:00+00:00")
    assert "$2.50" in said(olives)
    post(olives, "/limits/prices/new/", **price_fields(connected, input="3", context_tokens="8000"))
    assert "The price is removed" in post(olives, f"/limits/prices/{price.pk}/remove/")
    events = AuditEvent.objects.filter(action="price.changed").order_by("sequence")
    first, second, removed = [one.detail.said for one in events]
    assert (first.get("before"), removed.get("after")) == (None, None)
    assert removed["before"] == second["before"] == first["after"]
    assert (first["after"]["upstream"], first["after"]["cached"]) == ("Fake", 37_500_000)
    assert (second["after"]["input"], second["after"]["context_tokens"]) == (3 * DOLLAR, 8000)


def test_what_a_gateway_says_is_shown_and_not_removed(olives: Client, connected: Upstream) -> None:
    price = priced(connected, 1, 2)
    Price.objects.update(source="gateway")
    assert "the gateway&#x27;s own list" in said(olives) or "the gateway&#39;s own" in said(olives)
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
def test_what_is_no_price_is_not_taken(
    olives: Client, connected: Upstream, wrong: dict[str, str]
) -> None:
    page = post(olives, "/limits/prices/new/", **price_fields(connected, **wrong))
    assert 'class="errors"' in page
    assert not Price.objects.exists()


def test_models_that_cost_nobody_knows_what_are_named(
    olives: Client, alice: User, connected: Upstream
) -> None:
    answered(started_by(alice), connected, "Why?")
    assert "Of these models no price is known" not in said(olives)  # whose usage is unknown, too
    connected_usage(alice)
    assert "Of these models no price is known" in said(olives)
    assert f"upstream={connected.pk}&amp;model=google%2Fgemini-3-flash" in said(olives)
    priced(connected, 1, 1)
    assert "Of these models no price is known" not in said(olives)


def connected_usage(person: User) -> None:
    person.usage.update(total_tokens=30, prompt_tokens=10, completion_tokens=20)


# What people see


def test_who_is_not_limited_reads_so(alices: Client) -> None:
    assert "Nothing limits what you use here." in said(alices, "/limits/me/")


def test_people_see_what_they_have_used_this_month(
    alices: Client, alice: User, connected: Upstream
) -> None:
    priced(connected, 1000, 2000)
    answered(started_by(alice), connected, "Why?")
    assert "0 tokens. Of 1 of the replies and titles the price is not known" in said(
        alices, "/limits/me/"
    )
    connected_usage(alice)
    alice.usage.update(cost=50_000, provenance="estimated")
    page = said(alices, "/limits/me/")
    assert "30 tokens, of which 30 estimated; $0.00005, of which $0.00005 estimated." in page


def test_people_see_what_concerns_them_and_nobody_elses(
    alices: Client, alice: User, bob: User
) -> None:
    each = limit(1000, is_each=True, whom_to_ask=MARKUP)
    limit(77, user=bob)
    Allowance.objects.create(limit=each, user=alice, spent=300)
    Allowance.objects.create(limit=each, user=bob, spent=555)
    page = said(alices, "/limits/me/")
    assert "300 tokens used" in page
    assert "Yours alone" in page
    assert "555" not in page
    assert "77" not in page
    assert MARKUP not in page


def test_foreign_markup_stays_text(olives: Client, alice: User, connected: Upstream) -> None:
    group = Group.objects.create(name=MARKUP)
    Upstream.objects.update(name=MARKUP)
    User.objects.filter(pk=alice.pk).update(username=MARKUP)
    limit(1, group=group, upstream=connected, model=MARKUP, whom_to_ask=MARKUP)
    each = limit(1, is_each=True)
    Allowance.objects.create(limit=each, user=alice, spent=1)
    priced(connected, 1, 1, MARKUP)
    assert MARKUP not in said(olives)
    assert MARKUP not in said(olives, f"/limits/prices/new/?model={MARKUP}&upstream={MARKUP}")


def test_the_composer_says_when_most_is_used(alices: Client, alice: User) -> None:
    one = limit(1000, is_each=True)
    mine = Allowance.objects.create(limit=one, user=alice, spent=799)
    assert "% of your" not in said(alices, "/")
    mine.spent = 850
    mine.save()
    assert "85% of your 1,000 tokens for good is used." in said(alices, "/")


def test_a_limit_of_nothing_is_full(alices: Client) -> None:
    limit(0)
    assert "100% of the 0 tokens for good that everybody share is used." in said(alices, "/")


def test_who_sets_a_limit_or_a_price_confirms_it_first(olive: User, connected: Upstream) -> None:
    client = signed_in(olive)
    assert "Nothing is limited" in said(client)
    one, price = limit(500), priced(connected, 1, 2)
    for path in (
        "/limits/new/",
        f"/limits/{one.pk}/",
        f"/limits/{one.pk}/remove/",
        "/limits/prices/new/",
        f"/limits/prices/{price.pk}/remove/",
    ):
        answer = client.post(path, fields(amount="9"))
        assert answer.headers["location"].startswith("/accounts/reauthenticate/?next="), path
    assert (Limit.objects.get().cap, Price.objects.count()) == (500, 1)
