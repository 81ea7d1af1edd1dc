"""Reads the files of imported messages in the sandbox, as those that people upload.

Files of prompts become attachments, and images of replies become `ReplyImage`s.
"""

import logging
import re
import tempfile
from collections import OrderedDict
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import cast
from uuid import UUID, uuid5

from django.conf import settings

from chatapp.documents import Unreadable
from chatapp.files.reading import read_for_import
from chatapp.imports.figures import Reasons
from chatapp.models import Attachment, FileContent, ReplyImage, StoredFile, User
from chatapp.models.files.contents import estimate_tokens
from chatapp.models.library.file_sets import check_room
from chatapp.models.platform.jobs import JobFailed
from chatapp.models.refusals import Refused
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


@dataclass(slots=True)
class ReadFiles:
    """The files of a batch of messages, not stored with them yet."""

    attachments: list[Attachment] = field(default_factory=list)
    images: list[ReplyImage] = field(default_factory=list)

    def count_attachments(self, message: UUID) -> int:
        return sum(attachment.message_id == message for attachment in self.attachments)

    def count_images(self, message: UUID) -> int:
        return sum(image.message_id == message for image in self.images)

    @property
    def count(self) -> int:
        return len(self.attachments) + len(self.images)


class FileReader:
    """Reads files for one import."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._refused: OrderedDict[str, str] = OrderedDict()

    def steps(
        self, record: SourceMessage, message: UUID, title: str, read: ReadFiles, reasons: Reasons
    ) -> Iterator[None]:
        """Read the files of a message one by one; why one can't be read goes to the reasons.

        Files without content are passed over. Raises `JobFailed` if the storage fails.
        """
        is_reply = record.role == "assistant"
        max_files = MAX_IMAGES if is_reply else settings.CHATAPP_FILES_PER_MESSAGE
        for position, file in enumerate(record.files):
            if position >= max_files:
                if file.content:
                    reasons.add(TOO_MANY, title)
                continue
            if file.is_expired and not is_reply:
                read.attachments.append(self._attachment(file, message, read))
            elif file.content:
                yield from self._add(file, is_reply, message, title, read, reasons)
                yield

    def _add(
        self,
        file: SourceFile,
        is_reply: bool,
        message: UUID,
        title: str,
        read: ReadFiles,
        reasons: Reasons,
    ) -> Iterator[None]:
        try:
            content, size = yield from self._content(file)
        except (Unreadable, Refused) as error:
            reasons.add(_without_advice(str(error)), title)
            return
        except Damaged as error:
            logger.info("A file of an import can't be read: %s", error)
            reasons.add(DAMAGED, title)
            return
        except OSError as error:
            logger.error("A file of an import can't be stored: %s", error)
            raise JobFailed(NOT_STORED) from error
        if not is_reply:
            attachment = self._attachment(file, message, read)
            self._fill(attachment, content, size, file.pages)
            read.attachments.append(attachment)
        elif content.kind == FileContent.Kind.IMAGE:
            read.images.append(
                ReplyImage(
                    message_id=message,
                    position=read.count_images(message),
                    media_type=content.media_type,
                    file=content.file,
                    imported_by=self._user,
                )
            )
        else:
            reasons.add(NOT_AN_IMAGE, title)

    def _content(self, file: SourceFile) -> Generator[None, None, tuple[FileContent, int]]:
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
            if refusal := self._refused.get(digest):
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
            self._remember(digest, str(unreadable))
            raise
        return content, size

    def _remember(self, digest: str, refusal: str) -> None:
        self._refused[digest] = refusal
        if len(self._refused) > REMEMBERED:
            self._refused.popitem(last=False)

    def _attachment(self, file: SourceFile, message: UUID, read: ReadFiles) -> Attachment:
        """Return an attachment without content, as one that has expired."""
        position = read.count_attachments(message)
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

    @staticmethod
    def _fill(
        attachment: Attachment, content: FileContent, size: int, pages: tuple[int, int]
    ) -> None:
        content.file.content = content
        attachment.file = content.file
        attachment.size = attachment.received = size
        first, last = pages
        if 1 <= first <= last <= content.page_count:
            attachment.first_page, attachment.last_page = pages
        attachment.tokens = estimate_tokens(attachment.parts())


def _without_advice(refusal: str) -> str:
    """Leave out the sentences of a refusal that say how to attach the file again."""
    sentences = re.split(r"(?<=\.) ", refusal)
    return " ".join(sentence for sentence in sentences if "attach" not in sentence.lower())
