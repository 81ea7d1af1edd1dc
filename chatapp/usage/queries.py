"""What the pages read of usage: sums of days, and of months where it is a year.

The period before is as long as the one that is shown, so that what is used alike compares alike: of
a year, whose last month is not over, the year before as far as the same day.
"""

import calendar
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import reduce
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.utils.timezone import now

from chatapp.models import DailyUsage, MonthlyUsage, Usage, User
from chatapp.models.daily_usage import SUMS
from chatapp.usage.figures import NONE, Figures

YEAR = 365
NOBODY = "People who were erased"
NO_GROUP = "In no group"
COLUMNS = {"day": "day", "model": "model", "upstream": "upstream_name"}
_PEOPLE = Count("person", distinct=True, filter=~Q(person=0))
_SUMS = {f"sum_{name}": Sum(name) for name in SUMS}


@dataclass(frozen=True)
class Asked:
    days: int
    by: str
    measure: str
    person: int | None = None  # whose it is to be; None: everybody's

    @property
    def unit(self) -> str:
        return "month" if self.days == YEAR else "day"


@dataclass(frozen=True)
class Report:
    """`timeline` has each day or month of the period, also those in which nothing was used."""

    begins: date
    total: Figures
    before: Figures
    before_until: date  # the last day of those
    timeline: list[Figures]
    rows: list[Figures]

    def highest(self, measure: str) -> int:
        """Of a day or month."""
        return max(one.of(measure) for one in self.timeline)


def report(asked: Asked) -> Report:
    today = Usage.day_of(now())
    before, begins = _beginnings(asked, today)
    until = _year_before(today) if asked.days == YEAR else begins - timedelta(days=1)
    shown = _kept(MonthlyUsage if asked.days == YEAR else DailyUsage, asked, begins, today)
    timeline = _timeline(shown, asked, begins, today)
    rows = timeline if asked.by == "day" else _rows(shown, asked)
    return Report(
        begins,
        _total(timeline, shown),
        _before(asked, before, until),
        until,
        timeline,
        rows,
    )


def _beginnings(asked: Asked, today: date) -> tuple[date, date]:
    """Of the period before, and of this one, which ends today."""
    if asked.days == YEAR:
        months = 12 * today.year + today.month - 1 - 11
        return date((months - 12) // 12, months % 12 + 1, 1), date(months // 12, months % 12 + 1, 1)
    begins = today - timedelta(days=asked.days - 1)
    return begins - timedelta(days=asked.days), begins


def _year_before(day: date) -> date:
    last = calendar.monthrange(day.year - 1, day.month)[1]
    return date(day.year - 1, day.month, min(day.day, last))


def _kept(
    table: type[DailyUsage | MonthlyUsage], asked: Asked, since: date, until: date
) -> "QuerySet[Any]":
    kept: QuerySet[Any] = table._default_manager.filter(day__gte=since, day__lte=until)
    return kept if asked.person is None else kept.filter(person=asked.person)


def _total(timeline: list[Figures], kept: "QuerySet[Any]") -> Figures:
    """Many of the people are those of another day, too."""
    return replace(reduce(Figures.plus, timeline), **kept.aggregate(people=_PEOPLE))


def _before(asked: Asked, since: date, until: date) -> Figures:
    """Of a year, whole months, and the days of its last one."""
    if asked.days != YEAR:
        kept = _kept(DailyUsage, asked, since, until)
        return _figures("", kept.aggregate(people=_PEOPLE, **_SUMS))
    month = until.replace(day=1)
    months = _kept(MonthlyUsage, asked, since, month - timedelta(days=1))
    days = _kept(DailyUsage, asked, month, until)
    people = (
        months.exclude(person=0).values("person").union(days.exclude(person=0).values("person"))
    )
    both = [_figures("", {**kept.aggregate(**_SUMS), "people": 0}) for kept in (months, days)]
    return replace(both[0].plus(both[1]), people=people.count())


def _timeline(kept: "QuerySet[Any]", asked: Asked, begins: date, today: date) -> list[Figures]:
    found = {row["day"]: row for row in _summed(kept, "day")}
    days, day = [], begins
    while day <= today:
        days.append(day)
        day = (day + timedelta(days=32)).replace(day=1) if asked.unit == "month" else _next(day)
    said: Callable[[date], str] = _month if asked.unit == "month" else date.isoformat
    return [_figures(said(day), found.get(day, {"people": 0})) for day in days]


def _next(day: date) -> date:
    return day + timedelta(days=1)


def _month(day: date) -> str:
    return f"{day:%Y-%m}"


def _rows(kept: "QuerySet[Any]", asked: Asked) -> list[Figures]:
    """The largest first."""
    if column := COLUMNS.get(asked.by):
        rows = [_figures(row[column] or "Unknown", row) for row in _summed(kept, column)]
    else:
        by_person = {row["person"]: row for row in _summed(kept, "person")}
        rows = _of_groups(by_person) if asked.by == "group" else _of_people(by_person)
    return sorted(rows, key=lambda one: (-one.of(asked.measure), one.label))


def _of_people(by_person: Mapping[int, Mapping[str, Any]]) -> list[Figures]:
    names = dict(User.objects.values_list("pk", "username"))
    return [_figures(names.get(pk, NOBODY), row) for pk, row in by_person.items()]


def _of_groups(by_person: Mapping[int, Mapping[str, Any]]) -> list[Figures]:
    """Who is in several counts in each; and as they are in them today."""
    groups: dict[str, Figures] = {}
    members = User.objects.values_list("pk", "groups__name")
    named = [(pk, name or NO_GROUP) for pk, name in members] + [(0, NOBODY)]
    for pk, name in named:
        if row := by_person.get(pk):
            one = _figures(name, row)
            groups[name] = groups[name].plus(one) if name in groups else one
    return list(groups.values())


def _summed(kept: "QuerySet[Any]", column: str) -> list[dict[str, Any]]:
    return list(kept.order_by().values(column).annotate(people=_PEOPLE, **_SUMS))


def _figures(label: str, row: Mapping[str, Any]) -> Figures:
    sums = {name: int(row.get(f"sum_{name}") or 0) for name in NONE}
    return Figures(label, sums, row["people"])
