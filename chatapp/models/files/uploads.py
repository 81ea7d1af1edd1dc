"""Uploads: files that arrive in parts, so that an upload goes on where it stopped.

The parts are in the storage until the whole file has been read.
"""

import io
import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from chatapp.models.files import storage

MAX_PART_BYTES = 1024 * 1024
MAX_NAME_LENGTH = 120
BUFFER_BYTES = 256 * 1024


def get_part_bytes() -> int:
    """Return the size of each part of a new upload but the last."""
    return min(MAX_PART_BYTES, settings.CHATAPP_MAX_BODY_BYTES)


class PartLost(Exception):
    """Raised when a part of an upload can't be read.

    Not an `OSError`, which would say that the person's file is damaged.
    """


class Upload(models.Model):
    """A file that arrives in parts."""

    FOLDER: ClassVar[str]  # of the parts in the storage
    part_bytes: int

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    size = models.PositiveBigIntegerField()  # bytes, as announced
    received = models.PositiveBigIntegerField(default=0)  # bytes
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @property
    def is_whole(self) -> bool:
        return self.received == self.size

    def part_name(self, offset: int) -> str:
        """Return the name in the storage of the part that begins at this byte."""
        return f"{self.FOLDER}/{self.pk}-{offset:012d}"

    @property
    def part_names(self) -> list[str]:
        """The names of the parts that have arrived, and of one that may have, in order."""
        end = min(self.received + 1, self.size)
        return [self.part_name(offset) for offset in range(0, end, self.part_bytes)]

    def count_part(self, size: int) -> bool:
        """Count a part that was stored; return False if the upload went on elsewhere or is gone."""
        end = self.received + size
        unchanged = type(self)._default_manager.filter(pk=self.pk, received=self.received)
        if not unchanged.update(received=end, changed_at=timezone.now()):
            return False
        self.received = end
        return True

    def open(self) -> io.BufferedReader:
        """Open the whole file for reading, which raises `PartLost` if the storage fails."""
        return io.BufferedReader(_PartsReader(self), BUFFER_BYTES)

    def delete_parts(self) -> None:
        """Delete the parts of a finished or cancelled upload. Raises `OSError`."""
        for name in self.part_names:
            storage.delete(name)


class _PartsReader(io.RawIOBase):
    """Reads a file from its parts, with one part in memory at a time."""

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._position = 0
        self._part = (-1, b"")  # its offset and its bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._upload.size}[
            whence
        ]
        if start + offset < 0:
            raise ValueError("negative position")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if self._position >= self._upload.size:
            return 0
        offset = self._position - self._position % self._upload.part_bytes
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
            return storage.read(self._upload.part_name(offset))
        except OSError as error:
            raise PartLost(str(error)) from error
