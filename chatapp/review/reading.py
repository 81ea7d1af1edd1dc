"""A conversation as a reviewer reads it: first what holds no text of it and a question for the
reason, then, while the opening lasts, all that stands in it.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from chatapp import frames, rendering
from chatapp.accounts.staff import reviewers_only
from chatapp.models import Conversation, Opening, Review, ReviewLabel, User, audit
from chatapp.review.forms import NoteForm, OpeningForm
from chatapp.review.queries import history_of, neighbours_of, reviewable
from chatapp.review.rows import rows_of


@require_GET
@reviewers_only
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    return conversation_page(request, pk, NoteForm())


def conversation_page(
    request: HttpRequest, pk: UUID, note_form: NoteForm, status: int = 200
) -> HttpResponse:
    assert isinstance(request.user, User)
    found = get_object_or_404(reviewable().with_usage(), pk=pk)
    opening = Opening.living(request.user, found)
    row = next(iter(rows_of([found.pk])), None)
    if row is None:
        raise Http404("It was deleted just now.")
    older, newer = neighbours_of(found)
    there = found.messages.filter(deleted_at=None)
    context = {
        "conversation": found,
        "row": row,
        "review": row.review or Review(conversation=found),
        "labels": ReviewLabel.objects.all(),
        "verdicts": Review.Verdict.choices,
        "notes": row.review.notes.select_related("author") if row.review else (),
        "shown": set(there.values_list("pk", flat=True)) if opening else (),
        "history": history_of(found),
        "opening": opening,
        "thread": _thread(found) if opening else "",
        "older": older,
        "newer": newer,
        "opening_form": OpeningForm(),
        "note_form": note_form,
    }
    return render(request, "review/conversation.html", context, status=status)


@require_POST
@reviewers_only
def open_conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """That it was opened is stored for good before anything of it is shown."""
    assert isinstance(request.user, User)
    form = OpeningForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.refusal)
        return redirect("review-conversation", pk)
    with transaction.atomic():
        found = get_object_or_404(reviewable(), pk=pk)
        reason = form.cleaned_data["reason"]
        Opening.begin(request.user, found, reason)
        detail = {"reason": reason}
        audit.record("conversation.opened", actor=request.user, about=found, detail=detail)
    return redirect("review-conversation", pk)


@require_GET
@reviewers_only
def raw_message(request: HttpRequest, pk: UUID, message: UUID) -> HttpResponse:
    """What is stored of a message and of its usage, for whoever has the conversation open."""
    assert isinstance(request.user, User)
    found = get_object_or_404(reviewable(), pk=pk)
    if not Opening.living(request.user, found):
        raise PermissionDenied("Open the conversation first, and say why.")
    there = found.messages.filter(deleted_at=None).select_related("usage")
    one = get_object_or_404(there, pk=message)
    usage = getattr(one, "usage", None)
    record = {"message": _stored(one), "usage": usage and _stored(usage)}
    return JsonResponse(record, json_dumps_params={"ensure_ascii": False, "indent": 2})


def _thread(found: Conversation) -> str:
    """Every message of every branch, oldest first."""
    there = found.messages.filter(deleted_at=None)
    written = list(there.select_related("usage", "upstream", "feedback"))
    return frames.review_html(written, rendering.rendered(frames.texts_of(written)))


def _stored(row: Any) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
