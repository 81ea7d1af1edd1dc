"""The page of usage for administrators, and everybody's own; each as a table for a spreadsheet."""

import csv

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import administrators_only
from chatapp.models import Limit, User, audit
from chatapp.models.daily_usage import SUMS
from chatapp.usage.figures import Figures, bars, change
from chatapp.usage.forms import AskedForm
from chatapp.usage.queries import Report, report
from chatapp.usage.spreadsheets import no_formula

MOST_ROWS = 200  # that the page shows; the file has all


@require_GET
@administrators_only
def usage(request: HttpRequest) -> HttpResponse:
    form = AskedForm(request.GET)
    if "csv" in request.GET:
        assert isinstance(request.user, User)
        asked = {"by": form.asked.by, "days": form.asked.days}
        with transaction.atomic():
            audit.record("usage.exported", actor=request.user, detail={"asked": asked})
    return _answer(request, form, "usage/usage.html")


@require_GET
@never_cache
@login_required
def own(request: HttpRequest) -> HttpResponse:
    """What whoever asks has used."""
    assert isinstance(request.user, User)
    return _answer(request, AskedForm(request.GET, request.user.pk), "usage/own.html")


def _answer(request: HttpRequest, form: AskedForm, template: str) -> HttpResponse:
    asked = form.asked
    found = report(asked)
    if "csv" in request.GET:
        return _file(found, f"usage-by-{asked.by}-{found.begins}.csv", asked.by)
    shown = request.GET.copy()
    shown["csv"] = ""
    used = [one for one in found.rows if one["booked"]]
    if asked.by == "day":
        used.reverse()
    context = {
        "form": form,
        "asked": asked,
        "report": found,
        "bars": bars(found.timeline, asked.measure),
        "rows": used[:MOST_ROWS],
        "unshown": len(used) - MOST_ROWS,
        "unused": len(found.rows) - len(used),
        "most": max((one.of(asked.measure) for one in found.rows), default=0) or 1,
        "change": change,
        "file": shown.urlencode(),
        "zone": Limit.zone().key,
    }
    return render(request, template, context)


def _file(found: Report, name: str, by: str) -> HttpResponse:
    answer = HttpResponse(
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
        },
    )
    lines = csv.writer(answer)
    lines.writerow([by, "people", *SUMS])
    lines.writerows(_line(one) for one in found.rows)
    return answer


def _line(one: Figures) -> list[object]:
    return [no_formula(one.label), one.people, *(one[name] for name in SUMS)]
