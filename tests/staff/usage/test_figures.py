"""Figures computed from sums: averages, speeds and changes."""

import pytest

from chatapp.models.billing.daily_usage import SUMS
from chatapp.staff.usage.figures import Figures, change


def figures(**sums: int) -> Figures:
    return Figures("", {**dict.fromkeys(SUMS, 0), **sums})


def test_waiting_time_and_speed_are_averages_over_the_replies_that_have_them() -> None:
    known = figures(timed=4, first_token_ms=3000, written_tokens=90, written_ms=2000)
    assert (known.first_token, known.speed) == (0.75, 45.0)
    assert (figures().first_token, figures().speed) == (None, None)


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        (112, 100, "+12 %"),
        (50, 100, "\N{MINUS SIGN}50 %"),
        (100, 100, "no change"),
        (0, 3, "\N{MINUS SIGN}100 %"),
        (9, 0, ""),
        (None, 2.5, ""),
        (2.5, None, ""),
    ],
)
def test_a_figure_is_compared_with_the_previous_period(
    now: float | None, before: float | None, expected: str
) -> None:
    assert change(now, before) == expected


def test_an_unknown_cost_is_not_zero() -> None:
    unknown = Figures("", {"cost": 0, "unpriced": 2, "booked": 2})
    assert unknown.figure("cost") is None
    assert unknown.of("cost") == 0
    assert Figures("", {"cost": 0, "unpriced": 1, "booked": 2}).figure("cost") == 0
    assert Figures("", {"cost": 0, "unpriced": 0, "booked": 0}).figure("cost") == 0
