"""Opens the ZIP archive of an Office file, within bounds of what it may unpack to."""

import encodings.cp437  # noqa: F401 - the encoding of names in archives
from typing import IO, BinaryIO
from zipfile import BadZipFile, ZipFile

from chatapp.documents import refusals

MAX_ENTRIES = 20_000
MAX_PART_BYTES = 256 * 2**20
MAX_UNPACKED_BYTES = 2**30
# A small archive that unpacks to this much is a bomb; well-packed spreadsheets reach about 1 : 50.
MAX_RATIO = 250
MIN_SUSPICIOUS_BYTES = 16 * 2**20


class Archive:
    """The parts of an archive. Archives in it are never opened."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = ZipFile(file)
        entries = self._zip.infolist()
        self._sizes = {entry.filename: entry.file_size for entry in entries}
        unpacked = sum(entry.file_size for entry in entries)
        packed = sum(entry.compress_size for entry in entries)
        is_bomb = unpacked > max(MIN_SUSPICIOUS_BYTES, MAX_RATIO * packed)
        if len(entries) > MAX_ENTRIES or unpacked > MAX_UNPACKED_BYTES or is_bomb:
            raise refusals.inflated()
        if any(entry.flag_bits & 1 for entry in entries):
            raise refusals.encrypted("ZIP")

    def __contains__(self, name: str) -> bool:
        return name in self._sizes

    def part(self, name: str) -> bytes:
        """Return the content of a part. Its size is checked again while it is unpacked."""
        with self.open(name) as part:
            return part.read(MAX_PART_BYTES)

    def open(self, name: str) -> IO[bytes]:
        """Open a part to read it piece by piece. It ends where the archive says that it ends."""
        if name not in self._sizes:
            raise BadZipFile(name)
        if self._sizes[name] > MAX_PART_BYTES:
            raise refusals.inflated()
        return self._zip.open(name)
