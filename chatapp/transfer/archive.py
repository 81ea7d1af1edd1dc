"""Reads members of a ZIP archive, within bounds. Nothing is ever unpacked to a path."""

import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from chatapp.transfer.records import Unreadable

MAX_MEMBERS = 100_000
MAX_DIRECTORY_BYTES = 16 * 2**20  # the list of the members, which is read at once
MAX_NAME = 1_000  # characters
MAX_UNPACKED_BYTES = 16 * 2**30
MAX_MEMBER_BYTES = 8 * 2**30
# A small archive that unpacks to this much is a bomb; JSON of chats reaches about 1 : 20.
MAX_RATIO = 250
MIN_SUSPICIOUS_BYTES = 64 * 2**20

# The file changed, is damaged, or uses what `zipfile` cannot read.
ERRORS = (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
TOO_MANY = "This ZIP has too many files in it."


class Archive:
    """The members of an archive that an export can contain, by their names."""

    def __init__(self, file: BinaryIO) -> None:
        """Raise `Unreadable` if it is damaged, encrypted, or too large when unpacked."""
        bounded = _BoundedFile(file)
        try:
            self._zip = ZipFile(cast(BinaryIO, bounded))
        except Unreadable:
            raise
        except ERRORS as error:
            raise Unreadable("This ZIP is damaged or incomplete. Download it again.") from error
        bounded.is_listing = False
        entries = self._zip.infolist()
        _check(entries, file.seek(0, 2))
        self.members = {entry.filename: entry for entry in entries if _is_member(entry)}
        self.used: set[str] = set()  # members whose content is imported, or named in the report

    def open(self, entry: ZipInfo) -> BinaryIO:
        """Open a member. Raises one of `ERRORS`, then and while it is read."""
        return cast(BinaryIO, self._zip.open(entry))

    def read(self, name: str, limit: int) -> bytes:
        """Return a small member; nothing if it is absent, damaged or larger."""
        entry = self.members.get(name)
        if entry is None or entry.file_size > limit:
            return b""
        try:
            with self.open(entry) as member:
                return member.read(limit)
        except ERRORS:
            return b""

    def find_members(self, *patterns: str) -> list[str]:
        """Return the members that match one of these patterns from the right, by name."""
        paths = {name: PurePosixPath(name) for name in self.members}
        return sorted(
            name for name, path in paths.items() if any(path.match(pattern) for pattern in patterns)
        )

    def find_member(self, base: str) -> str:
        """Return the member with this name in whatever folder, "" if there is none."""
        matches = (name for name in self.members if PurePosixPath(name).name == base)
        return min(matches, key=len, default="")


@dataclass(frozen=True, slots=True)
class MemberContent:
    """The content of a file that is a member of an archive."""

    archive: Archive
    name: str

    def open(self) -> BinaryIO:
        return self.archive.open(self.archive.members[self.name])

    def mark_used(self) -> None:
        self.archive.used.add(self.name)


class _BoundedFile:
    """Lets `ZipFile` read a list of members only if it isn't too long.

    How long it is can't be looked up beforehand: an archive may have several ends.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.is_listing = True
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1, /) -> bytes:
        if self.is_listing and size > MAX_DIRECTORY_BYTES:
            raise Unreadable(TOO_MANY)
        return self._file.read(size)


def _check(entries: list[ZipInfo], size: int) -> None:
    unpacked = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    largest = max((entry.file_size for entry in entries), default=0)
    if len(entries) > MAX_MEMBERS:
        raise Unreadable(TOO_MANY)
    is_bomb = unpacked > max(MIN_SUSPICIOUS_BYTES, MAX_RATIO * packed)
    is_bomb |= packed > size  # members share their bytes
    if is_bomb or unpacked > MAX_UNPACKED_BYTES or largest > MAX_MEMBER_BYTES:
        raise Unreadable("This ZIP is not read because its content is too large when unpacked.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise Unreadable("This ZIP is encrypted. Save it without a password.")


def _is_member(entry: ZipInfo) -> bool:
    """Whether a member is a file that can be read, and not what macOS adds."""
    parts = PurePosixPath(entry.filename).parts
    is_plain = len(entry.filename) <= MAX_NAME and ".." not in parts and "__MACOSX" not in parts
    is_readable = entry.compress_type in (ZIP_STORED, ZIP_DEFLATED) and not entry.is_dir()
    return is_plain and is_readable and bool(parts) and not parts[-1].startswith("._")
