"""Reads files that people attach, import or send over the API, and stores what was read.

A few are read at a time, each in a sandboxed process. The threads here only wait for those
processes, so the event loop is never blocked. People are served in turn, with one file at a time.
"""

import logging
import os
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from io import BufferedIOBase
from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from chatapp import documents
from chatapp.concurrency.fair_threads import FairThreads
from chatapp.concurrency.futures import fulfil
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.documents import Limits, Unreadable
from chatapp.models import FileContent, StoredFile
from chatapp.reading.storing import store_pages, store_result

logger = logging.getLogger(__name__)

AT_ONCE = max(2, os.cpu_count() or 1)
SECONDS_PER_HOUR = 600.0  # of reading, for each person
NOT_STORED = "The server can't store files at the moment. Try again in a while."

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
is_stopping = threading.Event()


def shut_down() -> None:
    """Read nothing more. What was not read fails as an orphan, and can be tried again."""
    is_stopping.set()
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

    import_threads.submit(person, size, partial(read_until_done, read_it))
    try:
        while not wait([result], POLL_SECONDS).done:
            yield
    finally:
        result.cancel()
    return result.result()


def read_until_done(read_it: Callable[[], None]) -> None:
    """Read a file, and again if the database was away. Runs in one of the threads."""
    while not is_stopping.is_set():
        try:
            read_it()
        except DATABASE_IS_AWAY as error:
            logger.warning("A file is read again once the database is back: %s", error)
            is_stopping.wait(AGAIN_SECONDS)
        else:
            return
        finally:
            connection.close()


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
            draw_pages(content, missing, path, owner)
    return content


def draw_pages(content: FileContent, indices: Sequence[int], path: Path, owner: int) -> None:
    """Draw and store pages of a scan, some at a time. Raises `Unreadable` if none can be drawn."""
    for start in range(0, len(indices), PAGES_AT_ONCE):
        batch = indices[start : start + PAGES_AT_ONCE]
        try:
            drawn_pages = documents.draw_pages(path, limits(), batch)
        except Unreadable as unreadable:
            if not start or is_stopping.is_set():
                raise
            logger.warning("Some pages of a scan were not drawn: %s", unreadable)
            return
        store_pages(content, drawn_pages, owner)


def limits() -> Limits:
    """Return the limits that the settings set."""
    return Limits(
        pages=settings.CHATAPP_FILE_PAGES,
        characters=settings.CHATAPP_FILE_CHARACTERS,
        pixels=settings.CHATAPP_FILE_PIXELS,
        pictures=settings.CHATAPP_SCANNED_PAGES,
    )
