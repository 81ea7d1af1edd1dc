"""Reads uploaded files in the background, and shows in the tabs how that ended."""

import logging
import tempfile
from functools import partial
from io import BufferedIOBase
from shutil import copyfileobj
from typing import cast
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from chatapp.db.retry import retry_on_integrity_error
from chatapp.documents import ReadableLater, Unreadable
from chatapp.models import Attachment
from chatapp.models.files import storage
from chatapp.models.files.uploads import PartLost
from chatapp.reading import contents
from chatapp.reading.contents import DATABASE_IS_AWAY, NOT_STORED
from chatapp.realtime.worker import worker

logger = logging.getLogger(__name__)

WAITING = "Waiting for your other files."
FAILED = "This file could not be read because of a fault in the app. It is in the server's log."


def start_reading(attachment: Attachment) -> None:
    """Read an uploaded file soon, or draw its chosen pages, and show in the tabs how it ended."""
    own = Attachment.objects.filter(pk=attachment.pk)
    own.update(state=Attachment.State.READING, read_by=worker().id, problem="")
    read_it = partial(contents.read_until_done, partial(read_attachment, attachment.pk))
    if contents.threads.submit(attachment.user_id, attachment.size, read_it):
        own.filter(state=Attachment.State.READING).update(problem=WAITING)


def read_attachment(pk: UUID) -> None:
    """Read an attachment now; it is then ready, or failed with a sentence."""
    if attachment := Attachment.objects.filter(pk=pk).first():
        if Attachment.objects.filter(pk=pk).exclude(problem="").update(problem=""):
            worker().draft_changed(attachment.user_id, attachment.conversation_id)
        _read_and_store(attachment)
        worker().draft_changed(attachment.user_id, attachment.conversation_id)


def _read_and_store(attachment: Attachment) -> None:
    is_read = attachment.content is not None
    try:
        if is_read:
            _draw_chosen_pages(attachment)
        else:
            _read_upload(attachment)
    except ReadableLater as later:
        _fail(attachment, str(later))
        return
    except Unreadable as unreadable:
        if contents.is_stopping.is_set():
            return
        # The pages of what was read can be drawn again; the parts of what can't be read go below.
        _fail(attachment, str(unreadable), **({} if is_read else {"received": 0}))
    except (OSError, PartLost, IntegrityError) as error:
        logger.error("A file can't be stored: %s", error)
        _fail(attachment, NOT_STORED)
        return
    except DATABASE_IS_AWAY:
        raise  # the file is read again
    except Exception:  # the person must not wait for a file that nobody reads
        logger.exception("A file could not be read")
        _fail(attachment, FAILED)
        return
    try:
        attachment.delete_parts()
    except OSError as error:
        logger.warning("Housekeeping deletes the parts of a file that was read: %s", error)


def _read_upload(attachment: Attachment) -> None:
    with tempfile.TemporaryFile(dir=settings.DATA_DIR) as file:
        buffered_file = cast(BufferedIOBase, file)
        with attachment.open() as parts:
            copyfileobj(parts, buffered_file)
        buffered_file.flush()
        buffered_file.seek(0)
        _make_ready(attachment, buffered_file)


def _draw_chosen_pages(attachment: Attachment) -> None:
    """Draw the pages of a scan that a person has chosen. Raises `Unreadable` if none can be."""
    content = attachment.content
    assert content
    missing = content.undrawn_pages(*attachment.page_range)
    if missing:
        with storage.local_copy(content.file.name) as path:
            contents.draw_pages(content, missing, path, attachment.user_id)
    attachment.make_ready(content)


@retry_on_integrity_error  # a file with this content was erased at this moment
def _make_ready(attachment: Attachment, file: BufferedIOBase) -> None:
    content = contents.get_or_read_content(file, attachment.name, attachment.user_id)
    attachment.make_ready(content)


def _fail(attachment: Attachment, problem: str, **fields: object) -> None:
    reading = Attachment.objects.filter(pk=attachment.pk, state=Attachment.State.READING)
    reading.update(state=Attachment.State.FAILED, problem=problem, **fields)
