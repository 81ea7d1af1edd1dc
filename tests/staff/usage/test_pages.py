"""The usage pages: whose figures they show, for which period, and their CSV files."""

import csv
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.models import AuditEvent, Preset, Upstream, Usage, User
from chatapp.models.library.sharing import Level
from chatapp.staff.usage.periods import Period
from chatapp.staff.usage.queries import UsageQuery, report
from tests.support.allowed import store_price

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
TODAY = NOW.date()


@pytest.fixture(autouse=True)
def in_march(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatapp.staff.usage.forms.now", lambda: NOW)


def book(user: User | None, tokens: int, day: date = TODAY, **overrides: Any) -> None:
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
    row = Usage(message_id=uuid4(), user=user, day=day, booked_at=booked_at, **fields | overrides)
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


def test_a_page_without_usage_says_what_to_do(olives: Client) -> None:
    page = page_text(olives)
    assert "Nothing was used from 19 Feb 2026 to 20 Mar 2026." in page
    assert ">Start a chat</a>" in page
    assert ">see the last 12 months</a>" in page


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
    assert '<span class="value">155</span><span class="about">155 in, 0 out</span>' in page
    assert "from 2 people" in page


def test_the_table_starts_with_the_newest_day_and_omits_unused_ones(
    olives: Client, alice: User
) -> None:
    for day in (date(2026, 3, 18), TODAY):
        book(alice, 10, day)
    page = page_text(olives, "/usage/?period=7&by=day")
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert rows.count('<th scope="row"') == 2
    assert rows.index(">20 Mar 2026<") < rows.index(">18 Mar 2026<")
    assert "Days without usage are left out." in page


@pytest.mark.parametrize(
    ("period", "first", "outside", "count"),
    [
        ("7", date(2026, 3, 14), date(2026, 3, 13), 7),
        ("30", date(2026, 2, 19), date(2026, 2, 18), 30),
        ("month", date(2026, 3, 1), date(2026, 2, 28), 20),
        ("year", date(2025, 4, 1), date(2025, 3, 20), 12),
    ],
)
def test_a_period_ends_today_and_is_compared_with_the_previous_one(
    olives: Client, alice: User, period: str, first: date, outside: date, count: int
) -> None:
    book(alice, 30, first)
    book(alice, 120, TODAY)
    book(alice, 100, outside)
    by_day = tokens(olives, f"/usage/?period={period}&by=day")
    date_format = "%Y-%m" if period == "year" else "%Y-%m-%d"
    assert len(by_day) == count
    assert next(iter(by_day)) == f"{first:{date_format}}"
    assert list(by_day)[-1] == f"{NOW:{date_format}}"
    assert {day: count for day, count in by_day.items() if count} == {
        f"{first:{date_format}}": 30,
        f"{NOW:{date_format}}": 120,
    }
    assert "50% more than the " in page_text(olives, f"/usage/?period={period}")


def test_a_period_of_ones_own_has_the_days_that_were_chosen(olives: Client, alice: User) -> None:
    for day in (date(2026, 1, 4), date(2026, 1, 5), date(2026, 1, 8), date(2026, 1, 9)):
        book(alice, 10, day)
    chosen = "period=custom&since=2026-01-05&until=2026-01-08"
    by_day = tokens(olives, f"/usage/?{chosen}&by=day")
    assert list(by_day) == ["2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08"]
    assert sum(by_day.values()) == 20
    page = page_text(olives, f"/usage/?{chosen}")
    assert 'value="2026-01-05"' in page
    assert "100% more than the 4 days before" in page
    link = (
        "?period=custom&amp;by=person&amp;measure=&amp;since=2026-01-05&amp;until=2026-01-08#table"
    )
    assert f'href="{link}"' in page


@pytest.mark.parametrize(
    ("since", "until", "problem"),
    [
        ("2026-02-02", "2026-02-01", "Choose days up to today, the first one first."),
        ("2026-03-20", "2026-03-21", "Choose days up to today"),
        ("0001-01-01", "2026-03-20", "Choose days up to today"),
        ("2025-01-01", "2026-03-20", "Choose at most 366 days."),
        ("yesterday", "2026-03-20", "Enter a valid date."),
    ],
)
def test_impossible_days_are_refused_and_30_days_are_shown(
    olives: Client, alice: User, since: str, until: str, problem: str
) -> None:
    book(alice, 3)
    query = f"period=custom&since={since}&until={until}"
    assert problem in page_text(olives, f"/usage/?{query}")
    assert len(table(olives, f"/usage/?{query}&by=day")) == 30


def test_each_day_is_shown_with_that_of_the_previous_period(olives: Client, alice: User) -> None:
    book(alice, 30, date(2026, 3, 19), cost=5)
    book(alice, 70, date(2026, 3, 12), cost=1_000_000_000)  # a week earlier
    book(alice, 90, date(2026, 3, 10))
    page = page_text(olives, "/usage/?period=7&by=day&measure=tokens")
    assert "Tokens before: 7 days earlier." in page
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]
    assert [row[row.index('dir="auto">') + 11 :][:11] for row in rows] == [
        "19 Mar 2026",
        "17 Mar 2026",
    ]
    assert '<td class="number">70</td>' in rows[0]
    assert '<td class="number">90</td>' in rows[1]  # a day without usage
    file = table(olives, "/usage/?period=7&by=day&measure=tokens")
    assert {
        day: row["tokens_before"] for day, row in file.items() if row["tokens_before"] != "0"
    } == {
        "2026-03-17": "90",
        "2026-03-19": "70",
    }
    costs = table(olives, "/usage/?period=7&by=day&measure=cost")
    assert costs["2026-03-19"]["cost_usd_before"] == "1.000000000"
    assert costs["2026-03-17"]["cost_usd_before"] == ""  # unknown
    assert "before" not in page_text(olives, "/usage/?period=7&by=model").partition("<thead>")[2]


