"""The page on which an administrator says how long things are kept: first a preview of what would
go, then what sets it. Nothing goes by itself until the next housekeeping."""

from dataclasses import asdict
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.models import Retention
from chatapp.staff.people.log import record
from chatapp.staff.retention.forms import RetentionForm, seal, was_previewed

IS_SET = (
    "It is set. What is kept no longer goes with the next housekeeping, which is within an hour."
)
LOOK_FIRST = "Look first at what would go, then set it. Nothing was set yet."


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def retention(request: HttpRequest) -> HttpResponse:
    present = Retention.now()
    if request.method == "POST":
        form = RetentionForm(request.POST)
        if form.is_valid():
            return _set(request, form)
    else:
        form = RetentionForm(request.GET or None, initial=asdict(present))
    wanted = form.wanted if form.is_bound and form.is_valid() else None
    context = {
        "form": form,
        "wanted": wanted,
        "preview": wanted and wanted.preview(),
        "seal": wanted and seal(wanted),
    }
    return render(request, "retention/retention.html", context)


def _set(request: HttpRequest, form: RetentionForm) -> HttpResponse:
    wanted = form.wanted
    if not was_previewed(wanted, request.POST.get("seen", "")):
        messages.info(request, LOOK_FIRST)
        values = {name: value or "" for name, value in asdict(wanted).items()}
        return redirect(f"{reverse('retention')}?{urlencode(values)}")
    with transaction.atomic():
        if wanted != (present := Retention.now()):
            installation = wanted.store()
            change = {"before": asdict(present), "after": asdict(wanted)}
            record(request, "retention.changed", installation, **change)
    messages.success(request, IS_SET)
    return redirect("retention")
