"""Queries of the usage pages: sums by day, or by month for a whole year.

The table's rows are read with all their sums, and add up to the total. The chart and the previous
period only read the sums that are drawn or compared, as each extra sum of each row costs time. The
grouping is done in SQL: reading finer groups once and adding them up in Python takes longer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.db.models import BigIntegerField, Case, Count, F, Q, QuerySet, Sum, When
from django.db.models.expressions import RawSQL

from chatapp.models import DailyUsage, MonthlyUsage, Preset, Price, Upstream, Usage, User
from chatapp.models.billing.daily_usage import SUMS
from chatapp.staff.usage.figures import COMPARED, DRAWN, Figures, added
from chatapp.staff.usage.periods import Period, days_between, months_between

NOBODY = "Erased people"
NO_GROUP = "No group"
PERSONAL = "Personal presets"
COLUMNS = {"day": "day", "model": "model", "upstream": "upstream_name"}
MAX_UNPRICED = 10  # models that a page names
_PEOPLE = Count("person", distinct=True, filter=~Q(person=0))


@dataclass(frozen=True)
class UsageQuery:
    """What to report: the period, the grouping, the measure of the chart, and whose usage."""

    period: Period
    by: str
    measure: str
    person: int | None = None  # None means everybody


@dataclass(frozen=True)
class Report:
    """The usage of a period, compared with the previous one.

    `timeline` has every day or month of the period, including unused ones, and `earlier` as many
    of the previous period.
    """

    total: Figures
    before: Figures
    timeline: list[Figures]
    earlier: list[Figures]
    rows: list[Figures]


def report(query: UsageQuery) -> Report:
    period = query.period
    shown = _shown(period, query.person)
    # The sums don't know presets: the table's rows are added up from the ledger.
    column = "day" if query.by == "preset" else COLUMNS.get(query.by, "person")
    found = _summed(shown, column, SUMS)
    by_day = found if column == "day" else _summed(shown, "day", DRAWN[query.measure])
    timeline = _in_order(period, by_day, period.begins, period.until)
    total = replace(added(found.values(), SUMS), **shown.aggregate(people=_PEOPLE))
    past, of_past = _past(query)
    earlier = _in_order(period, past, period.before_begins, period.before_until)
    rows = timeline if query.by == "day" else _rows(query, found)
    return Report(total, of_past, timeline, earlier, rows)


def has_known_costs(period: Period, person: int | None) -> bool:
    """Whether the cost of any reply or title in the period is known."""
    return _shown(period, person).filter(unpriced__lt=F("booked")).exists()


@dataclass(frozen=True)
class UnpricedModel:
    upstream: Upstream
    model: str
    replies: int  # and titles, in the period


def models_without_price(period: Period, person: int | None) -> list[UnpricedModel]:
    """Return the used models that a price would help: their tokens are known, their cost is not."""
    rows = (
        _shown(period, person)
        .filter(unpriced__gt=F("unknown"))
        .exclude(model="")
        .order_by()
        .values_list("upstream_name", "model")
        .annotate(replies=Sum("unpriced") - Sum("unknown"))
        .order_by("-replies", "upstream_name", "model")[:MAX_UNPRICED]
    )
    named = Upstream.objects.filter(name__in={name for name, _, _ in rows}).defer("api_key")
    upstreams = {one.name: one for one in named}
    return [
        UnpricedModel(upstream, model, replies)
        for name, model, replies in rows
        if (upstream := upstreams.get(name)) and Price.holding(upstream.pk, model) is None
    ]


def _shown(period: Period, person: int | None) -> "QuerySet[Any]":
    table = MonthlyUsage if period.is_year else DailyUsage
    return _rows_between(table, person, period.begins, period.until)


def _rows_between(
    table: type[DailyUsage | MonthlyUsage], person: int | None, since: date, until: date
) -> "QuerySet[Any]":
    rows: QuerySet[Any] = table._default_manager.filter(day__gte=since, day__lte=until)
    return rows if person is None else rows.filter(person=person)


def _past(query: UsageQuery) -> tuple[dict[date, Figures], Figures]:
    """Return the previous period's days or months, and their total.

    The last month of a year is counted up to the same day as the current month.
    """
    period, person = query.period, query.person
    since, until = period.before_begins, period.before_until
    if not period.is_year:
        days = _rows_between(DailyUsage, person, since, until)
        past, people = _summed(days, "day", COMPARED), days.values_list("person").distinct()
    else:
        month = until.replace(day=1)
        months = _rows_between(MonthlyUsage, person, since, month - timedelta(days=1))
        days = _rows_between(DailyUsage, person, month, until)
        past = _summed(months, "day", COMPARED)
        past[month] = _figures(days.aggregate(people=_PEOPLE, **_sums(COMPARED)), COMPARED)
        people = months.values_list("person").union(days.values_list("person"))
    return past, replace(added(past.values(), COMPARED), people=len({*people} - {(0,)}))


def _in_order(
    period: Period, found: Mapping[date, Figures], since: date, until: date
) -> list[Figures]:
    days = months_between(since, until) if period.is_year else days_between(since, until)
    nothing = Figures("", dict.fromkeys(SUMS, 0))
    return [replace(found.get(day, nothing), label=period.name_of(day), day=day) for day in days]


def _rows(query: UsageQuery, found: Mapping[Any, Figures]) -> list[Figures]:
    """Return the table's rows, the largest first."""
    if query.by == "preset":
        rows = _of_presets(query.period)
    elif query.by in COLUMNS:
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


def _of_presets(period: Period) -> list[Figures]:
    """Return a row for each shared preset, and one for all others, whose names are personal."""
    shared = Preset.objects.shared()
    names = dict(shared.values_list("pk", "name"))
    rows = (
        Usage.objects.filter(preset__isnull=False, day__gte=period.begins, day__lte=period.until)
        .annotate(shared=Case(When(preset__in=shared.order_by().values("pk"), then="preset")))
        .order_by()
        .values("shared")
        .annotate(people=Count("user", distinct=True), **_sums_of_ledger())
    )
    return [replace(_figures(row, SUMS), label=names.get(row["shared"], PERSONAL)) for row in rows]


def _sums_of_ledger() -> dict[str, Sum]:
    table = Usage._meta.db_table
    return {
        f"sum_{name}": Sum(RawSQL(each.format(row=table), ()), output_field=BigIntegerField())  # noqa: S611 - our own text
        for name, each in SUMS.items()
    }


def _summed(rows: "QuerySet[Any]", column: str, names: Iterable[str]) -> dict[Any, Figures]:
    found = rows.order_by().values(column).annotate(people=_PEOPLE, **_sums(names))
    return {row[column]: _figures(row, names) for row in found}


def _sums(names: Iterable[str]) -> dict[str, Sum]:
    return {f"sum_{name}": Sum(name) for name in names}


def _figures(row: Mapping[str, Any], names: Iterable[str]) -> Figures:
    return Figures("", {name: int(row[f"sum_{name}"] or 0) for name in names}, row["people"])