@pytest.mark.parametrize("today", [date(2026, 3, 1), date(2026, 3, 31), date(2028, 2, 29)])
def test_a_year_of_constant_usage_shows_no_change(
    olives: Client, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch, today: date
) -> None:
    """A person with usage both in whole months and in the last one counts once."""
    moment = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
    monkeypatch.setattr("chatapp.staff.usage.forms.now", lambda: moment)
    period = Period.of_year(today)
    until = period.before_until
    within = (today, today.replace(day=1), period.begins)
    for day in (*within, until, until.replace(day=1), period.before_begins):
        book(alice, 50, day, cost=5)
        book(bob, 50, day, cost=5)
    for outside in (until + timedelta(days=1), period.before_begins - timedelta(days=1)):
        if outside < period.begins:
            book(None, 7000, outside)
    usage_report = report(UsageQuery(period, "day", "tokens"))
    assert usage_report.total["prompt_tokens"] == usage_report.before["prompt_tokens"] == 300
    assert usage_report.total.people == usage_report.before.people == 2
    own = report(UsageQuery(period, "day", "tokens", alice.pk))
    assert (own.before["prompt_tokens"], own.before.people) == (150, 1)
    page = page_text(olives, "/usage/?period=year")
    assert page.count("the same as the year before") == 3


def test_estimated_and_unknown_usage_is_shown_in_words_and_in_the_chart(
    olives: Client, alice: User
) -> None:
    book(alice, 300, cost=10)
    page = page_text(olives, "/usage/?measure=tokens")
    assert "at least" not in page
    for words in ("Estimated</li>", "unknown</li>", "The cost is unknown"):
        assert words not in page
    book(alice, 200, provenance="estimated", ending="stopped")
    book(alice, 0, provenance="unknown", prompt_tokens=None, ending="failed")
    page = page_text(olives, "/usage/?measure=tokens")
    assert "<small>at least</small>&#32;500</span>" in page
    assert "because the provider reported no usage: 200 tokens." in page
    assert "The cost is unknown for 2 of 3 replies, titles and summaries." in page
    assert 'class="shade-1" x="97.0%" y="0.0%" width="2.67%" height="100.0%"' in page
    assert 'fill="url(#estimated)" x="97.0%" y="0.0%" width="2.67%" height="40.0%"' in page
    assert '<rect class="shade-unknown" x="97.0%" width="2.67%"' in page
    assert "</svg>Estimated</li>" in page
    assert "Some tokens unknown</li>" in page


def test_an_unknown_cost_is_a_dash_with_a_link_to_set_the_price(
    olives: Client, alices: Client, alice: User, saved_upstream: Upstream
) -> None:
    name = saved_upstream.name
    book(alice, 300, upstream_name=name, model="dear", cost=1_000_000_000)
    book(alice, 300, upstream_name=name, model="new")
    book(alice, 300, upstream_name=name, model="known since")
    book(alice, 300, upstream_name="Gone", model="gone")
    book(alice, 0, upstream_name=name, model="broken", provenance="unknown", prompt_tokens=None)
    store_price(saved_upstream, 1, 1, "known since")
    page = page_text(olives)
    assert "<small>at least</small>&#32;$1.00" in page
    assert "$0.00" not in page.partition("<table")[2]
    assert (
        "The cost is unknown for 4 of 5 replies, titles and summaries. These models have no price:"
        in page
    )
    link = f'<a href="/limits/prices/new/?upstream={saved_upstream.pk}&amp;model=new"'
    assert page.count(link) == page.count(">Set price<") == 2  # below the chart and in its row
    own = page_text(alices, "/usage/me/")
    assert "An administrator can set prices." in own
    assert "Set price" not in own


def test_the_chart_shows_tokens_while_no_cost_is_known(olives: Client, alice: User) -> None:
    book(alice, 300)
    page = page_text(olives)
    assert ">Tokens by day</figcaption>" in page
    assert '<span class="value">\N{EN DASH}</span>' in page
    book(alice, 300, cost=1)
    assert ">Cost by day</figcaption>" in page_text(olives)
    assert ">Replies by day</figcaption>" in page_text(olives, "/usage/?measure=answers")


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
    assert "from 1 person" not in page
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
    assert logged["asked"] == {"by": "model", "since": "2026-02-19", "until": "2026-03-20"}
    names = [row[0] for row in csv.reader(answer.splitlines(keepends=True))][1:]
    assert sorted(names) == sorted(
        ["<script>alert(1)</script>", "'=1+1", "'@SUM(A1)", "'+1", "'-1", 'a"b,c\nd']
    )


