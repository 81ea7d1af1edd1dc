"""What the pages read of usage: sums of days, and of months where it is a year."""

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
    timeline: list[Figures]
    rows: list[Figures]

    def highest(self, measure: str) -> int:
        """Of a day or month."""
        return max(one.of(measure) for one in self.timeline)


def report(asked: Asked) -> Report:
    today = Usage.day_of(now())
    before, begins = _beginnings(asked, today)
    kept: QuerySet[Any] = (MonthlyUsage if asked.days == YEAR else DailyUsage).objects.all()
    if asked.person is not None:
        kept = kept.filter(person=asked.person)
    shown = kept.filter(day__gte=begins, day__lte=today)
    timeline = _timeline(shown, asked, begins, today)
    rows = timeline if asked.by == "day" else _rows(shown, asked)
    return Report(
        begins,
        _total(timeline, shown),
        _before(kept.filter(day__gte=before, day__lt=begins)),
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


def _total(timeline: list[Figures], kept: "QuerySet[Any]") -> Figures:
    """Many of the people are those of another day, too."""
    return replace(reduce(Figures.plus, timeline), **kept.aggregate(people=_PEOPLE))


def _before(kept: "QuerySet[Any]") -> Figures:
    return _figures("", kept.aggregate(people=_PEOPLE, **_SUMS))


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
