"""Views that serve attached files to those who may see their chat.

Only images that the app itself encoded are shown by the browser; everything else is a download. No
response may run scripts or load anything. Each view by a reviewer is recorded in the audit log.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from functools import wraps
from typing import BinaryIO
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import to_second_factor
from chatapp.models import (
    Attachment,
    FileContent,
    Opening,
    PageImage,
    ReviewPolicy,
    StoredFile,
    User,
    audit,
)
from chatapp.models.files import storage
from chatapp.models.review.readable import readable_files

logger = logging.getLogger(__name__)

CHUNK_BYTES = 256 * 1024
UNREADABLE = "This file can't be read at the moment. Try again in a while."
UNNAMED = "The original may name its author. Read its text, or reveal the name of the owner first."
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


def for_readers(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Pass the attachment to the view if the person may read it, and record a reviewer's access."""

    @require_GET
    @login_required
    @wraps(view)
    def served(request: HttpRequest, pk: UUID, **rest: object) -> HttpResponseBase:
        assert isinstance(request.user, User)
        related = readable_files(request.user).select_related(
            "file__content__thumbnail", "message__conversation"
        )
        attachment = get_object_or_404(related, pk=pk)
        if attachment.user_id != request.user.pk:
            if elsewhere := to_second_factor(request):
                return elsewhere
            assert attachment.message
            with transaction.atomic():
                about = attachment.message.conversation
                audit.record("file.opened", actor=request.user, about=about)
        response = view(request, attachment, **rest)
        response["Cache-Control"] = "no-store"  # the browser's next user must not find it there
        return response

    return served


@for_readers
def download(request: HttpRequest, attachment: Attachment) -> HttpResponseBase:
    """The file as it was attached."""
    if attachment.file is None:
        raise Http404("The file has not been read yet, or was deleted.")
    if _hides_author(request, attachment):
        return HttpResponse(UNNAMED, status=403, content_type="text/plain; charset=utf-8")
    return _served(request, attachment.file, "application/octet-stream", attachment.name)


@for_readers
def image(request: HttpRequest, attachment: Attachment) -> HttpResponseBase:
    content = _image(attachment)
    return _served(request, content.file, content.media_type)


@for_readers
def thumbnail(request: HttpRequest, attachment: Attachment) -> HttpResponseBase:
    content = _image(attachment)
    if content.thumbnail is None:  # the image is as small as one
        return _served(request, content.file, content.media_type)
    return _served(request, content.thumbnail, "image/jpeg")


@for_readers
def page_image(request: HttpRequest, attachment: Attachment, position: int) -> HttpResponseBase:
    """A page of a scan, as the model gets it."""
    pages = attachment.content.page_images if attachment.content else PageImage.objects.none()
    page = get_object_or_404(pages.select_related("file"), position=position)
    return _served(request, page.file, page.media_type)


@for_readers
def text(request: HttpRequest, attachment: Attachment) -> HttpResponse:
    """What the model gets of a document."""
    if attachment.content is None:
        raise Http404("The file has not been read yet, or was deleted.")
    return render(request, "files/_text.html", {"attachment": attachment})


def _hides_author(request: HttpRequest, attachment: Attachment) -> bool:
    """Return whether this is a document of someone whose name the policy hides from the reader."""
    assert isinstance(request.user, User)
    is_image = attachment.content and attachment.content.kind == FileContent.Kind.IMAGE
    if is_image or attachment.user == request.user or attachment.message is None:
        return False  # the app has removed the metadata of images
    conversation = attachment.message.conversation
    opening = Opening.living(request.user, conversation)
    is_revealed = opening is not None and opening.revealed_at is not None
    return ReviewPolicy.at(conversation.created_at).hides_names and not is_revealed


def _image(attachment: Attachment) -> FileContent:
    content = attachment.content
    if content is None or content.kind != FileContent.Kind.IMAGE:
        raise Http404("This file is not an image.")
    return content


def _served(
    request: HttpRequest, stored: StoredFile, media_type: str, download_as: str = ""
) -> HttpResponseBase:
    """Return the whole file, or the range that the request asks for."""
    try:
        file = storage.open_file(stored.name)
    except FileNotFoundError as error:
        logger.error("A file is lost: the storage has no %s", stored.name)
        raise Http404("The file is lost.") from error
    except OSError as error:
        logger.error("A file can't be read: %s", error)
        return HttpResponse(UNREADABLE, status=503)
    first, last = _range(request.headers.get("Range", ""), stored.size)
    headers = HEADERS | {"Accept-Ranges": "bytes", "Content-Length": str(last - first + 1)}
    disposition = content_disposition_header(bool(download_as), download_as)
    headers["Content-Disposition"] = disposition or "inline"
    is_part = (first, last) != (0, stored.size - 1)
    if is_part:
        headers["Content-Range"] = f"bytes {first}-{last}/{stored.size}"
    return StreamingHttpResponse(
        _chunks(file, first, last + 1),
        status=206 if is_part else 200,
        content_type=media_type,
        headers=headers,
    )


def _range(header: str, size: int) -> tuple[int, int]:
    """Return the first and last byte of a single range; the whole file if there is none.

    A server may ignore the header (RFC 9110, section 14.2), so any other form is ignored.
    """
    found = re.fullmatch(r"bytes=(\d{1,18})-(\d{0,18})", header.strip(), re.ASCII)
    if not found or int(found[1]) >= size:
        return 0, size - 1
    first = int(found[1])
    return first, max(first, min(int(found[2] or size), size - 1))


async def _chunks(file: BinaryIO, start: int, end: int) -> AsyncIterator[bytes]:
    with file:
        await asyncio.to_thread(file.seek, start)
        while start < end and (
            data := await asyncio.to_thread(file.read, min(CHUNK_BYTES, end - start))
        ):
            start += len(data)
            yield data
