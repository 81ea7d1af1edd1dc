"""Downloads conversations as JSON Lines."""

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_POST

from chatapp.chat.bulk_actions import error_response, text_response
from chatapp.chat.page_forms import ChosenForm
from chatapp.exports.formats.json_lines import json_lines
from chatapp.exports.reading import Reading
from chatapp.exports.streaming import streamed
from chatapp.models import User, audit


@require_POST
@login_required
def export(request: HttpRequest) -> HttpResponseBase:
    assert isinstance(request.user, User)
    form = ChosenForm(request.POST, user=request.user)
    if not form.is_valid():
        return error_response(form)
    chosen = list(form.chosen.kept().values_list("pk", flat=True))
    if not chosen:  # audit events are permanent, so record none for an empty export
        return text_response("This no longer exists.", 404)
    with transaction.atomic():
        detail = {"conversations": len(chosen)}
        audit.record(
            "conversations.exported", actor=request.user, about=request.user, detail=detail
        )
    name = f"conversations-{timezone.now():%Y-%m-%d}.jsonl"
    return StreamingHttpResponse(
        streamed(json_lines(Reading(request.user, chosen)), request.session.session_key or ""),
        content_type="application/jsonl",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )
