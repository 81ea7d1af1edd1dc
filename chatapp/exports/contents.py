"""The files that belong to an export's messages: where they are in its archive, and their bytes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from chatapp.exports.names import UniqueNames, safe_name
from chatapp.exports.zipped import Zip
from chatapp.models import Attachment, ReplyImage
from chatapp.models.files import storage
from chatapp.transfer.export_format import FileRecord


@dataclass
class Contents:
    """The files of a folder, each content once, in the order in which they were added."""

    folder: str  # "" for the archive's root, or a name with a slash
    records: list[FileRecord] = field(default_factory=list)  # what `files.json` lists
    _names: UniqueNames = field(default_factory=UniqueNames)
    _paths: dict[int, str] = field(default_factory=dict)  # by the key of the stored file
    _pending: list[tuple[str, Attachment | ReplyImage]] = field(default_factory=list)

    def attach(self, attachment: Attachment) -> str | None:
        """Add an attached file and return its path, or None if its content has expired."""
        if attachment.file is None:
            return None
        path = self._path(attachment, attachment.file_id, safe_name(attachment.name, "File"))
        self._record(str(attachment.pk), attachment.name, attachment.media_type, path)
        return path

    def add_image(self, image: ReplyImage) -> str:
        """Add an image of a reply and return its path."""
        suffix = image.media_type.removeprefix("image/")
        name = f"{image}.{safe_name(suffix, 'bin')}"
        path = self._path(image, image.file_id, name)
        self._record(f"{image.message_id}-{image.position}", name, image.media_type, path)
        return path

    @property
    def index(self) -> bytes:
        """The content of `files.json`: where the files are that messages name by their ids."""
        return msgspec.json.encode(self.records)

    def _path(self, content: Attachment | ReplyImage, stored: int | None, name: str) -> str:
        if stored in self._paths:
            return self._paths[stored]
        path = f"{self.folder}{self._names.reserve(name)}"
        if stored is not None:
            self._paths[stored] = path
        self._pending.append((path, content))
        return path

    def _record(self, id: str, name: str, media_type: str, path: str) -> None:
        self.records.append(FileRecord(id=id, name=name, type=media_type, path=path))

    def write(self, archive: Zip) -> Iterator[bytes]:
        """Add to the archive what has been added here since the last time; leave out lost files.

        Raises `OSError` if the storage fails.
        """
        pending, self._pending = self._pending, []
        for path, content in pending:
            yield from archive.add_file(path, read_chunks(content), packed=False)


def read_chunks(content: Attachment | ReplyImage) -> Iterator[bytes]:
    """Yield the bytes of a file. Raises `OSError`, and `FileNotFoundError` if they are lost."""
    if content.file is None:
        yield content.read() if isinstance(content, ReplyImage) else b""
    else:
        yield from storage.read_chunks(content.file.name)
