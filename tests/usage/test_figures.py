"""What follows from sums."""

import pytest

from chatapp.models.daily_usage import SUMS
from chatapp.usage.figures import Figures, change


def figures(**sums: int) -> Figures:
    return Figures("", {**dict.fromkeys(SUMS, 0), **sums})


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
