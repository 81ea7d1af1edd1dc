"""Figures computed from sums: averages, speeds and changes."""

import pytest

from chatapp.models.billing.daily_usage import SUMS
from chatapp.staff.usage.figures import Figures, change


def figures(**sums: int) -> Figures:
    return Figures("", {**dict.fromkeys(SUMS, 0), **sums})


def test_waiting_time_and_speed_are_averages_over_the_replies_that_have_them() -> None:
    timed_figures = figures(timed=4, first_token_ms=3000, written_tokens=90, written_ms=2000)
    assert (timed_figures.first_token, timed_figures.speed) == (0.75, 45.0)
    assert (figures().first_token, figures().speed) == (None, None)


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        (112, 100, "12% more than"),
        (50, 100, "50% less than"),
        (100, 100, "the same as"),
        (0, 3, "100% less than"),
        (20_000, 1, "1,999,900% more than"),
        (9, 0, ""),
    ],
)
def test_a_figure_is_compared_with_the_previous_period(
    now: int, before: int, expected: str
) -> None:
    assert change(figures(replies=now), figures(replies=before), "replies") == expected


def test_a_partly_unknown_figure_is_compared_as_far_as_it_is_known() -> None:
    whole, part = figures(cost=50, booked=2), figures(cost=100, booked=2, unpriced=1)
    unknown = figures(booked=2, unpriced=2)
    assert change(whole, part, "cost") == "known: 50% less than"
    assert change(part, whole, "cost") == "known: 100% more than"
    assert change(unknown, whole, "cost") == change(whole, unknown, "cost") == ""


def test_an_unknown_cost_is_not_zero() -> None:
    unknown = figures(unpriced=1, booked=2)
    assert figures(cost=3, with_fees=1, booked=2).is_partial("cost")
    assert not figures(cost=3, with_fees=1, booked=2).is_partial("tokens")
    assert unknown.figure("cost") is None
    assert unknown.get_amount("cost") == 0
    assert figures(cost=3, unpriced=1, booked=2).figure("cost") == 3
    assert figures(booked=2).figure("cost") == 0
    assert figures(unknown=1, booked=1).figure("tokens") is None
