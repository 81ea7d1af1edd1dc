"""The retention page: it first shows a preview of what would be deleted, then saves the periods.

Nothing is deleted here, but by the next housekeeping.
"""

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
from chatapp.staff.retention.forms import RetentionForm, seal_preview, was_previewed

PERIODS_SAVED = "Retention saved. Expired data is deleted at the next housekeeping, within an hour."
PREVIEW_FIRST = "Nothing was changed yet. Review what would be deleted, then apply it."


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def retention(request: HttpRequest) -> HttpResponse:
    current = Retention.now()
    if request.method == "POST":
        form = RetentionForm(request.POST)
        if form.is_valid():
            return _save_periods(request, form)
    else:
        form = RetentionForm(request.GET or None, initial=asdict(current))
    periods = form.periods if form.is_bound and form.is_valid() else None
    context = {
        "form": form,
        "wanted": periods,
        "preview": periods and periods.preview(),
        "seal": periods and seal_preview(periods),
    }
    return render(request, "retention/retention.html", context)


def _save_periods(request: HttpRequest, form: RetentionForm) -> HttpResponse:
    periods = form.periods
    if not was_previewed(periods, request.POST.get("seal", "")):
        messages.info(request, PREVIEW_FIRST)
        values = {name: value or "" for name, value in asdict(periods).items()}
        return redirect(f"{reverse('retention')}?{urlencode(values)}")
    with transaction.atomic():
        if periods != (current := Retention.now()):
            installation = periods.store()
            change = {"before": asdict(current), "after": asdict(periods)}
            record(request, "retention.changed", installation, **change)
    messages.success(request, PERIODS_SAVED)
    return redirect(f"{reverse('retention')}#said")
