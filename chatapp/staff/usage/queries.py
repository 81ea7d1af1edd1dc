"""Queries of the usage pages: sums by day, or by month for a whole year.

The previous period is as long as the shown one, so that constant usage compares as unchanged. The
last month of a year is not over, so a year is compared with the one before up to the same day.

The table's rows are read with all their sums, and add up to the total. The chart and the previous
period only read the sums that are drawn or compared, as each extra sum of each row costs time. The
grouping is done in SQL: reading finer groups once and adding them up in Python takes longer.
"""

import calendar
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.utils.timezone import now

from chatapp.models import DailyUsage, MonthlyUsage, User
from chatapp.models.billing.daily_usage import SUMS
from chatapp.models.platform.calendar import day_of
from chatapp.staff.usage.figures import COMPARED, DRAWN, Figures, added

YEAR = 365
NOBODY = "Erased people"
NO_GROUP = "No group"
COLUMNS = {"day": "day", "model": "model", "upstream": "upstream_name"}
_PEOPLE = Count("person", distinct=True, filter=~Q(person=0))


@dataclass(frozen=True)
class UsageQuery:
    """What to report: the period in days, the grouping, the measure, and whose usage."""

    days: int
    by: str
    measure: str
    person: int | None = None  # None means everybody

    @property
    def unit(self) -> str:
        return "month" if self.days == YEAR else "day"


@dataclass(frozen=True)
class Report:
    """The usage of a period, compared with the previous one.

    `timeline` has every day or month of the period, including unused ones, and `earlier` as many
    of the previous period.
    """

    begins: date
    total: Figures
    before: Figures
    before_until: date  # the last day of the previous period
    timeline: list[Figures]
    earlier: list[Figures]
    rows: list[Figures]


def report(query: UsageQuery) -> Report:
    """Return the usage of a period that ends today."""
    today = day_of(now())
    before, begins = _beginnings(query, today)
    until = _year_before(today) if query.days == YEAR else begins - timedelta(days=1)
    shown = _rows_between(MonthlyUsage if query.days == YEAR else DailyUsage, query, begins, today)
    found = _summed(shown, COLUMNS.get(query.by, "person"), SUMS)
    by_day = found if query.by == "day" else _summed(shown, "day", DRAWN[query.measure])
    timeline = _in_order(query, by_day, begins, today)
    total = replace(added(found.values(), SUMS), **shown.aggregate(people=_PEOPLE))
    past, of_past = _past(query, before, until)
    earlier = _in_order(query, past, before, until)
    rows = timeline if query.by == "day" else _rows(query, found)
    return Report(begins, total, of_past, until, timeline, earlier, rows)


def _beginnings(query: UsageQuery, today: date) -> tuple[date, date]:
    """Return when the previous period and the current one begin."""
    if query.days == YEAR:
        months = 12 * today.year + today.month - 1 - 11
        return date((months - 12) // 12, months % 12 + 1, 1), date(months // 12, months % 12 + 1, 1)
    begins = today - timedelta(days=query.days - 1)
    return begins - timedelta(days=query.days), begins


def _year_before(day: date) -> date:
    last = calendar.monthrange(day.year - 1, day.month)[1]
    return date(day.year - 1, day.month, min(day.day, last))


def _rows_between(
    table: type[DailyUsage | MonthlyUsage], query: UsageQuery, since: date, until: date
) -> "QuerySet[Any]":
    rows: QuerySet[Any] = table._default_manager.filter(day__gte=since, day__lte=until)
    return rows if query.person is None else rows.filter(person=query.person)


def _past(query: UsageQuery, since: date, until: date) -> tuple[dict[date, Figures], Figures]:
    """Return the previous period's days or months, and their total.

    The last month of a year is counted up to the same day as the current month.
    """
    if query.days != YEAR:
        days = _rows_between(DailyUsage, query, since, until)
        past, people = _summed(days, "day", COMPARED), days.values_list("person").distinct()
    else:
        month = until.replace(day=1)
        months = _rows_between(MonthlyUsage, query, since, month - timedelta(days=1))
        days = _rows_between(DailyUsage, query, month, until)
        past = _summed(months, "day", COMPARED)
        past[month] = _figures(days.aggregate(people=_PEOPLE, **_sums(COMPARED)), COMPARED)
        people = months.values_list("person").union(days.values_list("person"))
    return past, replace(added(past.values(), COMPARED), people=len({*people} - {(0,)}))


def _in_order(
    query: UsageQuery, found: Mapping[date, Figures], since: date, until: date
) -> list[Figures]:
    days, day = [], since
    while day <= until:
        days.append(day)
        day = (day + timedelta(days=32)).replace(day=1) if query.unit == "month" else _next(day)
    label: Callable[[date], str] = _month if query.unit == "month" else date.isoformat
    nothing = Figures("", dict.fromkeys(SUMS, 0))
    return [replace(found.get(day, nothing), label=label(day)) for day in days]


def _next(day: date) -> date:
    return day + timedelta(days=1)


def _month(day: date) -> str:
    return f"{day:%Y-%m}"


def _rows(query: UsageQuery, found: Mapping[Any, Figures]) -> list[Figures]:
    """Return the table's rows, the largest first."""
    if query.by in COLUMNS:
        rows = [replace(one, label=name or "Unknown") for name, one in found.items()]
    else:
        rows = _of_groups(found) if query.by == "group" else _of_people(found)
    return sorted(rows, key=lambda one: (-one.of(query.measure), one.label))


def _of_people(found: Mapping[int, Figures]) -> list[Figures]:
    names = dict(User.objects.values_list("pk", "username"))
    return [replace(one, label=names.get(pk, NOBODY)) for pk, one in found.items()]


def _of_groups(found: Mapping[int, Figures]) -> list[Figures]:
    """Group people by their current groups. Members of several groups count in each."""
    groups: dict[str, list[Figures]] = {}
    members = User.objects.values_list("pk", "groups__name")
    for pk, name in [*members, (0, NOBODY)]:
        if pk in found:
            groups.setdefault(name or NO_GROUP, []).append(found[pk])
    return [replace(added(each, SUMS), label=name) for name, each in groups.items()]


def _summed(rows: "QuerySet[Any]", column: str, names: Iterable[str]) -> dict[Any, Figures]:
    found = rows.order_by().values(column).annotate(people=_PEOPLE, **_sums(names))
    return {row[column]: _figures(row, names) for row in found}


def _sums(names: Iterable[str]) -> dict[str, Sum]:
    return {f"sum_{name}": Sum(name) for name in names}


def _figures(row: Mapping[str, Any], names: Iterable[str]) -> Figures:
    return Figures("", {name: int(row[f"sum_{name}"] or 0) for name in names}, row["people"])
