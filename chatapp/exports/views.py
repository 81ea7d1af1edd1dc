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
from chatapp.exports.streaming import streamed
from chatapp.exports.writing import TYPES, UNTITLED, chats_of, is_large, written
from chatapp.models import ChatExport, User, audit
from chatapp.models.conversations.exports import MAX_KEPT, ExportFormat, ExportScope
from chatapp.models.files import storage
from chatapp.realtime.worker import worker

CHUNK_BYTES = 256 * 1024
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
    asked = form.export
    chats = chats_of(asked)
    if not chats:  # audit events are permanent, so record none for an empty export
        return text_response(NONE if asked.scope == ExportScope.EVERYTHING else GONE, 404)
    if is_large(asked, chats):
        return _begin(request, asked, len(chats))
    if "HX-Request" in request.headers:
        return HttpResponse(status=204)
    with transaction.atomic():
        _record(asked, len(chats))
    found = written(asked, chats)
    name = f"{_name(asked, chats)}.{found.suffix}"
    return _sent(request, found.pieces, name)


def _begin(request: HttpRequest, asked: ChatExport, count: int) -> HttpResponse:
    with transaction.atomic():
        User.objects.select_for_update().get(pk=asked.user_id)  # one at a time
        if ChatExport.objects.filter(user=asked.user).kept().count() >= MAX_KEPT:
            return text_response(TOO_MANY.format(MAX_KEPT), 422)
        asked.save()
        _record(asked, count)
    worker().jobs.look()
    return HttpResponse(status=201) if "HX-Request" in request.headers else redirect("exports")


def _record(asked: ChatExport, count: int) -> None:
    detail = {"conversations": count, "format": asked.format, "scope": asked.scope}
    audit.record("conversations.exported", actor=asked.user, about=asked.user, detail=detail)


def _name(asked: ChatExport, chats: list[UUID]) -> str:
    if len(chats) == 1 and asked.format in (ExportFormat.MARKDOWN, ExportFormat.HTML):
        title = asked.user.conversations.filter(pk=chats[0]).values_list("title", flat=True).first()
        return safe_name(title or "", UNTITLED)
    kind = "usage" if asked.format == ExportFormat.CSV else "conversations"
    return f"{kind}-{timezone.now():%Y-%m-%d}"


def _sent(request: HttpRequest, pieces: Iterator[bytes], name: str) -> HttpResponseBase:
    return StreamingHttpResponse(
        streamed(pieces, request.session.session_key or ""),
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
    found = list(ChatExport.objects.filter(user=request.user))
    context = {
        "exports": found,
        "running": next((one for one in found if one.is_unended), None),
        "formats": ExportFormat.choices,
        "most": MAX_KEPT,
    }
    return render(request, "exports/exports.html", context)


@require_GET
@never_cache
@login_required
def download(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    found = _own(request, pk)
    if not found.is_there:
        return text_response(GONE, 404)
    if not storage.exists(found.stored_name):
        return text_response(LOST, 404)
    response = _sent(request, _chunks(found.stored_name), found.download_name)
    response.headers["Content-Length"] = str(storage.size(found.stored_name))
    return response


def _chunks(name: str) -> Iterator[bytes]:
    with storage.open_file(name) as file:
        while data := file.read(CHUNK_BYTES):
            yield data


@require_GET
@never_cache
@login_required
def progress(request: HttpRequest, pk: UUID) -> JsonResponse:
    return JsonResponse(_own(request, pk).progress)


@require_POST
@login_required
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    if _own(request, pk).ask_to_cancel():
        messages.info(request, "The export was cancelled.")
    return redirect("exports")


@require_POST
@login_required
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete an export that has ended, with its file."""
    found = _own(request, pk)
    if found.is_unended:
        messages.info(request, "This export is being prepared. Cancel it first.")
    else:
        found.discard()
        messages.info(request, "Deleted.")
    return redirect("exports")


def _own(request: HttpRequest, pk: UUID) -> ChatExport:
    found: ChatExport = get_object_or_404(ChatExport, pk=pk, user=request.user)
    return found
