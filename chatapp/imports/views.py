"""The pages of imports: the list with the upload, and one import with its preview and report."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.second_factor import lacks_second_factor
from chatapp.accounts.staff import refuse_scripts
from chatapp.imports.people import choose_people, list_candidates, make_parts
from chatapp.imports.report import ImportReport
from chatapp.models import Conversation, Import, Retention, ReviewPolicy, User
from chatapp.models.conversations.chats.conversation import IMPORT_SOURCES
from chatapp.models.conversations.messages import storage
from chatapp.models.files.import_files import LIFETIME
from chatapp.models.imports.imports import Phase
from chatapp.models.imports.undoing import CONTINUED, DELETED, HELD, SHORTENED
from chatapp.models.library.file_sets import sum_stored_bytes
from chatapp.models.refusals import Refused
from chatapp.realtime.worker import worker

SHOWN = 50  # chats per page, and imports in the list
ENDED = "This import has ended, so there is nothing to cancel."
FOR_ADMINISTRATORS = (
    "This import has the chats of several people. It is for administrators, with a second factor "
    "if staff must have one."
)
NOT_NOW = "This can't be done any more. The page shows what the import has done."

# What became of chats when an import was undone.
UNDONE = {
    DELETED: "Chats deleted",
    SHORTENED: "Chats whose added messages were deleted",
    CONTINUED: "Chats kept because they were continued",
    HELD: "Chats kept by a legal hold",
}


class StartForm(forms.Form):
    makes_projects = forms.BooleanField(required=False, label="Make projects of the folders")


class CancelForm(forms.Form):
    takes_back = forms.BooleanField(required=False)


View = Callable[[HttpRequest, UUID], HttpResponse]


def confirmed_for_team(view: View) -> View:
    """Ask administrators to confirm their identity before an import that is for others."""

    @wraps(view)
    def confirmed_view(request: HttpRequest, pk: UUID) -> HttpResponse:
        job = _get_own_import(request, pk)
        if job.is_for_team and not is_confirmed(request):
            return ask_to_confirm(job.get_absolute_url())
        return view(request, pk)

    return confirmed_view


@require_GET
@never_cache
@login_required
def imports(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    context = {
        "imports": request.user.imports.all()[:SHOWN],
        "most": filesizeformat(settings.CHATAPP_IMPORT_BYTES),
        "days": LIFETIME.days,
    }
    return render(request, "imports/list.html", context)


@require_GET
@never_cache
@login_required
@confirmed_for_team
def show_import(request: HttpRequest, pk: UUID) -> HttpResponse:
    job = _get_own_import(request, pk)
    preview = ImportReport.from_record(job.preview)
    context: dict[str, Any] = {"job": job, "preview": preview, "phase": job.phase}
    context["result"] = None
    context["app"] = IMPORT_SOURCES.get(job.source, "")
    if job.phase == Phase.PREVIEW and job.is_for_team:
        context |= _build_people_context(request, job)
    elif job.phase == Phase.PREVIEW:
        context |= _build_preview_context(job, preview)
    elif job.result:
        context |= _build_report_context(request, job)
    return render(request, "imports/import.html", context)


def _build_people_context(request: HttpRequest, job: Import) -> dict[str, Any]:
    people = list_candidates(job)
    confirmed = {person.key for person in people if person.account and person.is_confirmed}
    own = {person.key for person in people if person.account and person.is_own}
    return {
        "people": people,
        "confirmed": confirmed,
        "own": own,
        "chosen": confirmed if request.GET.get("choose") == "confirmed" else own,
        "policy": ReviewPolicy.now(),
    }


def _build_preview_context(job: Import, preview: ImportReport) -> dict[str, Any]:
    used_bytes, allowed_bytes = (
        storage.count_stored_bytes(job.user),
        settings.CHATAPP_STORED_BYTES_PER_PERSON,
    )
    used_by_files = sum_stored_bytes(job.user)
    allowed_for_files = settings.CHATAPP_FILE_BYTES_PER_PERSON
    return {
        "first": parse_datetime(preview.first) if preview.first else None,
        "last": parse_datetime(preview.last) if preview.last else None,
        "needed": filesizeformat(preview.text_bytes),
        "free": filesizeformat(max(0, allowed_bytes - used_bytes)),
        "has_room": used_bytes + preview.text_bytes <= allowed_bytes,
        "needed_for_files": filesizeformat(preview.file_bytes),
        "free_for_files": filesizeformat(max(0, allowed_for_files - used_by_files)),
        "has_room_for_files": used_by_files + preview.file_bytes <= allowed_for_files,
        "policy": ReviewPolicy.now(),
        "kept_days": Retention.now().conversation_days,
    }


def _build_report_context(request: HttpRequest, job: Import) -> dict[str, Any]:
    own_chats = Conversation.objects.filter(user=job.user_id, trashed_at=None)
    chats = own_chats.filter(pk__in=job.chats.values("pk")).order_by("-updated_at", "-pk")
    pages = Paginator(chats, SHOWN)
    parts = job.parts.select_related("user").order_by("user__username", "pk")
    return {
        "result": ImportReport.from_record(job.result),
        "parts": [(part, ImportReport.from_record(part.result)) for part in parts],
        "UNDONE": UNDONE,
        "page": pages.get_page(request.GET.get("page", "1")[:6]),
    }


@require_GET
@never_cache
@login_required
def progress(request: HttpRequest, pk: UUID) -> HttpResponse:
    return JsonResponse(_get_own_import(request, pk).progress)


@require_POST
@login_required
@confirmed_for_team
def start(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Import what the preview has shown."""
    form = StartForm(request.POST)
    form.full_clean()
    with transaction.atomic():
        job = _get_own_import(request, pk, locked=True)
        if not job.can_start:
            return _redirect_with_error(request, job, NOT_NOW)
        preview = ImportReport.from_record(job.preview)
        job.makes_projects = form.cleaned_data["makes_projects"]
        try:
            if job.is_for_team:
                chosen_people = choose_people(job, request.POST.getlist("person"))
                make_parts(job, chosen_people)
                counts = {
                    "people": len(chosen_people),
                    "chats": sum(person.chats for person in chosen_people),
                }
            else:
                storage.check_quota(job.user, preview.text_bytes)
                counts = {"chats": preview.chats, "messages": preview.messages}
        except Refused as refused:
            return _redirect_with_error(request, job, str(refused))
        job.result = {}
        job.save(update_fields=["makes_projects", "preview", "result"])
        job.wait_in(Phase.STORING)
        job.record("import.started", counts)
    return _start_and_redirect(job)


