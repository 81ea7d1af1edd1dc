"""The sidebar's date headings, by the reader's clock."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from chatapp.chat.days import Headings, heading
from chatapp.models import User
from chatapp.sessions.time_zones import EASTMOST, WESTMOST, parse_time_zone

NOW = datetime(2026, 11, 22, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (date(2026, 11, 23), "Today"),
        (date(2026, 11, 22), "Today"),
        (date(2026, 11, 21), "Yesterday"),
        (date(2026, 11, 20), "Previous 7 days"),
        (date(2026, 11, 15), "Previous 7 days"),
        (date(2026, 11, 14), "November"),
        (date(2026, 10, 22), "October"),
        (date(2026, 1, 1), "January"),
        (date(2025, 12, 31), "December 2025"),
        (date(2025, 11, 22), "November 2025"),
    ],
)
def test_headings_are_the_words_people_use(used: date, words: str) -> None:
    assert heading(used, NOW.date()) == words


@pytest.mark.parametrize(
    ("cookie", "minutes"),
    [
        ("60", 60),
        ("-210", -210),
        ("840", 840),
        ("841", 0),
        ("-721", 0),
        ("", 0),
        ("+60", 0),
        ("6e1", 0),
        ("٦٠", 0),
        ("9" * 5000, 0),
        ("60; x", 0),
    ],
)
def test_a_cookie_with_an_impossible_offset_means_utc(cookie: str, minutes: int) -> None:
    assert parse_time_zone(cookie).utcoffset(None) == timedelta(minutes=minutes)


@given(st.text(max_size=9))
def test_any_cookie_gives_a_valid_zone(cookie: str) -> None:
    offset = parse_time_zone(cookie).utcoffset(None)
    assert timedelta(minutes=WESTMOST) <= offset <= timedelta(minutes=EASTMOST)


def test_each_heading_appears_once() -> None:
    headings = Headings(NOW, parse_time_zone("60"))
    ages = (0, 1, 2, 25, 40, 100, 200, 24 * 200)  # hours
    titles = [headings.next(NOW - timedelta(hours=hours)) for hours in ages]
    assert titles == ["Today", "", "Yesterday", "", "Previous 7 days", "", "November", "May"]


@pytest.mark.parametrize(("minutes", "day"), [(0, "Yesterday"), (-60, "Today")])
def test_days_begin_at_the_browsers_midnight(
    alice: User, alices: Client, monkeypatch: pytest.MonkeyPatch, minutes: int, day: str
) -> None:
    monkeypatch.setattr("chatapp.chat.sidebar.timezone.now", lambda: NOW)
    alice.conversations.create(title="Late", updated_at=NOW - timedelta(hours=1))
    alices.cookies["utc-offset"] = str(minutes)
    before, _, _ = alices.get("/conversations/").text.partition("Late")
    assert before.rpartition('class="day"')[2].partition("<")[0].endswith(f">{day}")


def test_a_later_page_does_not_repeat_the_heading_above_it(alice: User, alices: Client) -> None:
    for hours in range(62):
        used = NOW - timedelta(days=100, hours=hours)
        alice.conversations.create(title=f"Chat {hours}", updated_at=used)
    first = alices.get("/conversations/").text
    assert first.count('<li class="day"') == 3  # with Pinned and Today
    last = alice.conversations.all()[59]
    query = {"before": last.updated_at.isoformat(), "id": str(last.pk)}
    assert '<li class="day"' not in alices.get("/conversations/", query).text


@pytest.mark.parametrize(
    ("requested_rows", "rows"),
    [("", 60), ("7", 60), ("65", 65), ("9999", 70), ("-1", 60), ("²", 60)],
)
def test_a_scrolled_list_is_redrawn_at_the_same_length(
    alice: User, alices: Client, requested_rows: str, rows: int
) -> None:
    for number in range(70):
        alice.conversations.create(title=f"Chat {number}")
    listed = alices.get("/conversations/", {"rows": requested_rows}).text
    assert listed.count('class="conversation"') == rows
