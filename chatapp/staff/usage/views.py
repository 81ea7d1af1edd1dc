"""The page of usage for administrators, and everybody's own; each as a table for a spreadsheet. And
what a conversation cost, for its owner.
"""

import csv
from collections.abc import Iterator
from itertools import zip_longest
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import administrators_only
from chatapp.models import Conversation, Limit, NotHere, User, audit
from chatapp.models.daily_usage import SUMS
from chatapp.staff.usage.conversations import spent
from chatapp.staff.usage.figures import Figures, change
from chatapp.staff.usage.forms import MEASURES, AskedForm
from chatapp.staff.usage.pictures import PARTS, picture
from chatapp.staff.usage.queries import Asked, Report, report
from chatapp.staff.usage.spreadsheets import in_dollars, no_formula

MONEY = ("cost", "estimated_cost")
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


@require_GET
@never_cache
@login_required
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The dialog of what it cost, which the menu of a conversation opens; of what lies in the trash
    there is none."""
    assert isinstance(request.user, User)
    try:
        of = Conversation.own(request.user, pk)
    except NotHere:
        raise Http404 from None
    return render(request, "usage/_conversation.html", {"conversation": of, "spent": spent(of)})


def _answer(request: HttpRequest, form: AskedForm, template: str) -> HttpResponse:
    asked = form.asked
    found = report(asked)
    if "csv" in request.GET:
        return _file(found, asked)
    used = [
        (one, before)
        for one, before in _with_before(found, asked)
        if one["booked"] or (before and before.of(asked.measure))
    ]
    if asked.by == "day":
        used.reverse()
    context = {
        "form": form,
        "asked": asked,
        "report": found,
        "picture": picture(found.timeline, found.earlier, asked.measure),
        "parts": PARTS[asked.measure],
        "measures": dict(MEASURES),
        "by_day": _address(request, by="day"),
        "file_by_day": _address(request, by="day", csv=""),
        "rows": used[:MOST_ROWS],
        "unshown": len(used) - MOST_ROWS,
        "unused": len(found.rows) - len(used),
        "most": max((one.of(asked.measure) for one in found.rows), default=0) or 1,
        "change": change,
        "file": _address(request, csv=""),
        "zone": Limit.zone().key,
    }
    return render(request, template, context)


def _address(request: HttpRequest, **given: str) -> str:
    """The same page with that in its place."""
    asked = request.GET.copy()
    for name, value in given.items():
        asked[name] = value
    return asked.urlencode()


def _with_before(found: Report, asked: Asked) -> Iterator[tuple[Figures, Figures | None]]:
    """The rows; each day or month with that of the period before, which the picture shows."""
    before = found.earlier if asked.by == "day" else []
    return zip_longest(found.rows, before)


def _file(found: Report, asked: Asked) -> HttpResponse:
    name = f"usage-by-{asked.by}-{found.begins}.csv"
    answer = HttpResponse(
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
        },
    )
    lines = csv.writer(answer)
    measure = asked.measure
    heads = [asked.by, "people", *map(_head, SUMS)]
    lines.writerow([*heads, f"{_head(measure)}_before"] if asked.by == "day" else heads)
    for one, before in _with_before(found, asked):
        sums = (_amount(one, name) for name in SUMS)
        line = [no_formula(one.label), one.people, *sums]
        lines.writerow([*line, _amount(before, measure)] if before else line)
    return answer


def _head(name: str) -> str:
    return f"{name}_usd" if name in MONEY else name


def _amount(one: Figures, name: str) -> object:
    amount = one.figure(name)
    return in_dollars(amount) if name in MONEY else amount
