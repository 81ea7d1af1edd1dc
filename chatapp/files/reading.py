"""Read uploaded files in the background: a few at a time, each in a sandboxed process.

The threads here only wait for those processes, so the event loop is never blocked. People are
served in turn, with one file at a time.
"""

import logging
import os
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from shutil import copyfileobj
from typing import cast
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, InterfaceError, OperationalError, connection

from chatapp import documents
from chatapp.concurrency.fair_threads import FairThreads
from chatapp.concurrency.futures import fulfil
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.db.retry import retry_on_integrity_error
from chatapp.documents import Limits, ReadableLater, Unreadable
from chatapp.files.storing import store_pages, store_result
from chatapp.models import Attachment, FileContent, StoredFile
from chatapp.models.files import storage
from chatapp.models.files.uploads import PartLost
from chatapp.realtime.worker import worker

logger = logging.getLogger(__name__)

AT_ONCE = max(2, os.cpu_count() or 1)
SECONDS_PER_HOUR = 600.0  # of reading, for each person
WAITING = "Waiting for your other files."
NOT_STORED = "The server can't store files at the moment. Try again in a while."
FAILED = "This file could not be read because of a fault in the app. It is in the server's log."

DATABASE_IS_AWAY = (OperationalError, InterfaceError)
PAGES_AT_ONCE = 5  # of a scan, in one process
AGAIN_SECONDS = 5.0
POLL_SECONDS = 0.1  # between steps of an import that waits for a file

threads = FairThreads(
    AT_ONCE,
    "reading",
    TokenBuckets(partial(TokenBucket, SECONDS_PER_HOUR / 3600, SECONDS_PER_HOUR)),
)
import_threads = FairThreads(AT_ONCE, "reading")  # of the process for jobs
_is_stopping = threading.Event()


def start_reading(attachment: Attachment) -> None:
    """Read an uploaded file soon, or draw its chosen pages, and show in the tabs how it ended."""
    own = Attachment.objects.filter(pk=attachment.pk)
    own.update(state=Attachment.State.READING, read_by=worker().id, problem="")
    read_it = partial(_read_in_thread, partial(read_attachment, attachment.pk))
    if threads.submit(attachment.user_id, attachment.size, read_it):
        own.filter(state=Attachment.State.READING).update(problem=WAITING)


def shut_down() -> None:
    """Read nothing more. What was not read fails as an orphan, and can be tried again."""
    _is_stopping.set()
    threads.stop()
    import_threads.stop()
    documents.stop()


def read_for_import(
    person: int, file: BufferedIOBase, size: int, name: str
) -> Generator[None, None, FileContent]:
    """Read a file as `get_or_read_content` does, when it is the person's turn, and close it.

    Yields while that takes, and returns the content.
    """
    result: Future[FileContent] = Future()

    def read_it() -> None:
        with file:
            fulfil(result, partial(get_or_read_content, file, name, person))

    import_threads.submit(person, size, partial(_read_in_thread, read_it))
    try:
        while not wait([result], POLL_SECONDS).done:
            yield
    finally:
        result.cancel()
    return result.result()


def _read_in_thread(read_it: Callable[[], None]) -> None:
    while not _is_stopping.is_set():
        try:
            read_it()
        except DATABASE_IS_AWAY as error:
            logger.warning("A file is read again once the database is back: %s", error)
            _is_stopping.wait(AGAIN_SECONDS)
        else:
            return
        finally:
            connection.close()


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
        if _is_stopping.is_set():
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
            _draw_pages(content, missing, path, attachment.user_id)
    attachment.make_ready(content)


def _draw_pages(content: FileContent, indices: Sequence[int], path: Path, owner: int) -> None:
    """Draw and store pages of a scan, some at a time. Raises `Unreadable` if none can be drawn."""
    for start in range(0, len(indices), PAGES_AT_ONCE):
        batch = indices[start : start + PAGES_AT_ONCE]
        try:
            drawn_pages = documents.draw_pages(path, limits(), batch)
        except Unreadable as unreadable:
            if not start or _is_stopping.is_set():
                raise
            logger.warning("Some pages of a scan were not drawn: %s", unreadable)
            return
        store_pages(content, drawn_pages, owner)


@retry_on_integrity_error  # a file with this content was erased at this moment
def _make_ready(attachment: Attachment, file: BufferedIOBase) -> None:
    content = get_or_read_content(file, attachment.name, attachment.user_id)
    attachment.make_ready(content)


def _fail(attachment: Attachment, problem: str, **fields: object) -> None:
    reading = Attachment.objects.filter(pk=attachment.pk, state=Attachment.State.READING)
    reading.update(state=Attachment.State.FAILED, problem=problem, **fields)


def get_or_read_content(file: BufferedIOBase, name: str, owner: int) -> FileContent:
    """Read a person's file that is on the disk, and store it.

    Refer to it within `StoredFile`'s `GRACE`.

    Raises `Unreadable` with a sentence, and `OSError`.
    """
    return _find_content(file, owner) or _read_content(file, name, owner)


def _find_content(file: BufferedIOBase, owner: int) -> FileContent | None:
    """Return what was read of the person's same document before."""
    stored_file = StoredFile.find_by_hash(StoredFile.digest(file), owner)
    return (
        FileContent.objects.filter(file=stored_file).select_related("file").first()
        if stored_file
        else None
    )


def _read_content(file: BufferedIOBase, name: str, owner: int) -> FileContent:
    path = Path(f"/dev/fd/{file.fileno()}")
    content = store_result(documents.read(path, limits(), name), file, owner)
    if missing := content.undrawn_pages(1, content.page_count):  # there was no time for these
        with suppress(Unreadable):
            _draw_pages(content, missing, path, owner)
    return content


def limits() -> Limits:
    """Return the limits that the settings set."""
    return Limits(
        pages=settings.CHATAPP_FILE_PAGES,
        characters=settings.CHATAPP_FILE_CHARACTERS,
        pixels=settings.CHATAPP_FILE_PIXELS,
        pictures=settings.CHATAPP_SCANNED_PAGES,
    )
