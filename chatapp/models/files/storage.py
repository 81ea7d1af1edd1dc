"""The storage of files: a directory, or an S3-compatible bucket, as `STORAGES["files"]` says.

All functions raise `OSError` if the storage fails, and `FileNotFoundError` if it lacks the file.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BufferedIOBase, BytesIO
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage, storages

CHUNK_BYTES = 256 * 1024
UPLOADS = "uploads"  # the folder of the parts of uploads
EXPORTS = "exports"  # the folder of the files of `ChatExport`
IMPORTS = "imports"  # that of the parts of files from which chats are imported


class DurableFileStorage(FileSystemStorage):
    """A directory whose files are on the disk, and not only in its cache, once `save` returns.

    Otherwise a power failure could leave rows in the database whose files are empty.
    """

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        saved = super().save(name, content, max_length)
        path = Path(self.path(saved))
        for changed in (path, path.parent, path.parent.parent):
            _sync(changed)
        return saved


def write(name: str, file: BufferedIOBase) -> None:
    """Write a file under a name that does not exist."""
    with _os_errors():
        saved = backend().save(name, File(file))  # type: ignore[arg-type]  # typed too narrowly
        if saved != name:  # which nobody would find again
            backend().delete(saved)
            raise FileExistsError(f"{name} was written by someone else at the same moment")


def read(name: str) -> bytes:
    with _os_errors(), backend().open(name) as file:
        return bytes(file.read())


def replace(name: str, data: bytes) -> None:
    """Write a file under a name that may exist."""
    replace_file(name, BytesIO(data))


def replace_file(name: str, file: BufferedIOBase) -> None:
    """Do the same with the content of an open file, without loading it into memory."""
    delete(name)
    write(name, file)


def open_file(name: str) -> BinaryIO:
    """Open a file for reading. Close it afterwards."""
    with _os_errors():
        file: BinaryIO = backend().open(name)  # type: ignore[assignment]
        return file


def read_chunks(name: str) -> Iterator[bytes]:
    with open_file(name) as file:
        while data := file.read(CHUNK_BYTES):
            yield data


@contextmanager
def local_copy(name: str) -> Iterator[Path]:
    """Provide the path of a copy of a file on this machine's disk."""
    with TemporaryFile(dir=settings.DATA_DIR) as copy:
        with open_file(name) as stored:
            copyfileobj(stored, copy)
        copy.flush()
        copy.seek(0)
        yield Path(f"/dev/fd/{copy.fileno()}")


def delete(name: str) -> None:
    with _os_errors():
        backend().delete(name)


def exists(name: str) -> bool:
    with _os_errors():
        return backend().exists(name)


def size(name: str) -> int:
    with _os_errors():
        return backend().size(name)


def folders() -> list[str]:
    with _os_errors():
        try:
            return sorted(backend().listdir("")[0])
        except FileNotFoundError:
            return []  # nothing was ever stored


def names_in(folder: str) -> list[str]:
    with _os_errors():
        return [f"{folder}/{name}" for name in backend().listdir(folder)[1]]


def written_at(name: str) -> datetime:
    with _os_errors():
        return backend().get_modified_time(name)


def backend() -> Storage:
    return storages["files"]


@contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # each backend has exceptions of its own
        raise OSError(f"the storage of files failed: {error}") from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
