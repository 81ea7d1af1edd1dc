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
from chatapp.staff.retention.forms import RetentionForm, seal, was_previewed

IS_SET = "Retention saved. Expired data is deleted at the next housekeeping, within an hour."
LOOK_FIRST = "Nothing was changed yet. Review what would be deleted, then apply it."


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def retention(request: HttpRequest) -> HttpResponse:
    current = Retention.now()
    if request.method == "POST":
        form = RetentionForm(request.POST)
        if form.is_valid():
            return _set(request, form)
    else:
        form = RetentionForm(request.GET or None, initial=asdict(current))
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
    if not was_previewed(wanted, request.POST.get("seal", "")):
        messages.info(request, LOOK_FIRST)
        values = {name: value or "" for name, value in asdict(wanted).items()}
        return redirect(f"{reverse('retention')}?{urlencode(values)}")
    with transaction.atomic():
        if wanted != (current := Retention.now()):
            installation = wanted.store()
            change = {"before": asdict(current), "after": asdict(wanted)}
            record(request, "retention.changed", installation, **change)
    messages.success(request, IS_SET)
    return redirect(f"{reverse('retention')}#said")
