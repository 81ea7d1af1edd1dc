"""Pages where administrators read, verify and export the audit log."""

import json
from collections.abc import AsyncIterator
from itertools import groupby

from channels.db import database_sync_to_async
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only
from chatapp.command_line import MANAGE
from chatapp.models import AuditHead, User, audit
from chatapp.models.audit.exporting import export_batch
from chatapp.staff.audit.forms import FilterForm, find_actions
from chatapp.staff.audit.queries import load_names, load_page
from chatapp.staff.audit.summaries import EventSummary, describe_action
from chatapp.staff.pickers.queries import MAX_OPTIONS, Option
from chatapp.staff.pickers.views import get_typed_text, options_page

MAX_CHECKED = 100_000  # events; more would keep the page waiting too long


@require_GET
@administrators_only
def log(request: HttpRequest) -> HttpResponse:
    form = FilterForm(request.GET)
    events, has_more = load_page(form.criteria)
    names = load_names(events)
    older = request.GET.copy()
    if has_more:
        older["before"] = str(events[-1].sequence)
    newest = request.GET.copy()
    is_first = newest.pop("before", None) is None
    summaries = [EventSummary.of(event, names) for event in events]
    days = [
        (day, list(some)) for day, some in groupby(summaries, lambda summary: summary.at.date())
    ]
    context = {
        "form": form,
        "days": days,
        "problem": _find_problem(events),
        "head": audit.read_head(),
        "older": older.urlencode() if has_more else "",
        "newest": "" if is_first else newest.urlencode(),
        "is_first": is_first,
    }
    return render(request, "audit/log.html", context)


@require_GET
@administrators_only
def suggest_actions(request: HttpRequest) -> HttpResponse:
    """Suggest what the filter can name as an action."""
    words = dict.fromkeys(
        describe_action(action) for action in find_actions(get_typed_text(request))
    )
    return options_page(request, [Option(label, label) for label in list(words)[:MAX_OPTIONS]])


def _find_problem(events: list[audit.AuditEvent]) -> str:
    """Return what is wrong with these events' checksums; "" if they are as they were written."""
    try:
        audit.check_events(events)
    except audit.Broken as broken:
        return str(broken)
    return ""


@require_POST
@administrators_only
def check(request: HttpRequest) -> HttpResponse:
    head = AuditHead.objects.first()
    if head and head.sequence - head.pruned_to > MAX_CHECKED:
        words = f"The log is too long to verify here. On the server, run: {MANAGE} audit verify"
        messages.info(request, words)
        return redirect("audit")
    try:
        verdict = audit.verify()
    except audit.Broken as broken:
        messages.error(request, f"The log failed verification. {broken}")
    else:
        messages.success(request, f"The log is intact. Events verified: {verdict.events:,}.")
    return redirect("audit")


@require_POST
@administrators_only
def export(request: HttpRequest) -> HttpResponseBase:
    """Stream the whole log as JSON Lines. Its last event is this export."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("audit"))
    assert isinstance(request.user, User)
    with transaction.atomic():
        event = audit.record("log.exported", actor=request.user)
    return StreamingHttpResponse(
        _lines(event.sequence),
        content_type="application/jsonl",
        headers={
            "Content-Disposition": f'attachment; filename="audit-{timezone.now():%Y-%m-%d}.jsonl"',
            "X-Content-Type-Options": "nosniff",
        },
    )


async def _lines(last: int) -> AsyncIterator[str]:
    after = 0
    while some := await database_sync_to_async(export_batch)(after, last):
        for line in some:
            yield json.dumps(line, ensure_ascii=False) + "\n"
        after = some[-1]["sequence"]
