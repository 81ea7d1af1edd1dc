"""The usage pages: whose figures they show, for which period, and their CSV files."""

import csv
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.models import AuditEvent, Usage, User
from chatapp.staff.usage.queries import UsageQuery, report

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
TODAY = NOW.date()


@pytest.fixture(autouse=True)
def in_march(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatapp.staff.usage.queries.now", lambda: NOW)


def book(user: User | None, tokens: int, day: date = TODAY, **given: Any) -> None:
    """Book a reply with prompt tokens only."""
    fields = {
        "upstream_name": "Gateway",
        "model": "m",
        "provenance": "reported",
        "ending": "complete",
        "completion_tokens": 0,
        "prompt_tokens": tokens,
    }
    booked_at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    row = Usage(message_id=uuid4(), user=user, day=day, booked_at=booked_at, **fields | given)
    Usage.book([row])


def page_text(client: Client, path: str = "/usage/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def table(client: Client, path: str) -> dict[str, dict[str, str]]:
    """Return the rows of the CSV file by their labels."""
    answer = client.get(f"{path}&csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="usage-by-')
    head, *rows = csv.reader(answer.content.decode().splitlines())
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def tokens(client: Client, path: str) -> dict[str, int]:
    return {name: int(row["prompt_tokens"]) for name, row in table(client, path).items()}


def test_the_page_says_that_there_was_no_usage(olives: Client) -> None:
    assert "No usage in this period." in page_text(olives)


def test_rows_have_their_figures_and_the_largest_comes_first(
    olives: Client, alice: User, bob: User
) -> None:
    team, both = Group.objects.create(name="team"), Group.objects.create(name="both")
    alice.groups.add(team, both)
    book(alice, 100, model="small")
    book(alice, 10, model="large", upstream_name="Local")
    book(bob, 40, model="large")
    book(None, 5, model="large")
    assert list(tokens(olives, "/usage/?by=model").items()) == [("small", 100), ("large", 55)]
    assert tokens(olives, "/usage/?by=upstream") == {"Gateway": 145, "Local": 10}
    assert tokens(olives, "/usage/?by=person") == {
        "alice": 110,
        "bob": 40,
        "Erased people": 5,
    }
    groups = table(olives, "/usage/?by=group")
    assert {name: (row["prompt_tokens"], row["people"]) for name, row in groups.items()} == {
        "team": ("110", "1"),
        "both": ("110", "1"),
        "No group": ("40", "1"),
        "Erased people": ("5", "0"),
    }
    page = page_text(olives, "/usage/?by=model")
    assert page.index(">small<") < page.index(">large<")
    assert '<span class="value">155</span>' in page
    assert '<dt>People</dt><dd><span class="value">2</span>' in page


def test_the_table_starts_with_the_newest_day_and_omits_unused_ones(
    olives: Client, alice: User
) -> None:
    for day in (date(2026, 3, 18), TODAY):
        book(alice, 10, day)
    page = page_text(olives, "/usage/?days=7")
    rows = page.partition("<tbody>")[2]
    assert rows.count('<th scope="row"') == 2
    assert rows.index(">2026-03-20<") < rows.index(">2026-03-18<")
    assert "5 other days without usage." in page


@pytest.mark.parametrize(
    ("days", "first", "outside"),
    [
        (7, date(2026, 3, 14), date(2026, 3, 13)),
        (30, date(2026, 2, 19), date(2026, 2, 18)),
        (90, date(2025, 12, 21), date(2025, 12, 20)),
        (365, date(2025, 4, 1), date(2025, 3, 20)),
    ],
)
def test_a_period_ends_today_and_is_compared_with_the_previous_one(
    olives: Client, alice: User, days: int, first: date, outside: date
) -> None:
    book(alice, 30, first)
    book(alice, 120, TODAY)
    book(alice, 100, outside)
    by_day = tokens(olives, f"/usage/?days={days}")
    shown = "%Y-%m" if days == 365 else "%Y-%m-%d"
    assert len(by_day) == (12 if days == 365 else days)
    assert next(iter(by_day)) == f"{first:{shown}}"
    assert list(by_day)[-1] == f"{NOW:{shown}}"
    assert {day: count for day, count in by_day.items() if count} == {
        f"{first:{shown}}": 30,
        f"{NOW:{shown}}": 120,
    }
    assert "+50 %" in page_text(olives, f"/usage/?days={days}")


def test_each_day_is_shown_with_that_of_the_previous_period(olives: Client, alice: User) -> None:
    book(alice, 30, date(2026, 3, 19), cost=5)
    book(alice, 70, date(2026, 3, 12), cost=1_000_000_000)  # a week earlier
    book(alice, 90, date(2026, 3, 10))
    page = page_text(olives, "/usage/?days=7")
    assert "Tokens before: 7 days earlier." in page
    rows = page.partition("<tbody>")[2].split("<tr>")[1:]
    assert [row[row.index('dir="auto">') + 11 :][:10] for row in rows] == [
        "2026-03-19",
        "2026-03-17",
    ]
    assert '<td class="number">70</td>' in rows[0]
    assert '<td class="number">90</td>' in rows[1]  # a day without usage
    file = table(olives, "/usage/?days=7")
    assert {
        day: row["tokens_before"] for day, row in file.items() if row["tokens_before"] != "0"
    } == {
        "2026-03-17": "90",
        "2026-03-19": "70",
    }
    assert table(olives, "/usage/?days=7&measure=cost")["2026-03-19"]["cost_usd_before"] == (
        "1.000000000"
    )
    speeds = table(olives, "/usage/?days=7&measure=speed")
    assert {row["speed_before"] for row in speeds.values()} == {""}
    assert "before" not in page_text(olives, "/usage/?days=7&by=model").partition("<thead>")[2]


@pytest.mark.parametrize(
    ("today", "until"),
    [
        (date(2026, 3, 1), date(2025, 3, 1)),
        (date(2026, 3, 31), date(2025, 3, 31)),
        (date(2028, 2, 29), date(2027, 2, 28)),
        (date(2027, 1, 1), date(2026, 1, 1)),
        (date(2026, 12, 31), date(2025, 12, 31)),
    ],
)
def test_a_year_of_constant_usage_shows_no_change(
    olives: Client,
    alice: User,
    bob: User,
    monkeypatch: pytest.MonkeyPatch,
    today: date,
    until: date,
) -> None:
    """A person with usage both in whole months and in the last one counts once."""
    moment = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
    monkeypatch.setattr("chatapp.staff.usage.queries.now", lambda: moment)
    first = (today.replace(day=1) - timedelta(days=334)).replace(day=1)
    begins = first.replace(year=first.year - 1)
    for day in (today, today.replace(day=1), first, until, until.replace(day=1), begins):
        book(alice, 50, day)
        book(bob, 50, day)
    for outside in (until + timedelta(days=1), begins - timedelta(days=1)):
        if outside < first:
            book(None, 7000, outside)
    found = report(UsageQuery(365, "day", "tokens"))
    assert found.total["prompt_tokens"] == found.before["prompt_tokens"] == 300
    assert found.total.people == found.before.people == 2
    assert found.before_until == until
    own = report(UsageQuery(365, "day", "tokens", alice.pk))
    assert (own.before["prompt_tokens"], own.before.people) == (150, 1)
    page = page_text(olives, "/usage/?days=365")
    assert f"a year earlier, up to {until}." in page
    assert page.count("no change") >= 3
    assert "a year earlier" not in page_text(olives)


def test_estimated_and_unknown_usage_is_shown_in_words_and_in_the_chart(
    olives: Client, alice: User
) -> None:
    book(alice, 300, cost=10)
    book(alice, 100, provenance="estimated", ending="stopped")
    book(alice, 0, provenance="unknown", prompt_tokens=None, ending="failed")
    page = page_text(olives)
    assert "100 of 400 tokens are estimated." in page
    assert "Tokens unknown for 1 and cost unknown for 2 of 3 replies and titles." in page
    assert 'class="shade-1" x="97.0%" y="0.0%" width="2.67%" height="100.0%"' in page
    assert 'fill="url(#estimated)" x="97.0%" y="0.0%" width="2.67%" height="25.0%"' in page
    assert '<rect class="shade-unknown" y="8" width="33.33%" height="2">' in page
    assert "1 stopped, 0 cut short, 1 failed" in page


def test_the_file_has_money_in_plain_dollars(olives: Client, alice: User) -> None:
    book(alice, 300, cost=1_250_000_007)
    book(alice, 300, cost=1, provenance="estimated")
    row = table(olives, "/usage/?by=person")["alice"]
    assert (row["cost_usd"], row["estimated_cost_usd"]) == ("1.250000008", "0.000000001")
    assert "cost" not in row


def test_your_own_page_has_only_your_figures(alices: Client, alice: User, bob: User) -> None:
    book(alice, 7)
    book(bob, 900, model="bobs")
    for by in ("day", "model", "upstream", "person", "group"):
        assert sum(tokens(alices, f"/usage/me/?by={by}&person={bob.pk}").values()) == 7
    page = page_text(alices, "/usage/me/?by=person")
    assert "900" not in page
    assert "bob" not in page
    assert "Person" not in page
    assert alices.get("/usage/").status_code == 403
    assert alices.get("/usage/?csv").status_code == 403


def test_untrusted_names_stay_text_in_the_page_and_in_a_spreadsheet(
    olives: Client, alice: User
) -> None:
    for name in ("<script>alert(1)</script>", "=1+1", "@SUM(A1)", "+1", "-1", 'a"b,c\nd'):
        book(alice, 1, model=name)
    page = page_text(olives, "/usage/?by=model")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    answer = olives.get("/usage/?by=model&csv").content.decode()
    logged = AuditEvent.objects.get(action="usage.exported").detail.values
    assert logged["asked"] == {"by": "model", "days": 30}
    names = [row[0] for row in csv.reader(answer.splitlines(keepends=True))][1:]
    assert sorted(names) == sorted(
        ["<script>alert(1)</script>", "'=1+1", "'@SUM(A1)", "'+1", "'-1", 'a"b,c\nd']
    )


@pytest.mark.parametrize("query", ["days=8&by=sun&measure=love", "days=&by=", "days=30&days=%00"])
def test_unknown_filter_values_mean_the_default(olives: Client, alice: User, query: str) -> None:
    book(alice, 3)
    assert len(table(olives, f"/usage/?{query}")) == 30


def test_a_yearly_report_needs_only_a_few_queries(
    olives: Client, alice: User, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for months in range(12):
        book(alice, 1, TODAY - timedelta(days=30 * months), model=f"m{months}")
    with django_assert_max_num_queries(11):
        olives.get("/usage/?days=365&by=group")
