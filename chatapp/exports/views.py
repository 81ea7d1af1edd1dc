"""Starts exports, and downloads them: a small one at once, a large one when it has been made."""

from collections.abc import Iterator
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chatapp.chat.bulk_actions import error_response, text_response
from chatapp.exports.forms import ExportForm
from chatapp.exports.names import safe_name
from chatapp.exports.streaming import stream_pieces
from chatapp.exports.writing import TYPES, UNTITLED, build_export, is_large, list_chats
from chatapp.models import ChatExport, User, audit
from chatapp.models.conversations.turns.exports import MAX_EXPORTS, ExportFormat, ExportScope
from chatapp.models.files import storage
from chatapp.realtime.worker import worker

GONE = "This no longer exists."
NONE = "You have no chats yet."
TOO_MANY = "You keep {} exports already. Delete one of them first."
LOST = "The file of this export is lost. Export again."


@require_POST
@login_required
def export(request: HttpRequest) -> HttpResponseBase:
    """Send the export, or make it in the background if it is large.

    With htmx, 204 says that it will be sent if the form is posted without htmx.
    """
    assert isinstance(request.user, User)
    form = ExportForm(request.POST, user=request.user)
    if not form.is_valid():
        return error_response(form)
    requested_export = form.export
    chats = list_chats(requested_export)
    if not chats:  # audit events are permanent, so record none for an empty export
        return text_response(
            NONE if requested_export.scope == ExportScope.EVERYTHING else GONE, 404
        )
    if is_large(requested_export, chats):
        return _begin(request, requested_export, len(chats))
    if "HX-Request" in request.headers:
        return HttpResponse(status=204)
    with transaction.atomic():
        _record(requested_export, len(chats))
    content = build_export(requested_export, chats)
    name = f"{_name(requested_export, chats)}.{content.suffix}"
    return _stream_download(request, content.pieces, name)


def _begin(request: HttpRequest, requested_export: ChatExport, count: int) -> HttpResponse:
    with transaction.atomic():
        User.objects.select_for_update().get(pk=requested_export.user_id)  # one at a time
        if ChatExport.objects.filter(user=requested_export.user).current().count() >= MAX_EXPORTS:
            return text_response(TOO_MANY.format(MAX_EXPORTS), 422)
        requested_export.save()
        _record(requested_export, count)
    worker().jobs.wake()
    return HttpResponse(status=201) if "HX-Request" in request.headers else redirect("exports")


def _record(requested_export: ChatExport, count: int) -> None:
    detail = {
        "conversations": count,
        "format": requested_export.format,
        "scope": requested_export.scope,
    }
    audit.record(
        "conversations.exported",
        actor=requested_export.user,
        about=requested_export.user,
        detail=detail,
    )


def _name(requested_export: ChatExport, chats: list[UUID]) -> str:
    if len(chats) == 1 and requested_export.format in (ExportFormat.MARKDOWN, ExportFormat.HTML):
        title = (
            requested_export.user.conversations.filter(pk=chats[0])
            .values_list("title", flat=True)
            .first()
        )
        return safe_name(title or "", UNTITLED)
    kind = "usage" if requested_export.format == ExportFormat.CSV else "conversations"
    return f"{kind}-{timezone.now():%Y-%m-%d}"


def _stream_download(request: HttpRequest, pieces: Iterator[bytes], name: str) -> HttpResponseBase:
    return StreamingHttpResponse(
        stream_pieces(pieces, request.session.session_key or ""),
        content_type=TYPES[name.rpartition(".")[2]],
        headers={
            "Content-Disposition": content_disposition_header(True, name) or "attachment",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        },
    )


@require_GET
@never_cache
@login_required
def dialog(request: HttpRequest) -> HttpResponse:
    """The dialog that asks for the format of an export: of one chat, or of several."""
    context = {"is_single": "single" in request.GET, "formats": ExportFormat.choices}
    return render(request, "exports/dialog.html", context)


@require_GET
@never_cache
@login_required
def exports(request: HttpRequest) -> HttpResponse:
    """The page of a person's exports, from which they export everything."""
    assert isinstance(request.user, User)
    own_exports = list(ChatExport.objects.filter(user=request.user))
    context = {
        "exports": own_exports,
        "running": next((own_export for own_export in own_exports if own_export.is_unended), None),
        "formats": ExportFormat.choices,
        "most": MAX_EXPORTS,
    }
    return render(request, "exports/exports.html", context)


@require_GET
@never_cache
@login_required
def download(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    stored_export = _get_own_export(request, pk)
    if not stored_export.is_available:
        return text_response(GONE, 404)
    if not storage.exists(stored_export.stored_name):
        return text_response(LOST, 404)
    response = _stream_download(
        request, storage.read_chunks(stored_export.stored_name), stored_export.download_name
    )
    response.headers["Content-Length"] = str(storage.size(stored_export.stored_name))
    return response


@require_GET
@never_cache
@login_required
def progress(request: HttpRequest, pk: UUID) -> JsonResponse:
    return JsonResponse(_get_own_export(request, pk).progress)


@require_POST
@login_required
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    if _get_own_export(request, pk).ask_to_cancel():
        messages.info(request, "The export was cancelled.")
    return redirect("exports")


@require_POST
@login_required
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete an export that has ended, with its file."""
    stored_export = _get_own_export(request, pk)
    if stored_export.is_unended:
        messages.info(request, "This export is being prepared. Cancel it first.")
    else:
        stored_export.discard()
        messages.info(request, "Deleted.")
    return redirect("exports")


def _get_own_export(request: HttpRequest, pk: UUID) -> ChatExport:
    own_export: ChatExport = get_object_or_404(ChatExport, pk=pk, user=request.user)
    return own_export
