"""Opens the uploaded files of an import for the reader, `chatapp.transfer`.

Refuses exports with the chats of others, bounds how much is read, and notices between two pieces
that the import was cancelled.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

from django.conf import settings

from chatapp.models import Import
from chatapp.models.files.import_files import COPY_NAME, ImportFile
from chatapp.models.files.uploads import PartLost
from chatapp.models.platform.jobs import JobFailed
from chatapp.transfer import (
    Format,
    Skipped,
    SourceChat,
    SourcePerson,
    Unreadable,
    detect,
    is_database,
    read_chats,
    read_people,
)
from chatapp.transfer.database import MAGIC

logger = logging.getLogger(__name__)

GONE = "The uploaded files are no longer there. Upload them again."
LOST = (
    "The server could not read the uploaded files. Try again in a while, or upload them again if "
    "that doesn't help."
)
NO_COPY = "The server can't store files at the moment. Try again later."
ADMINISTRATORS = (
    "This is the database of a whole Open WebUI server. Only administrators can import it. Export "
    "your own chats in Open WebUI under Settings, Data controls instead."
)
ALONE = "Import a database alone, without other files."
NO_PEOPLE = (
    "This database doesn't say whose chats it has: the table of people is missing, or isn't Open "
    "WebUI's."
)
SEVERAL = (
    "This export has the chats of several people. Export only your own chats: in Open WebUI under "
    "Settings, Data controls."
)
POLL_SECONDS = 0.5  # between checks whether the import was cancelled
MAX_READ_BYTES = 8 * 2**30  # when unpacked, without files
TOO_MUCH = "This export has more than 8 GB of text. Split it, and import the parts."
CHUNK_BYTES = 1024 * 1024


class UploadedExport:
    """The export of an import while its files are open.

    Open WebUI's database, and the export of all chats that its administrators can make, have the
    chats of several people. Administrators may import the database, which says who they are.
    """

    def __init__(self, job: Import, files: Sequence[BinaryIO]) -> None:
        """Raise `JobFailed` if the person may not import these files."""
        self._job, self._files = job, files
        self._read_bytes = 0
        self._poll_at = time.monotonic() + POLL_SECONDS
        self.format = detect(files, self.watch)
        self.is_for_team = any(map(is_database, files))
        self.people = self._read_people() if self.is_for_team else {}

    def read_chats(self, note: Callable[[str], None]) -> Iterator[SourceChat | Skipped]:
        """Yield the chats, or why one can't be read. `note` gets sentences about the files.

        Raises `JobFailed` if the chats of several people are in an export without a list of them.
        """
        owners: set[str] = set()
        names = list(self._job.files.values_list("name", flat=True))
        for entry in read_chats(self._files, self.format, self.watch, names, note):
            if isinstance(entry, SourceChat) and not self.is_for_team:
                owners.add(entry.owner)
                if self.format is Format.OPEN_WEBUI and len(owners) > 1:
                    raise JobFailed(SEVERAL)
            yield entry

    def watch(self, count: int) -> None:
        """Count the bytes of a piece that is read.

        Raises `JobFailed` if they are too many, and `JobLost` if the import was cancelled.
        """
        self._read_bytes += count
        if self._read_bytes > MAX_READ_BYTES:
            raise JobFailed(TOO_MUCH)
        if (now := time.monotonic()) > self._poll_at:
            self._poll_at = now + POLL_SECONDS
            self._job.advance()

    def _read_people(self) -> Mapping[str, SourcePerson]:
        if not self._job.user.administers:
            raise JobFailed(ADMINISTRATORS)
        if len(self._files) > 1:
            raise JobFailed(ALONE)
        people = read_people(self._files[0], self.watch)
        if not people:
            raise JobFailed(NO_PEOPLE)
        return people


@contextmanager
def open_export(job: Import) -> Iterator[UploadedExport]:
    """Open the files of an import. Raises `JobFailed` if they are gone or can't be read."""
    files = list(job.files)
    if not files or not all(file.is_whole for file in files):
        raise JobFailed(GONE)
    with ExitStack() as stack:
        try:
            yield UploadedExport(job, [stack.enter_context(_open_file(file)) for file in files])
        except Unreadable as error:
            raise JobFailed(str(error)) from error
        except PartLost as error:
            logger.error("An uploaded file of an import can't be read: %s", error)
            raise JobFailed(LOST) from error
        except OSError as error:
            logger.error("The database of an import can't be copied: %s", error)
            raise JobFailed(NO_COPY) from error


@contextmanager
def _open_file(file: ImportFile) -> Iterator[BinaryIO]:
    with file.open() as parts:
        beginning = parts.read(len(MAGIC))
        parts.seek(0)
        if beginning != MAGIC:
            yield cast(BinaryIO, parts)
            return
        # SQLite needs a file with a name. If this process is killed, the next run replaces it.
        path = settings.DATA_DIR / COPY_NAME.format(file.pk)
        try:
            with path.open("w+b") as copy:
                while chunk := parts.read(CHUNK_BYTES):
                    copy.write(chunk)
                copy.flush()
                copy.seek(0)
                yield copy
        finally:
            path.unlink(missing_ok=True)
