"""Reads the files of imported messages in the sandbox, as those that people upload.

Files of prompts become attachments, and images of replies become `ReplyImage`s.
"""

import logging
import re
import tempfile
from collections import OrderedDict
from collections.abc import Generator
from contextlib import ExitStack
from io import BufferedIOBase
from typing import cast
from uuid import UUID, uuid5

from django.conf import settings

from chatapp.documents import Unreadable
from chatapp.imports.report import ImportReport
from chatapp.models import Attachment, FileContent, ReplyImage, StoredFile, User
from chatapp.models.files.contents import estimate_tokens
from chatapp.models.library.file_sets import check_room
from chatapp.models.platform.jobs import JobFailed
from chatapp.models.refusals import Refused
from chatapp.reading.contents import read_for_import
from chatapp.transfer import Damaged, SourceFile, SourceMessage, read_chunks
from chatapp.upstream.wire.images import MAX_IMAGES

logger = logging.getLogger(__name__)

TOO_LARGE = "A file is larger than this server allows."
TOO_MANY = "A message has more files than this server allows."
NOT_AN_IMAGE = "A reply has a file that is not an image."
STORAGE_FULL = "Files: your storage is full."
DAMAGED = "A file is damaged in the export."
NOT_STORED = (
    "The server can't store files at the moment. What was imported before that is kept. Try again "
    "later."
)
REMEMBERED = 1000  # refusals of contents, so that the same file is not read again

FileRow = Attachment | ReplyImage


class FileImporter:
    """Reads the files of one import; the report says which can't be read, and why."""

    def __init__(self, user: User, report: ImportReport) -> None:
        self._user, self._report = user, report
        self._refusals: OrderedDict[str, str] = OrderedDict()  # by digest

    def read_files(
        self, record: SourceMessage, message: UUID, title: str
    ) -> Generator[None, None, list[FileRow]]:
        """Read the files of a message one by one; return their rows, which are not stored yet.

        Files without content are passed over. Raises `JobFailed` if the storage fails.
        """
        rows: list[FileRow] = []
        is_reply = record.role == "assistant"
        max_files = MAX_IMAGES if is_reply else settings.CHATAPP_FILES_PER_MESSAGE
        for number, file in enumerate(record.files):
            if number >= max_files:
                if file.content:
                    self._report.add_reason(TOO_MANY, title)
            elif file.is_expired and not is_reply:
                rows.append(self._build_attachment(file, message, len(rows)))
            elif file.content:
                try:
                    content, size = yield from self._read_content(file)
                    build = self._build_image if is_reply else self._build_filled_attachment
                    rows.append(build(file, message, len(rows), content, size))
                except (Unreadable, Refused) as error:
                    self._report.add_reason(_without_advice(str(error)), title)
                except Damaged as error:
                    logger.info("A file of an import can't be read: %s", error)
                    self._report.add_reason(DAMAGED, title)
                except OSError as error:
                    logger.error("A file of an import can't be stored: %s", error)
                    raise JobFailed(NOT_STORED) from error
                yield
        return rows

    def _read_content(self, file: SourceFile) -> Generator[None, None, tuple[FileContent, int]]:
        """Return what was read of a file, and its size; yield while that takes.

        Raises `Damaged`, `Unreadable`, `Refused`, or `OSError` if it can't be stored.
        """
        with ExitStack() as stack:
            copy = stack.enter_context(tempfile.TemporaryFile(dir=settings.DATA_DIR))
            size = 0
            for chunk in read_chunks(file):
                size += len(chunk)
                if size > settings.CHATAPP_FILE_BYTES:
                    raise Refused(TOO_LARGE)
                copy.write(chunk)
            copy.flush()
            buffered_file = cast(BufferedIOBase, copy)
            digest = StoredFile.digest(buffered_file)
            if refusal := self._refusals.get(digest):
                raise Refused(refusal)
            try:
                check_room(self._user, size)
            except Refused as refused:
                raise Refused(STORAGE_FULL) from refused
            buffered_file.seek(0)
            stack.pop_all()  # who reads it closes it
        try:
            content = yield from read_for_import(self._user.pk, buffered_file, size, file.name)
        except Unreadable as unreadable:
            self._refusals[digest] = str(unreadable)
            if len(self._refusals) > REMEMBERED:
                self._refusals.popitem(last=False)
            raise
        return content, size

    def _build_image(
        self, file: SourceFile, message: UUID, position: int, content: FileContent, size: int
    ) -> ReplyImage:
        if content.kind != FileContent.Kind.IMAGE:
            raise Refused(NOT_AN_IMAGE)
        return ReplyImage(
            message_id=message,
            position=position,
            media_type=content.media_type,
            file=content.file,
            imported_by=self._user,
        )

    def _build_filled_attachment(
        self, file: SourceFile, message: UUID, position: int, content: FileContent, size: int
    ) -> Attachment:
        attachment = self._build_attachment(file, message, position)
        content.file.content = content
        attachment.file = content.file
        attachment.size = attachment.received = size
        first, last = file.pages
        if 1 <= first <= last <= content.page_count:
            attachment.first_page, attachment.last_page = file.pages
        attachment.tokens = estimate_tokens(attachment.parts())
        return attachment

    def _build_attachment(self, file: SourceFile, message: UUID, position: int) -> Attachment:
        """Return an attachment without content, like one that has expired."""
        return Attachment(
            id=uuid5(message, f"file {position}"),
            user=self._user,
            message_id=message,
            position=position,
            name=file.name[: Attachment._meta.get_field("name").max_length],
            size=file.size or 0,
            received=file.size or 0,
            state=Attachment.State.READY,
            alt="" if file.is_expired else file.alt[: Attachment._meta.get_field("alt").max_length],
        )


def _without_advice(refusal: str) -> str:
    """Leave out the sentences of a refusal that say how to attach the file again."""
    sentences = re.split(r"(?<=\.) ", refusal)
    return " ".join(sentence for sentence in sentences if "attach" not in sentence.lower())
