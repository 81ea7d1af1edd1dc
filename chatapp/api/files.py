"""Reads the files in a script's messages as attached files are read, and stores none of them."""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from chatapp import documents
from chatapp.api.data_urls import DataUrl
from chatapp.api.responses import ApiError
from chatapp.concurrency.futures import fulfil
from chatapp.documents import Document, Picture, ReadableLater, Scan, Unreadable
from chatapp.files.forms import EMPTY, TOO_LARGE
from chatapp.models import FileContent
from chatapp.models.files.contents import PlacedPart
from chatapp.reading.contents import NOT_STORED, limits, threads
from chatapp.upstream.wire.requests.content import (
    PICTURE_LEFT_OUT,
    EncodedPart,
    ImagePart,
    Part,
    is_parts,
    text_part,
)
from chatapp.upstream.wire.requests.history import History

logger = logging.getLogger(__name__)

READ_SECONDS = 300.0  # that a request waits for its files
RETRY_AFTER = 60

BUSY = "The files were not read in time, because the server reads other files. Try again later."
NOT_BASE64 = "The base64 of this file is not valid."


@dataclass(frozen=True, eq=False)
class UnreadFile:
    """A file as a script sent it, in place of a content part."""

    name: str
    url: DataUrl
    place: str  # in the body


FileParts = tuple[Sequence[Part], Sequence[ImagePart]]  # what is sent, and the images in it


def has_files(history: History) -> bool:
    contents = [message.get("content") for message in history.messages]
    return any(
        isinstance(part, UnreadFile) for parts in contents if is_parts(parts) for part in parts
    )


async def read_files(history: History, person: int, takes_images: bool) -> History:
    """Return the history with the text and the images of its files. Raises `ApiError`.

    The pictures of documents are sent only if the model is known to take images.
    """
    images, messages = [*history.images], []
    try:
        async with asyncio.timeout(READ_SECONDS):
            for message in history.messages:
                content, parts = message.get("content"), list[Part]()
                for part in content if is_parts(content) else ():
                    if not isinstance(part, UnreadFile):
                        parts.append(part)
                        continue
                    read = await _read_in_thread(person, part, takes_images)
                    parts += read[0]
                    images += read[1]
                messages.append({**message, "content": parts} if is_parts(content) else message)
    except TimeoutError:
        raise ApiError(503, BUSY, "files_not_read", None, RETRY_AFTER) from None
    return History.from_ordered(messages, images)


async def _read_in_thread(person: int, file: UnreadFile, takes_images: bool) -> FileParts:
    """Read a file when it is the person's turn."""
    result: Future[FileParts] = Future()
    read = partial(_read_file, file, takes_images)
    threads.submit(person, len(file.url.encoded), partial(fulfil, result, read))
    return await asyncio.wrap_future(result)


def _read_file(file: UnreadFile, takes_images: bool) -> FileParts:
    try:
        with TemporaryFile(dir=settings.DATA_DIR) as opened:
            size = sum(map(opened.write, file.url.pieces()))
            _check_size(size, file.place)
            opened.flush()
            result = documents.read(Path(f"/dev/fd/{opened.fileno()}"), limits(), file.name)
    except ValueError:
        raise ApiError(400, NOT_BASE64, "invalid_file", file.place) from None
    except ReadableLater as later:
        raise ApiError(503, str(later), "files_not_read", file.place, RETRY_AFTER) from later
    except Unreadable as unreadable:
        raise ApiError(400, str(unreadable), "invalid_file", file.place) from unreadable
    except OSError as error:
        logger.error("A file of a script can't be read: %s", error)
        raise ApiError(503, NOT_STORED, "files_not_read", file.place, RETRY_AFTER) from error
    return _build_content(result, file.name, takes_images)


def _check_size(size: int, place: str) -> None:
    max_size = settings.CHATAPP_FILE_BYTES
    if not size:
        raise ApiError(400, EMPTY, "invalid_file", place)
    if size > max_size:
        sentence = TOO_LARGE.format(filesizeformat(size), filesizeformat(max_size))
        raise ApiError(413, sentence, "request_too_large", place)


def _build_content(result: Document | Picture | Scan, name: str, takes_images: bool) -> FileParts:
    """Return the content parts that an attached file has."""
    match result:
        case Picture():
            return _build_picture_parts([result])
        case Document():
            return _build_document_parts(result, name, takes_images)
        case Scan():
            parts, images = _build_picture_parts(result.pages)
            last = len(result.pages)
            pages = f"1-{last}" if last > 1 else "1"
            label = f"{escape(name)}: page {pages} of {result.page_count}, as images."
            return [text_part(label), *parts], images


def _build_picture_parts(pictures: Sequence[Picture]) -> FileParts:
    return (
        [EncodedPart.of(picture.media_type, picture.data) for picture in pictures],
        [
            ImagePart("", picture.media_type, picture.width, picture.height, len(picture.data))
            for picture in pictures
        ],
    )


def _build_document_parts(document: Document, name: str, takes_images: bool) -> FileParts:
    pictures = [placed_picture.picture for placed_picture in document.pictures]
    parts, images = _build_picture_parts(pictures if takes_images else [])
    placed = [
        PlacedPart(
            placed_picture.page + 1,
            placed_picture.offset,
            parts[i] if parts else text_part(PICTURE_LEFT_OUT),
        )
        for i, placed_picture in enumerate(document.pictures)
    ]
    content = FileContent(
        kind=FileContent.Kind.DOCUMENT,
        text="".join(document.pages),
        page_ends=list(accumulate(map(len, document.pages))),
        unit=document.unit,
        left_out=[(piece.what, piece.count) for piece in document.left_out],
    )
    return content.document_parts(name, 1, len(document.pages), placed), images
