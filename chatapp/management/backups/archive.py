"""The archive: a zip file with members and a manifest that has the size and SHA-256 of each.

An archive is untrusted until `open_verified` has read all of it. It refuses an archive that is
truncated or altered, a member that is missing in the manifest, and a name that leads out of the
directory.
"""

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO
from zipfile import BadZipFile, ZipFile

import msgspec
from django.core.management.base import CommandError

from chatapp.exports.zipped import Zip
from chatapp.management.backups.progress import Progress

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "database"
FILES = "files/"
CHUNK_BYTES = 1 << 20
MAX_MANIFEST_BYTES = 64 << 20


class Member(msgspec.Struct):
    size: int
    sha256: str


class Manifest(msgspec.Struct):
    format: int
    version: str  # of the app
    made_at: str
    engine: str
    migrations: list[str]  # applied ones, as app.name
    rows: dict[str, int]  # number of rows by table
    secret_fingerprint: str
    members: dict[str, Member]
    audit_head: str = ""  # end of the audit log; "" in archives older than the audit log


class ArchiveWriter:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._zip = stream, Zip()
        self.members: dict[str, Member] = {}

    def add(self, name: str, chunks: Iterable[bytes]) -> None:
        digest, size = hashlib.sha256(), 0

        def count_chunks() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                yield chunk

        self._stream.writelines(self._zip.add(name, count_chunks()))
        self.members[name] = Member(size, digest.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        text = msgspec.json.format(msgspec.json.encode(manifest))
        self._stream.writelines(self._zip.add(MANIFEST, [text]))
        self._stream.writelines(self._zip.close())


@contextmanager
def new_archive(file: Path) -> Iterator[ArchiveWriter]:
    """Write to a temporary file next to it, readable only by its owner; rename it when complete."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield ArchiveWriter(stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)


class Archive:
    """An archive to read from. Don't trust `manifest` before `verify` has passed.

    Raises `CommandError` for an unknown format, and `BadZipFile` among others for a damaged file.
    """

    def __init__(self, zip_file: ZipFile) -> None:
        self._zip = zip_file
        self.manifest = self._read_manifest()
        self._check_members()

    def _read_manifest(self) -> Manifest:
        with self._zip.open(MANIFEST) as member:
            text = member.read(MAX_MANIFEST_BYTES)
        manifest = msgspec.json.decode(text, type=Manifest)
        if manifest.format != FORMAT:
            raise CommandError(
                f"This backup was made by chatapp {manifest.version}, in a format unknown to this "
                "version. Restore it with that version."
            )
        return manifest

    def _check_members(self) -> None:
        expected = self.manifest.members
        actual_sizes = {info.filename: info.file_size for info in self._zip.infolist()}
        actual_sizes.pop(MANIFEST)
        invalid = [name for name in expected if name != DATABASE and not _is_valid_name(name)]
        sizes = {name: member.size for name, member in expected.items()}
        has_duplicates = len(self._zip.namelist()) != len(actual_sizes) + 1
        if actual_sizes != sizes or has_duplicates or invalid or DATABASE not in expected:
            raise BadZipFile("members and manifest differ")

    @property
    def size(self) -> int:
        return sum(member.size for member in self.manifest.members.values())

    @property
    def files(self) -> dict[str, PurePosixPath]:
        """The members that are files in DATA_DIR, with their paths in it."""
        names = (name for name in self.manifest.members if name != DATABASE)
        return {name: PurePosixPath(name.removeprefix(FILES)) for name in names}

    def chunks(self, name: str) -> Iterator[bytes]:
        with self._zip.open(name) as member:
            yield from read_chunks(member)

    def verify(self, progress: Progress) -> None:
        for name, member in self.manifest.members.items():
            digest = hashlib.sha256()
            for chunk in progress.count_bytes(self.chunks(name)):
                digest.update(chunk)
            if digest.hexdigest() != member.sha256:
                raise BadZipFile(f"{name} differs from the manifest")

    def extract(self, name: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target, self.chunks(name))


def read_chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def write(target: Path, chunks: Iterable[bytes]) -> None:
    """Write a new file, readable only by its owner, and sync it to disk."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _is_valid_name(name: str) -> bool:
    path = name.removeprefix(FILES)
    parts = path.split("/")
    return (
        name != path and not {"", ".", ".."} & set(parts) and "\\" not in name and "\0" not in name
    )


@contextmanager
def open_verified(file: Path, progress: Progress) -> Iterator[Archive]:
    """Open an archive and verify all of it. Raises `CommandError` if it is damaged."""
    try:
        stream = file.open("rb")
    except OSError as error:
        raise CommandError(f"{file} can't be read: {error.strerror}.") from error
    with stream:
        try:
            archive = Archive(ZipFile(stream))
            progress.total = archive.size
            archive.verify(progress)
        except _DAMAGE as error:
            raise CommandError(
                f"{file} is damaged or isn't a backup ({error}). Nothing was changed. Restore from "
                "another copy."
            ) from error
        yield archive


# Raised for arbitrary bytes by zipfile, its decompressors and the manifest.
_DAMAGE = (
    BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    msgspec.MsgspecError,
    zlib.error,
)
