"""The periods that the usage pages report on, each with the one it is compared with. No I/O.

The previous period is as long as the shown one, so that constant usage compares as unchanged. The
last month of a year is not over, so a year is compared with the one before up to the same day.
"""

import calendar
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """The days of a report and those of the previous period; each has both its ends."""

    begins: date
    until: date
    before_begins: date
    before_until: date
    is_year: bool = False  # shown by month

    @classmethod
    def between(cls, begins: date, until: date) -> Self:
        return cls(begins, until, begins - (until - begins) - DAY, begins - DAY)

    @classmethod
    def of_days(cls, days: int, today: date) -> Self:
        return cls.between(today - (days - 1) * DAY, today)

    @classmethod
    def of_month(cls, today: date) -> Self:
        return cls.between(today.replace(day=1), today)

    @classmethod
    def of_year(cls, today: date) -> Self:
        """Return this month and the eleven before it."""
        year, month = (today.year - 1, today.month + 1) if today.month < 12 else (today.year, 1)
        begins = date(year, month, 1)
        last = calendar.monthrange(today.year - 1, today.month)[1]
        until = date(today.year - 1, today.month, min(today.day, last))
        return cls(begins, today, begins.replace(year=year - 1), until, is_year=True)

    @property
    def unit(self) -> str:
        return "month" if self.is_year else "day"

    @property
    def days(self) -> int:
        return (self.until - self.begins).days + 1

    @property
    def previous(self) -> str:
        """The previous period in words that follow "than" or "as"."""
        if self.is_year:
            return "the year before"
        return "the day before" if self.days == 1 else f"the {self.days} days before"

    def format_day(self, day: date) -> str:
        """Return a day, or the month that it begins, as people write it."""
        return f"{day:%b %Y}" if self.is_year else f"{day.day} {day:%b %Y}"


def days_between(since: date, until: date) -> list[date]:
    return [since + number * DAY for number in range((until - since).days + 1)]


def months_between(since: date, until: date) -> list[date]:
    """Return the first day of each month."""
    months, month = [], since.replace(day=1)
    while month <= until:
        months.append(month)
        month = (month + 32 * DAY).replace(day=1)
    return months
