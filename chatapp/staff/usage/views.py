"""Usage pages: everybody's for administrators, people's own, and that of a chat for its owner.

The first two can be downloaded as CSV.
"""

import csv
from collections.abc import Iterator
from itertools import zip_longest
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import administrators_only
from chatapp.models import ChatNotFound, Conversation, User, audit
from chatapp.models.billing.daily_usage import SUMS
from chatapp.models.platform import calendar
from chatapp.staff.usage.charts import PARTS, chart
from chatapp.staff.usage.conversations import load_conversation_usage
from chatapp.staff.usage.figures import Figures, change
from chatapp.staff.usage.forms import MEASURES, PERIODS, UsageForm
from chatapp.staff.usage.queries import Report, UsageQuery, models_without_price, report
from chatapp.text.spreadsheets import in_dollars, no_formula

MONEY = ("cost", "estimated_cost")
MAX_ROWS = 200  # on the page; the CSV file has all


@require_GET
@administrators_only
def usage(request: HttpRequest) -> HttpResponse:
    form = UsageForm(request.GET)
    if "csv" in request.GET:
        assert isinstance(request.user, User)
        period = form.criteria.period
        filters = {"by": form.by, "since": f"{period.begins}", "until": f"{period.until}"}
        with transaction.atomic():
            audit.record("usage.exported", actor=request.user, detail={"asked": filters})
    return _page_or_file(request, form, "usage/usage.html")


@require_GET
@never_cache
@login_required
def own(request: HttpRequest) -> HttpResponse:
    """Show people their own usage."""
    assert isinstance(request.user, User)
    return _page_or_file(request, UsageForm(request.GET, request.user.pk), "usage/own.html")


@require_GET
@never_cache
@login_required
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Return the usage dialog that a chat's menu opens; 404 for chats in the trash."""
    assert isinstance(request.user, User)
    try:
        chat = Conversation.get_own(request.user, pk)
    except ChatNotFound:
        raise Http404 from None
    return render(
        request,
        "usage/_conversation.html",
        {"conversation": chat, "spent": load_conversation_usage(chat)},
    )


def _page_or_file(request: HttpRequest, form: UsageForm, template: str) -> HttpResponse:
    query = form.criteria
    usage_report = report(query)
    if "csv" in request.GET:
        return _file(usage_report, query)
    used = [
        (figures, before)
        for figures, before in _with_before(usage_report, query)
        if figures["booked"] or (before and before.get_amount(query.measure))
    ]
    if query.by == "day":
        used.reverse()
    unpriced = (
        models_without_price(query.period, query.person) if usage_report.total["unpriced"] else []
    )
    context = {
        "form": form,
        "query": query,
        "period": query.period,
        "report": usage_report,
        "picture": chart(usage_report.timeline, usage_report.earlier, query.measure),
        "parts": PARTS[query.measure],
        "periods": PERIODS,
        "measures": MEASURES,
        "address": lambda **changed: urlencode(form.link_parameters | changed),
        "rows": used[:MAX_ROWS],
        "unshown": len(used) - MAX_ROWS,
        "most": max((row.get_amount(query.measure) for row in usage_report.rows), default=0) or 1,
        "change": change,
        "unpriced": unpriced,
        "zone": calendar.zone().key,
    }
    return render(request, template, context)


def _with_before(
    usage_report: Report, query: UsageQuery
) -> Iterator[tuple[Figures, Figures | None]]:
    """Return the rows; days and months are paired with those of the previous period."""
    before = usage_report.earlier if query.by == "day" else []
    return zip_longest(usage_report.rows, before)


def _file(usage_report: Report, query: UsageQuery) -> HttpResponse:
    name = f"usage-by-{query.by}-{query.period.begins}.csv"
    response = HttpResponse(
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
        },
    )
    lines = csv.writer(response)
    measure = query.measure
    columns = [query.by, "people", *map(_column, SUMS)]
    lines.writerow([*columns, f"{_column(measure)}_before"] if query.by == "day" else columns)
    for figures, before in _with_before(usage_report, query):
        sums = (_amount(figures, name) for name in SUMS)
        line = [_label(figures, query), figures.people, *sums]
        lines.writerow([*line, _amount(before, measure)] if before else line)
    return response


def _label(figures: Figures, query: UsageQuery) -> str:
    """Return the name of a row; days and months as spreadsheets read them."""
    if figures.day:
        return f"{figures.day:%Y-%m}" if query.period.is_year else figures.day.isoformat()
    return no_formula(figures.label)


def _column(name: str) -> str:
    return f"{name}_usd" if name in MONEY else name


def _amount(figures: Figures, name: str) -> object:
    amount = figures.figure(name)
    return in_dollars(amount) if name in MONEY else amount