@pytest.mark.parametrize(
    "query", ["period=8&by=sun&measure=love", "period=&by=", "period=7&period=%00"]
)
def test_unknown_filter_values_mean_the_default(olives: Client, alice: User, query: str) -> None:
    book(alice, 3, TODAY - timedelta(days=29))
    book(alice, 4, TODAY - timedelta(days=30))
    assert tokens(olives, f"/usage/?{query}") == {"m": 3}


def test_a_yearly_report_needs_only_a_few_queries(
    olives: Client, alice: User, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for months in range(12):
        book(alice, 1, TODAY - timedelta(days=30 * months), model=f"m{months}")
    olives.get("/help/")  # a session's first request takes some more
    with django_assert_max_num_queries(16):
        olives.get("/usage/?period=year&by=group")


def test_shared_presets_have_a_row_each_and_all_others_one(
    olives: Client, alice: User, bob: User
) -> None:
    poet, coach = (Preset.start(alice, name=name) for name in ("Poet", "=Coach"))
    for preset in (poet, coach):
        preset.share(None, Level.USE, alice)
    own, gone = (Preset.start(bob, name=name) for name in ("Bob's doubts", "Gone"))
    gone.share(None, Level.USE, bob)
    book(alice, 100, preset=poet.pk)
    book(bob, 50, preset=poet.pk, provenance="estimated")
    book(bob, 20, preset=coach.pk, cost=1_500_000_000)
    book(bob, 30, preset=own.pk)
    book(alice, 6, preset=gone.pk)
    book(None, 5, preset=uuid4())  # deleted
    book(alice, 1000)
    book(alice, 1000, TODAY - timedelta(days=40), preset=poet.pk)
    gone.unshare(None, bob)
    rows = table(olives, "/usage/?by=preset")
    names = ("replies", "people", "prompt_tokens", "estimated_tokens", "cost_usd")
    assert {label: tuple(row[name] for name in names) for label, row in rows.items()} == {
        "Poet": ("2", "2", "150", "50", ""),
        "Personal presets": ("3", "2", "41", "0", ""),
        "'=Coach": ("1", "1", "20", "0", "1.500000000"),
    }
    page = page_text(olives, "/usage/?by=preset&measure=tokens")
    assert page.index(">Poet<") < page.index(">Personal presets<") < page.index(">=Coach<")
    assert ">33%<" in page
    assert "1,211" in page  # of all replies
    assert "doubts" not in page


def test_a_period_without_presets_says_so(olives: Client, alice: User) -> None:
    book(alice, 10)
    assert "Nothing was used with a preset." in page_text(olives, "/usage/?by=preset")


def test_requests_over_the_api_are_shown_apart_from_replies(
    olives: Client, alices: Client, alice: User
) -> None:
    book(alice, 100)
    assert "API requests" not in page_text(olives).partition("<tbody>")[0]
    for _ in range(2):
        book(alice, 10, kind="api")
    row = table(olives, "/usage/?by=person")["alice"]
    assert (row["replies"], row["requests"]) == ("1", "2")
    for client, path in ((olives, "/usage/"), (alices, "/usage/me/")):
        page = page_text(client, path)
        assert "2 over the API" in page
        assert page.index(">Replies</th>") < page.index(">API requests</th>")
        assert '<td class="number">1</td><td class="number">2</td>' in page.replace("> <", "><")


def test_the_ledger_and_its_sums_count_alike(olives: Client, alice: User) -> None:
    preset = Preset.start(alice, name="Poet")
    preset.share(None, Level.USE, alice)
    for fields in (
        {"ending": "failed", "provenance": "unknown"},
        {"cost": 7, "provenance": "estimated", "first_token_ms": 20, "duration_ms": 900},
    ):
        book(alice, 10, preset=preset.pk, **fields)
    [by_preset] = table(olives, "/usage/?by=preset").values()
    [by_model] = table(olives, "/usage/?by=model").values()
    del by_preset["preset"], by_model["model"]
    assert by_preset == by_model


def test_people_do_not_see_their_usage_by_preset(alices: Client, alice: User) -> None:
    book(alice, 10, preset=Preset.start(alice, name="Poet").pk)
    page = page_text(alices, "/usage/me/?by=preset")
    assert "By </span>Preset" not in page
    assert "By </span>Model" in page


def test_a_cost_without_fees_for_searches_is_at_least(olives: Client, alice: User) -> None:
    book(alice, 300, cost=1_000_000_000)
    assert "at least" not in page_text(olives)
    book(alice, 300, cost=1_000_000_000, extra_fees=2)
    page = page_text(olives)
    assert "<small>at least</small>&#32;$2.00" in page
    assert "The cost leaves out the provider's fees for searches and tools in 1 reply." in page
    assert "The cost is unknown" not in page
    row = next(iter(table(olives, "/usage/?by=model").values()))
    assert (row["cost_usd"], row["unpriced"], row["with_fees"]) == ("2.000000000", "0", "1")
