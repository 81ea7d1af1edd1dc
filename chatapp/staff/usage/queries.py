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
from chatapp.staff.usage.figures import CHART_SUMS, COMPARED_SUMS, Figures, add_figures
from chatapp.staff.usage.periods import Period, days_between, months_between

NOBODY = "Erased people"
NO_GROUP = "No group"
PERSONAL = "Personal presets"
COLUMNS = {"day": "day", "model": "model", "upstream": "upstream_name"}
MAX_UNPRICED = 10  # models that a page names
_PEOPLE = Count("person", distinct=True, filter=~Q(person=0))


@dataclass(frozen=True)
class UsageQuery:
    """The query of a report: the period, the grouping, the measure of the chart, and the person."""

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
    period_rows = _get_period_rows(period, query.person)
    # The sums don't know presets: the table's rows are added up from the ledger.
    column = "day" if query.by == "preset" else COLUMNS.get(query.by, "person")
    figures_by_key = _sum_by(period_rows, column, SUMS)
    by_day = (
        figures_by_key
        if column == "day"
        else _sum_by(period_rows, "day", CHART_SUMS[query.measure])
    )
    timeline = _in_order(period, by_day, period.begins, period.until)
    total = replace(
        add_figures(figures_by_key.values(), SUMS), **period_rows.aggregate(people=_PEOPLE)
    )
    previous_by_day, previous_total = _load_previous(query)
    earlier = _in_order(period, previous_by_day, period.before_begins, period.before_until)
    rows = timeline if query.by == "day" else _rows(query, figures_by_key)
    return Report(total, previous_total, timeline, earlier, rows)


def has_known_costs(period: Period, person: int | None) -> bool:
    """Whether the cost of any reply or title in the period is known."""
    return _get_period_rows(period, person).filter(unpriced__lt=F("booked")).exists()


@dataclass(frozen=True)
class UnpricedModel:
    upstream: Upstream
    model: str
    replies: int  # and titles, in the period


def models_without_price(period: Period, person: int | None) -> list[UnpricedModel]:
    """Return the used models that a price would help: their tokens are known, their cost is not."""
    rows = (
        _get_period_rows(period, person)
        .filter(unpriced__gt=F("unknown"))
        .exclude(model="")
        .order_by()
        .values_list("upstream_name", "model")
        .annotate(replies=Sum("unpriced") - Sum("unknown"))
        .order_by("-replies", "upstream_name", "model")[:MAX_UNPRICED]
    )
    named = Upstream.objects.filter(name__in={name for name, _, _ in rows}).defer("api_key")
    upstreams = {provider.name: provider for provider in named}
    return [
        UnpricedModel(upstream, model, replies)
        for name, model, replies in rows
        if (upstream := upstreams.get(name)) and Price.find(upstream.pk, model) is None
    ]


def _get_period_rows(period: Period, person: int | None) -> "QuerySet[Any]":
    table = MonthlyUsage if period.is_year else DailyUsage
    return _rows_between(table, person, period.begins, period.until)


def _rows_between(
    table: type[DailyUsage | MonthlyUsage], person: int | None, since: date, until: date
) -> "QuerySet[Any]":
    rows: QuerySet[Any] = table._default_manager.filter(day__gte=since, day__lte=until)
    return rows if person is None else rows.filter(person=person)


def _load_previous(query: UsageQuery) -> tuple[dict[date, Figures], Figures]:
    """Return the previous period's days or months, and their total.

    The last month of a year is counted up to the same day as the current month.
    """
    period, person = query.period, query.person
    since, until = period.before_begins, period.before_until
    if not period.is_year:
        days = _rows_between(DailyUsage, person, since, until)
        past, people = _sum_by(days, "day", COMPARED_SUMS), days.values_list("person").distinct()
    else:
        month = until.replace(day=1)
        months = _rows_between(MonthlyUsage, person, since, month - timedelta(days=1))
        days = _rows_between(DailyUsage, person, month, until)
        past = _sum_by(months, "day", COMPARED_SUMS)
        past[month] = _figures(
            days.aggregate(people=_PEOPLE, **_sums(COMPARED_SUMS)), COMPARED_SUMS
        )
        people = months.values_list("person").union(days.values_list("person"))
    return past, replace(add_figures(past.values(), COMPARED_SUMS), people=len({*people} - {(0,)}))


def _in_order(
    period: Period, figures_by_day: Mapping[date, Figures], since: date, until: date
) -> list[Figures]:
    days = months_between(since, until) if period.is_year else days_between(since, until)
    nothing = Figures("", dict.fromkeys(SUMS, 0))
    return [
        replace(figures_by_day.get(day, nothing), label=period.format_day(day), day=day)
        for day in days
    ]


def _rows(query: UsageQuery, figures_by_key: Mapping[Any, Figures]) -> list[Figures]:
    """Return the table's rows, the largest first."""
    if query.by == "preset":
        rows = _group_by_preset(query.period)
    elif query.by in COLUMNS:
        rows = [
            replace(figures, label=name or "Unknown") for name, figures in figures_by_key.items()
        ]
    else:
        rows = (
            _group_by_group(figures_by_key)
            if query.by == "group"
            else _group_by_person(figures_by_key)
        )
    return sorted(rows, key=lambda figures: (-figures.get_amount(query.measure), figures.label))


def _group_by_person(figures_by_person: Mapping[int, Figures]) -> list[Figures]:
    names = dict(User.objects.values_list("pk", "username"))
    return [
        replace(figures, label=names.get(pk, NOBODY)) for pk, figures in figures_by_person.items()
    ]


def _group_by_group(figures_by_person: Mapping[int, Figures]) -> list[Figures]:
    """Group people by their current groups. Members of several groups count in each."""
    groups: dict[str, list[Figures]] = {}
    members = User.objects.values_list("pk", "groups__name")
    for pk, name in [*members, (0, NOBODY)]:
        if pk in figures_by_person:
            groups.setdefault(name or NO_GROUP, []).append(figures_by_person[pk])
    return [replace(add_figures(each, SUMS), label=name) for name, each in groups.items()]


def _group_by_preset(period: Period) -> list[Figures]:
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


def _sum_by(rows: "QuerySet[Any]", column: str, names: Iterable[str]) -> dict[Any, Figures]:
    sum_rows = rows.order_by().values(column).annotate(people=_PEOPLE, **_sums(names))
    return {row[column]: _figures(row, names) for row in sum_rows}


def _sums(names: Iterable[str]) -> dict[str, Sum]:
    return {f"sum_{name}": Sum(name) for name in names}


def _figures(row: Mapping[str, Any], names: Iterable[str]) -> Figures:
    return Figures("", {name: int(row[f"sum_{name}"] or 0) for name in names}, row["people"])
