"""Files that people upload to import chats from, in parts, until the import has ended.

They are not attachments: nobody else sees them, they may be much larger, and nothing is stored of
them but their parts.
"""

import io
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import ClassVar, Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.files import storage

PART_BYTES = 1024 * 1024
LIFETIME = timedelta(days=7)  # an upload that nobody imports, or whose import failed
BUFFER_BYTES = 256 * 1024
# The name in DATA_DIR of the copy of a database, which SQLite can only read from the disk.
COPY_NAME = "import-{}.db"


class PartLost(Exception):
    """Raised when a part of an uploaded file can't be read.

    Not an `OSError`, which would say that the person's file is damaged.
    """


class ImportFileQuerySet(models.QuerySet["ImportFile"]):
    def expired(self) -> Self:
        return self.filter(changed_at__lt=timezone.now() - LIFETIME)

    def erase(self) -> int:
        """Delete the rows, and when that is committed their parts; return how many rows."""
        names = [name for file in self for name in file.part_names]
        count, _ = self.delete()
        transaction.on_commit(partial(_delete, names))
        return count

    def delete_expired(self) -> bool:
        """Delete what is kept for too long; return whether there was any."""
        return bool(self.expired().erase())


class ImportFile(models.Model):
    """One file. Those that belong together have the same `batch`, which becomes an import's key."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="import_files")
    batch = models.UUIDField(db_index=True)
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=120)
    size = models.PositiveBigIntegerField()  # bytes
    received = models.PositiveBigIntegerField(default=0)
    part_bytes = models.PositiveIntegerField()
    changed_at = models.DateTimeField(auto_now=True)

    objects: ClassVar[ImportFileQuerySet] = models.Manager.from_queryset(ImportFileQuerySet)()  # type: ignore[assignment]

    class Meta:
        ordering: ClassVar[Sequence[str]] = ["position"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_whole(self) -> bool:
        return self.received == self.size

    def part_name(self, offset: int) -> str:
        """Return the name in the storage of the part that begins at this byte."""
        return f"{storage.IMPORTS}/{self.pk}-{offset:012d}"

    @property
    def part_names(self) -> list[str]:
        """The names of the parts that have arrived, and of one that may have, in order."""
        end = min(self.received + 1, self.size)
        return [self.part_name(offset) for offset in range(0, end, self.part_bytes)]

    def open(self) -> io.BufferedReader:
        """Open the whole file for reading, which raises `PartLost` if the storage fails."""
        return io.BufferedReader(_PartsReader(self), BUFFER_BYTES)


class _PartsReader(io.RawIOBase):
    """Reads a file from its parts, with one part in memory at a time."""

    def __init__(self, file: ImportFile) -> None:
        self._file = file
        self._position = 0
        self._part = (-1, b"")  # its offset and its bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size}[whence]
        if start + offset < 0:
            raise ValueError("negative position")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if self._position >= self._file.size:
            return 0
        offset = self._position - self._position % self._file.part_bytes
        if self._part[0] != offset:
            self._part = offset, self._read_part(offset)
        start = self._position - offset
        some = self._part[1][start : start + len(buffer)]
        if not some:
            raise PartLost("it is incomplete")
        buffer[: len(some)] = some
        self._position += len(some)
        return len(some)

    def _read_part(self, offset: int) -> bytes:
        try:
            return storage.read(self._file.part_name(offset))
        except OSError as error:
            raise PartLost(str(error)) from error


def find_existing_keys(keys: Collection[str]) -> set[str]:
    """Return which of these are keys of files."""
    files = ImportFile.objects.filter(pk__in=keys).order_by()
    return {str(pk) for pk in files.values_list("pk", flat=True)}


def _delete(names: Sequence[str]) -> None:
    """Delete parts; housekeeping deletes those that the storage can't delete now."""
    with suppress(OSError):
        for name in names:
            storage.delete(name)
