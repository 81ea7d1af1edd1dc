"""Views that serve attached files to those who may see their chat.

Only images that the app itself encoded are shown by the browser; everything else is a download. No
response may run scripts or load anything.
"""

import asyncio
import logging
import mimetypes
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import PurePosixPath
from typing import BinaryIO

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.http import content_disposition_header

from chatapp.files.ranges import Unsatisfiable, requested_range
from chatapp.files.readers import for_readers, hides_author
from chatapp.models import Attachment, FileContent, PageImage, PresetFile, StoredFile
from chatapp.models.files import storage
from chatapp.text.file_names import clean_file_name
from chatapp.upstream.wire.images import detect_media_type

logger = logging.getLogger(__name__)

CHUNK_BYTES = 256 * 1024
SIGNATURE_BYTES = 16  # enough for `detect_media_type`
UNNAMED = "The original may name its author. Read its text, or reveal the name of the owner first."
UNREADABLE = "This file can't be read at the moment. Try again in a while."
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Accept-Ranges": "bytes",
}

# Threads of their own, since reading from a bucket may take long.
_threads = ThreadPoolExecutor(8, "serving")


@for_readers
def download(request: HttpRequest, attachment: Attachment | PresetFile) -> HttpResponseBase:
    if hides_author(request, attachment):
        return HttpResponse(UNNAMED, status=403, content_type="text/plain; charset=utf-8")
    return send_original(request, attachment)


@for_readers
def image(request: HttpRequest, attachment: Attachment | PresetFile) -> HttpResponseBase:
    return send_image(request, attachment)


@for_readers
def thumbnail(request: HttpRequest, attachment: Attachment | PresetFile) -> HttpResponseBase:
    return send_thumbnail(request, attachment)


def send_original(request: HttpRequest, attachment: Attachment | PresetFile) -> HttpResponseBase:
    """The file as it was attached, or the image as it was encoded."""
    if attachment.file is None:
        raise Http404("The file has not been read yet, or was deleted.")
    name = _download_name(attachment)
    return _serve_file(request, attachment.file, "application/octet-stream", download_as=name)


def send_image(request: HttpRequest, attachment: Attachment | PresetFile) -> HttpResponseBase:
    return _serve_file(request, _image(attachment).file)


def send_thumbnail(request: HttpRequest, attachment: Attachment | PresetFile) -> HttpResponseBase:
    content = _image(attachment)
    return _serve_file(request, content.thumbnail or content.file)


@for_readers
def page_image(
    request: HttpRequest, attachment: Attachment | PresetFile, position: int
) -> HttpResponseBase:
    """A picture of a document, or a page of a scan, as the model gets it."""
    pages = attachment.content.page_images if attachment.content else PageImage.objects.none()
    page = get_object_or_404(pages.select_related("file"), position=position)
    first, last = attachment.page_range
    if not first <= page.page_number <= last:
        raise Http404("This page is not sent.")
    return _serve_file(request, page.file)


def _image(attachment: Attachment | PresetFile) -> FileContent:
    content = attachment.content
    if content is None or content.kind != FileContent.Kind.IMAGE:
        raise Http404("This file is not an image.")
    return content


def _download_name(attachment: Attachment | PresetFile) -> str:
    """Return the file's name, with another suffix if the app encoded the image in another format.

    It is cleaned again, because it becomes a header.
    """
    name = clean_file_name(attachment.name)
    content = attachment.content
    if content is None or content.kind != FileContent.Kind.IMAGE:
        return name
    if mimetypes.guess_type(name)[0] == content.media_type:
        return name
    return PurePosixPath(name).stem + (mimetypes.guess_extension(content.media_type) or "")


def _serve_file(
    request: HttpRequest, stored_file: StoredFile, media_type: str = "", *, download_as: str = ""
) -> HttpResponseBase:
    """Return a file, or the range of it that is requested: an image, unless it has a type."""
    etag = f'"{stored_file.sha256}"'
    try:
        span = requested_range(request, stored_file.size, etag)
        file = storage.open_file(stored_file.name)
        media_type = media_type or _image_type(file)
    except Unsatisfiable:
        headers = HEADERS | {"Content-Range": f"bytes */{stored_file.size}"}
        return HttpResponse(status=416, headers=headers)
    except FileNotFoundError as error:
        logger.error("A file is lost: the storage has no %s", stored_file.name)
        raise Http404("The file is lost.") from error
    except OSError as error:
        logger.error("A file can't be read: %s", error)
        return HttpResponse(UNREADABLE, status=503)
    disposition = content_disposition_header(bool(download_as), download_as) or "inline"
    headers = HEADERS | {"ETag": etag, "Content-Disposition": disposition}
    if span:
        headers["Content-Range"] = f"bytes {span[0]}-{span[-1]}/{stored_file.size}"
    sent_range = span or range(stored_file.size)
    headers |= {"Content-Length": str(len(sent_range)), "Content-Type": media_type}
    if request.method == "HEAD":
        file.close()
        return HttpResponse(headers=headers)
    return StreamingHttpResponse(
        _chunks(file, sent_range), status=206 if span else 200, headers=headers
    )


def _image_type(file: BinaryIO) -> str:
    """Return the type of an image from its first bytes."""
    signature = file.read(SIGNATURE_BYTES)
    return detect_media_type(signature) or "application/octet-stream"


async def _chunks(file: BinaryIO, span: range) -> AsyncIterator[bytes]:
    read = partial(asyncio.get_running_loop().run_in_executor, _threads)
    with file:
        start = await read(file.seek, span.start)
        while size := min(CHUNK_BYTES, span.stop - start):
            if not (data := await read(file.read, size)):
                raise OSError("a file is shorter in the storage than it was")
            start += len(data)
            yield data
