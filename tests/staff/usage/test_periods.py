"""The periods of the usage pages and what they are compared with."""

from datetime import date

import pytest

from chatapp.staff.usage.periods import Period, days_between, months_between

TODAY = date(2026, 3, 20)


@pytest.mark.parametrize(
    ("period", "before", "words"),
    [
        (Period.of_days(7, TODAY), (date(2026, 3, 7), date(2026, 3, 13)), "the 7 days before"),
        (Period.of_month(TODAY), (date(2026, 2, 9), date(2026, 2, 28)), "the 20 days before"),
        (Period.of_year(TODAY), (date(2024, 4, 1), date(2025, 3, 20)), "the year before"),
        (Period.between(TODAY, TODAY), (date(2026, 3, 19),) * 2, "the day before"),
    ],
)
def test_a_period_is_compared_with_one_that_is_as_long(
    period: Period, before: tuple[date, date], words: str
) -> None:
    assert (period.before_begins, period.before_until) == before
    assert period.previous == words
    list_of = months_between if period.is_year else days_between
    assert len(list_of(period.begins, period.until)) == len(list_of(*before))


def test_months_and_days_are_named_as_people_write_them() -> None:
    assert Period.of_days(7, TODAY).format_day(date(2026, 3, 4)) == "4 Mar 2026"
    assert Period.of_year(TODAY).format_day(date(2026, 3, 1)) == "Mar 2026"


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
def test_a_year_is_compared_up_to_the_same_day(today: date, until: date) -> None:
    period = Period.of_year(today)
    assert (period.until, period.before_until) == (today, until)
    assert len(months_between(period.begins, period.until)) == 12
