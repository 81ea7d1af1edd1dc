"""The page of a conversation in the review.

It shows figures and asks for a reason first; the text appears while the reviewer's opening lasts.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.db.models import Prefetch
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from chatapp.accounts.staff import reviewers_only
from chatapp.models import (
    Conversation,
    Opening,
    ProjectMember,
    RequestSettings,
    Review,
    ReviewLabel,
    SharedChat,
    User,
    audit,
)
from chatapp.models.conversations.messages.messages import load_shown_files
from chatapp.models.review.flags import load_rules_by_message
from chatapp.models.review.readable import reviewable
from chatapp.rendering import fragments, pool
from chatapp.staff.review.forms import NoteForm, OpeningForm, RevealForm
from chatapp.staff.review.lists.return_link import ReturnLink, back_to
from chatapp.staff.review.lists.rows import load_rows
from chatapp.staff.review.names import Names
from chatapp.staff.review.reading.history import MAX_STEPS, load_history


@require_GET
@reviewers_only
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    return conversation_page(request, pk, NoteForm())


def conversation_page(
    request: HttpRequest, pk: UUID, note_form: NoteForm, status: int = 200
) -> HttpResponse:
    assert isinstance(request.user, User)
    chat = get_object_or_404(reviewable().with_usage(), pk=pk)
    opening = Opening.living(request.user, chat)
    row = next(iter(load_rows([chat.pk], request.user)), None)
    if row is None:
        raise Http404("It was just deleted.")
    names = Names.of(chat, request.user, opening)
    return_link = ReturnLink.of(request)
    below, above = return_link.find_neighbours(chat)
    existing = chat.messages.filter(deleted_at=None)
    steps = load_history(chat, names)
    context = {
        "conversation": chat,
        "row": row,
        "names": names,
        "shared_with": _shared_with(chat, names),
        "review": row.review or Review(conversation=chat),
        "is_shared": ProjectMember.objects.filter(target=chat.project_id).exists(),
        "labels": ReviewLabel.objects.all(),
        "verdicts": Review.Verdict.choices,
        "notes": row.review.notes.select_related("author") if row.review else (),
        "shown": set(existing.values_list("pk", flat=True)) if opening else (),
        "history": steps[:MAX_STEPS],
        "has_older_steps": len(steps) > MAX_STEPS,
        "opening": opening,
        "thread": _render_thread(chat) if opening else "",
        "return_link": return_link,
        "below": below,
        "above": above,
        "opening_form": OpeningForm(
            initial={"reason": row.reason if return_link.is_of_queue else ""}
        ),
        "reveal_form": RevealForm(),
        "note_form": note_form,
    }
    return render(request, "review/conversation.html", context, status=status)


@require_POST
@reviewers_only
def open_conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Open the conversation. The event is committed before any of its text is shown."""
    assert isinstance(request.user, User)
    form = OpeningForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.refusal)
        return back_to(request, pk)
    with transaction.atomic():
        chat = get_object_or_404(reviewable(), pk=pk)
        reason = form.cleaned_data["reason"]
        Opening.begin(request.user, chat, reason)
        detail = {"reason": reason}
        audit.record("conversation.opened", actor=request.user, about=chat, detail=detail)
    return back_to(request, pk)


@require_POST
@reviewers_only
def reveal(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Reveal the owner's name to a reviewer who has it open. The event is committed first."""
    assert isinstance(request.user, User)
    form = RevealForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.refusal)
        return back_to(request, pk)
    with transaction.atomic():
        chat = get_object_or_404(reviewable(), pk=pk)
        opening = Opening.living(request.user, chat)
        if opening is None:
            messages.error(request, "Open the chat first, with a reason.")
        elif Names.of(chat, request.user, opening).hides_owner:
            opening.reveal()
            detail = {"reason": form.cleaned_data["reason"]}
            audit.record("name.revealed", actor=request.user, about=chat, detail=detail)
    return back_to(request, pk)


@require_GET
@reviewers_only
def raw_message(request: HttpRequest, pk: UUID, message: UUID) -> HttpResponse:
    """Return a message and its usage as stored, if the reviewer has the conversation open."""
    assert isinstance(request.user, User)
    chat = get_object_or_404(reviewable(), pk=pk)
    if not (opening := Opening.living(request.user, chat)):
        messages.info(request, "Open the chat first, with a reason.")
        return back_to(request, pk)
    existing = chat.messages.filter(deleted_at=None)
    existing = existing.select_related("usage", "request_settings__preset_version")
    stored_message = get_object_or_404(existing, pk=message)
    usage = getattr(stored_message, "usage", None)
    names = Names.of(chat, request.user, opening)
    owner = {"user_id": names.whose} if names.hides_owner else {}
    record = {
        "message": _dump_row(stored_message),
        "usage": usage and _dump_row(usage) | owner,
        "asked_with": stored_message.request_settings
        and _asked_with(stored_message.request_settings),
    }
    return JsonResponse(record, json_dumps_params={"ensure_ascii": False, "indent": 2})


def _shared_with(chat: Conversation, names: Names) -> list[str]:
    """Return for whom the chat's living links are, without names under a policy that hides them."""
    links = SharedChat.objects.active().filter(conversation=chat).with_names()
    if not names.hides_owner:
        return [", ".join(link.audience_names) for link in links]
    return [", ".join(link.audience_kinds) for link in links]


def _render_thread(chat: Conversation) -> str:
    """Return the HTML of every message of every branch, oldest first."""
    existing = chat.messages.filter(deleted_at=None)
    asked_with = Prefetch("request_settings", RequestSettings.objects.with_preset_name())
    related = existing.select_related("usage", "upstream", "feedback")
    thread_messages = list(related.prefetch_related(asked_with))
    load_shown_files(thread_messages)
    html_of = pool.render_texts(fragments.collect_texts(thread_messages))
    cuts = {cut.message_id: cut for cut in chat.context_cuts.all()}
    return fragments.review_html(thread_messages, html_of, load_rules_by_message(chat.pk), cuts)


def _asked_with(settings: RequestSettings) -> dict[str, object]:
    version = settings.preset_version
    return {
        "preset": version.name if version else None,
        "version": version.number if version else None,
        "instructions": settings.instructions,
        "files": [file.name for file in settings.files],
        "parameters": settings.parameters,
    }


def _dump_row(row: Any) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