@require_POST
@login_required
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End a job that waits or runs; what it stored is kept, or taken back if that is asked."""
    form = CancelForm(request.POST)
    form.full_clean()
    job = _get_own_import(request, pk)
    if job.phase == Phase.UNDOING:
        return _redirect_with_error(request, job, NOT_NOW)
    Import.objects.filter(pk=job.pk).update(takes_back=form.cleaned_data["takes_back"])
    if not job.ask_to_cancel():
        return _redirect_with_error(request, job, ENDED)
    worker().jobs.wake()
    return redirect(job)


@require_POST
@login_required
def discard(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete the uploaded files of an import that is not wanted."""
    with transaction.atomic():
        job = _get_own_import(request, pk, locked=True)
        if job.is_unended:
            return _redirect_with_error(request, job, NOT_NOW)
        job.files.erase()
        if not job.chats.exists() and not job.result:
            job.delete()
    messages.success(request, "The uploaded files are deleted.")
    return redirect("imports")


@require_POST
@login_required
@confirmed_for_team
def retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Go on with an import that failed."""
    with transaction.atomic():
        job = _get_own_import(request, pk, locked=True)
        if not job.can_be_tried_again:
            return _redirect_with_error(request, job, NOT_NOW)
        job.parts.update(ended_at=None, problem="")
        job.wait_in(Phase(job.phase), done=job.done if job.phase == Phase.STORING else 0)
    return _start_and_redirect(job)


@require_POST
@login_required
@confirmed_for_team
def undo(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete what an import has stored."""
    with transaction.atomic():
        job = _get_own_import(request, pk, locked=True)
        if not job.can_be_undone:
            return _redirect_with_error(request, job, NOT_NOW)
        job.wait_in(Phase.UNDOING)
    return _start_and_redirect(job)


def _start_and_redirect(job: Import) -> HttpResponse:
    worker().jobs.wake()
    return redirect(job)


def _redirect_with_error(request: HttpRequest, job: Import, sentence: str) -> HttpResponse:
    messages.error(request, sentence)
    return redirect(job)


def _get_own_import(request: HttpRequest, pk: UUID, *, locked: bool = False) -> Import:
    assert isinstance(request.user, User)
    own = request.user.imports.all()
    job: Import = get_object_or_404(own.select_for_update() if locked else own, pk=pk)
    if job.is_for_team:
        refuse_scripts(request)
        if not request.user.administers or lacks_second_factor(request.user):
            raise PermissionDenied(FOR_ADMINISTRATORS)
    return job
