"""Views that serve attached files to those who may see their chat.

Only images that the app itself encoded are shown by the browser; everything else is a download. No
response may run scripts or load anything.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from typing import BinaryIO
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from chatapp.models import Attachment, FileContent, PageImage, StoredFile, User
from chatapp.models.files import storage

logger = logging.getLogger(__name__)

CHUNK_BYTES = 256 * 1024
UNREADABLE = "This file can't be read at the moment. Try again in a while."
HEADERS = {
    "Cache-Control": "no-store",  # the browser's next user must not find it in the cache
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


@require_GET
@login_required
def download(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """The file as it was attached."""
    attachment = _readable(request, pk)
    if attachment.file is None:
        raise Http404("The file has not been read yet.")
    return _served(request, attachment.file, "application/octet-stream", attachment.name)


@require_GET
@login_required
def image(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    content = _image(request, pk)
    return _served(request, content.file, content.media_type)


@require_GET
@login_required
def thumbnail(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    content = _image(request, pk)
    assert content.thumbnail
    return _served(request, content.thumbnail, "image/jpeg")


@require_GET
@login_required
def page_image(request: HttpRequest, pk: UUID, position: int) -> HttpResponseBase:
    """A page of a scan, as the model gets it."""
    attachment = _readable(request, pk)
    pages = attachment.content.page_images if attachment.content else PageImage.objects.none()
    page = get_object_or_404(pages.select_related("file"), position=position)
    return _served(request, page.file, page.media_type)


@require_GET
@login_required
def text(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What the model gets of a document."""
    attachment = _readable(request, pk)
    if attachment.content is None:
        raise Http404("The file has not been read yet.")
    return render(request, "files/_text.html", {"attachment": attachment})


def _readable(request: HttpRequest, pk: UUID) -> Attachment:
    assert isinstance(request.user, User)
    related = Attachment.objects.select_related("file__content__thumbnail")
    found: Attachment = get_object_or_404(related.readable_by(request.user), pk=pk)
    return found


def _image(request: HttpRequest, pk: UUID) -> FileContent:
    content = _readable(request, pk).content
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
