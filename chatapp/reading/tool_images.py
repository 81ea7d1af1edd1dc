"""Stores the images in results of tools, which are decoded and encoded again like attached ones."""

import asyncio
import logging
import os
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from uuid import UUID

from django.conf import settings
from django.db import Error, connection

from chatapp import documents
from chatapp.concurrency.fair_threads import FairThreads
from chatapp.concurrency.futures import fulfil
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.documents import Limits, Picture, Unreadable
from chatapp.models import ReplyImage, StoredFile
from chatapp.models.conversations.messages.images import FIRST_OF_TOOLS
from chatapp.models.conversations.messages.rounds import RunImage
from chatapp.tools import ToolImage
from chatapp.upstream.wire.base64_steps import decode_in_steps
from chatapp.upstream.wire.images import MAX_IMAGES, MAX_IMAGES_BYTES

logger = logging.getLogger(__name__)

SECONDS_PER_HOUR = 600.0  # of decoding, for each person

LEFT_OUT = "[Image {} was left out: {}]"
REST_LEFT_OUT = "[Images {} to {} were left out: {}]"
TOO_MANY = f"a reply has {MAX_IMAGES} images of tools at most."
TOO_LARGE = f"the images of a reply can have {MAX_IMAGES_BYTES:,} bytes at most."
NO_IMAGE = "it is not an image that can be read."
NOT_STORED = "the server can't store images at the moment."

threads = FairThreads(
    max(2, os.cpu_count() or 1),
    "tool images",
    TokenBuckets(partial(TokenBucket, SECONDS_PER_HOUR / 3600, SECONDS_PER_HOUR)),
)


class ImageSkipped(Exception):
    """An image is not kept; the message says why, as a clause."""


class ToolImages:
    """The images that tools returned for one reply."""

    def __init__(self, reply: UUID, person: int) -> None:
        self._reply, self._person = reply, person
        self._count = self._bytes = 0
        self.files: dict[int, str] = {}  # names in the storage by position

    async def keep(self, images: Sequence[ToolImage]) -> tuple[list[RunImage], list[str]]:
        """Return the images that are stored now, and sentences about the others.

        Images that are too many have one sentence, so that the text stays short.
        """
        run_images, notes = [], []
        for image in images:
            if self._count >= MAX_IMAGES:
                notes.append(_too_many(image.number, images[-1].number))
                break
            try:
                run_images.append(await self._keep(image))
            except ImageSkipped as reason:
                notes.append(LEFT_OUT.format(image.number, reason))
        return run_images, notes

    async def _keep(self, image: ToolImage) -> RunImage:
        position = FIRST_OF_TOOLS + self._count
        self._count += 1
        done: Future[tuple[RunImage, str]] = Future()
        store = partial(self._store, image.base64, position)
        threads.submit(self._person, len(image.base64), partial(fulfil, done, store))
        run_image, file = await asyncio.wrap_future(done)
        self.files[position] = file
        return run_image

    def _store(self, base64: str, position: int) -> tuple[RunImage, str]:
        with closing(connection):
            return self._store_image(base64, position)

    def _store_image(self, base64: str, position: int) -> tuple[RunImage, str]:
        picture = read_image(base64)
        if self._bytes + len(picture.data) > MAX_IMAGES_BYTES:
            raise ImageSkipped(TOO_LARGE)
        self._bytes += len(picture.data)
        try:
            file = StoredFile.store(picture.data, self._person)
            ReplyImage.objects.create(
                message_id=self._reply,
                position=position,
                media_type=picture.media_type,
                file=file,
            )
        except (OSError, Error) as error:  # also if the reply was deleted meanwhile
            logger.warning("An image of a tool can't be stored: %s", error)
            raise ImageSkipped(NOT_STORED) from error
        size = len(picture.data)
        run_image = RunImage(position, picture.media_type, picture.width, picture.height, size)
        return run_image, file.name


def _too_many(first: int, last: int) -> str:
    if first == last:
        return LEFT_OUT.format(first, TOO_MANY)
    return REST_LEFT_OUT.format(first, last, TOO_MANY)


def read_image(base64: str) -> Picture:
    limits = Limits(pixels=settings.CHATAPP_FILE_PIXELS)
    try:
        with TemporaryFile(dir=settings.DATA_DIR) as opened:
            # MIME's base64, which many libraries write, has line breaks.
            opened.writelines(decode_in_steps(base64.encode().translate(None, b" \t\r\n")))
            opened.flush()
            result = documents.read(Path(f"/dev/fd/{opened.fileno()}"), limits)
    except (ValueError, Unreadable) as error:
        raise ImageSkipped(NO_IMAGE) from error
    except OSError as error:
        logger.warning("An image of a tool can't be read: %s", error)
        raise ImageSkipped(NOT_STORED) from error
    if not isinstance(result, Picture):
        raise ImageSkipped(NO_IMAGE)
    return result
