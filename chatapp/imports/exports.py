"""Opens the uploaded files of an import for `transfer`, and says whose chats may be brought."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

from django.conf import settings

from chatapp.models import Import, User
from chatapp.models.accounts.users import address_key
from chatapp.models.files.import_files import COPY_NAME, ImportFile
from chatapp.models.platform.jobs import JobFailed
from chatapp.transfer import (
    Skipped,
    SourceChat,
    Unreadable,
    detect,
    is_database,
    people_of,
)
from chatapp.transfer.database import MAGIC
from chatapp.transfer.records import Format

GONE = "The uploaded files are no longer there. Upload them again."
LOST = "The server could not read the uploaded files. Upload them again."
ADMINISTRATORS = (
    "This is the database of a whole Open WebUI server. Only administrators can import it. Export "
    "your own chats in Open WebUI under Settings, Data controls instead."
)
NO_ADDRESS = (
    "This database has the chats of several people. Yours are found by your email address, but "
    "your account here has none."
)
SEVERAL = (
    "This export has the chats of several people. Export only your own chats: in Open WebUI under "
    "Settings, Data controls."
)
OTHERS = "It belongs to another person."
CHUNK_BYTES = 1024 * 1024


@contextmanager
def opened(job: Import) -> Iterator[list[BinaryIO]]:
    """Open all files of an import. Raises `JobFailed` if they are gone."""
    files = list(job.files)
    if not files or not all(one.is_whole for one in files):
        raise JobFailed(GONE)
    with ExitStack() as stack:
        try:
            yield [stack.enter_context(_opened(one)) for one in files]
        except Unreadable as error:
            raise JobFailed(str(error)) from error
        except OSError as error:
            raise JobFailed(LOST) from error


@contextmanager
def _opened(file: ImportFile) -> Iterator[BinaryIO]:
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
    """Tells the chats of an export that are the person's own from those of others.

    Open WebUI's database, and the export of all chats that its administrators can make, have the
    chats of several people.
    """

    def __init__(self, user: User, files: list[BinaryIO]) -> None:
        """Raise `JobFailed` if the person may not import these files."""
        self.format = detect(files)
        self._owners: set[str] = set()
        self._own: frozenset[str] | None = None  # ids of the person's accounts in a database
        databases = [file for file in files if is_database(file)]
        if databases and not user.administers:
            raise JobFailed(ADMINISTRATORS)
        if databases and not user.email:
            raise JobFailed(NO_ADDRESS)
        if databases:
            people, address = people_of(databases[0]).values(), address_key(user.email)
            self._own = frozenset(one.id for one in people if address_key(one.address) == address)

    def checked(self, entry: SourceChat | Skipped) -> SourceChat | Skipped:
        """Return the chat, or why it is skipped."""
        if isinstance(entry, Skipped) or self.format is not Format.OPEN_WEBUI:
            return entry
        if self._own is not None:
            is_own = entry.owner in self._own
        else:  # which has ids only: all must be of one person
            self._owners.add(entry.owner)
            is_own = len(self._owners) == 1
        if len(self._owners) > 1:
            raise JobFailed(SEVERAL)
        return entry if is_own else Skipped(OTHERS, entry.title, entry.source_id)
