"""What follows from sums, and how it is drawn."""

import pytest

from chatapp.usage.figures import NONE, Figures, bars, change


def figures(**sums: int) -> Figures:
    return Figures("", {**NONE, **sums})


def test_waiting_and_speed_are_of_the_replies_that_know_them() -> None:
    known = figures(timed=4, first_token_ms=3000, written_tokens=90, written_ms=2000)
    assert (known.first_token, known.speed) == (0.75, 45.0)
    assert (figures().first_token, figures().speed) == (None, None)


@pytest.mark.parametrize(
    ("now", "before", "told"),
    [
        (112, 100, "+12 %"),
        (50, 100, "\N{MINUS SIGN}50 %"),
        (100, 100, "as before"),
        (0, 3, "\N{MINUS SIGN}100 %"),
        (9, 0, ""),
        (None, 2.5, ""),
        (2.5, None, ""),
    ],
)
def test_a_figure_is_compared_with_the_one_before(
    now: float | None, before: float | None, told: str
) -> None:
    assert change(now, before) == told


@pytest.mark.parametrize("measure", ["tokens", "cost", "replies"])
def test_what_is_estimated_or_unknown_is_drawn(measure: str) -> None:
    day = figures(
        booked=4,
        replies=4,
        complete=3,
        prompt_tokens=300,
        completion_tokens=100,
        estimated_tokens=100,
        cost=400,
        estimated_cost=100,
        unknown=1,
        unpriced=1,
    )
    full, empty = bars([day, figures()], measure)
    assert (full.sure, full.unsure, full.unknown) == (75, 25, 0.25)
    assert (full.foot, full.top) == (25, 0)
    assert (empty.sure, empty.unsure, empty.unknown) == (0, 0, 0)
    assert full.x + full.width < empty.x < empty.x + empty.width < 1000


def test_where_nothing_was_used_nothing_is_drawn() -> None:
    assert [one.sure for one in bars([figures()], "tokens")] == [0]
