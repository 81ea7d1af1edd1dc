"""Opens the uploaded files of an import for `transfer`, and says whose chats may be brought."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

from django.conf import settings

from chatapp.imports.watching import Watch
from chatapp.models import Import, User
from chatapp.models.files.import_files import COPY_NAME, ImportFile
from chatapp.models.files.uploads import PartLost
from chatapp.models.platform.jobs import JobFailed
from chatapp.transfer import (
    Skipped,
    SourceChat,
    SourcePerson,
    Unreadable,
    detect,
    is_database,
    read_people,
)
from chatapp.transfer.database import MAGIC
from chatapp.transfer.records import Format

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
CHUNK_BYTES = 1024 * 1024


@contextmanager
def open_files(job: Import) -> Iterator[list[BinaryIO]]:
    """Open all files of an import. Raises `JobFailed` if they are gone."""
    files = list(job.files)
    if not files or not all(file.is_whole for file in files):
        raise JobFailed(GONE)
    with ExitStack() as stack:
        try:
            yield [stack.enter_context(_open_file(file)) for file in files]
        except Unreadable as error:
            raise JobFailed(str(error)) from error
        except PartLost as error:
            logger.error("An uploaded file of an import can't be read: %s", error)
            raise JobFailed(LOST) from error
        except OSError as error:
            logger.error("The database of an import can't be copied: %s", error)
            raise JobFailed(NO_COPY) from error


def list_file_names(job: Import) -> list[str]:
    """Return the names of the files that `open_files` yields, in its order."""
    return list(job.files.values_list("name", flat=True))


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


class Ownership:
    """Refuses exports that have the chats of others.

    Open WebUI's database, and the export of all chats that its administrators can make, have the
    chats of several people. Administrators may import the database, which says who they are.
    """

    def __init__(self, user: User, files: list[BinaryIO], watch: Watch) -> None:
        """Raise `JobFailed` if the person may not import these files."""
        self.format = detect(files, watch)
        self.is_for_team = any(map(is_database, files))
        self.people: Mapping[str, SourcePerson] = {}
        self._owners: set[str] = set()
        if self.is_for_team:
            self.people = _people(user, files, watch)

    def check(self, entry: SourceChat | Skipped) -> None:
        """Raise `JobFailed` if the chats of several people are in an export without a list."""
        is_several = self.format is Format.OPEN_WEBUI and not self.is_for_team
        if is_several and isinstance(entry, SourceChat):
            self._owners.add(entry.owner)
            if len(self._owners) > 1:
                raise JobFailed(SEVERAL)


def _people(user: User, files: list[BinaryIO], watch: Watch) -> Mapping[str, SourcePerson]:
    if not user.administers:
        raise JobFailed(ADMINISTRATORS)
    if len(files) > 1:
        raise JobFailed(ALONE)
    people = read_people(files[0], watch)
    if not people:
        raise JobFailed(NO_PEOPLE)
    return people
