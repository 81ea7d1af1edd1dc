"""The second part of an import: stores the chats of an export for one person.

A chat has the same key whenever its person imports it, and so has a message, so a second import
adds only what is new. A long chat takes several short transactions. Each saves the report and the
progress along with the rows, so a run that was interrupted goes on with the next one.

`ChatWriter` turns a chat into rows. `models.imports.undoing` deletes them again.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import NoReturn

from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from chatapp.imports.chat_writer import ChatWriter
from chatapp.imports.duplicates import ChatStatus, get_statuses
from chatapp.imports.files import FileImporter, FileRow
from chatapp.imports.projects import ProjectImporter
from chatapp.imports.report import ImportReport
from chatapp.imports.rows import message_key
from chatapp.imports.uploaded_export import open_export
from chatapp.models import Conversation, Import, ImportedChat
from chatapp.models.conversations.messages import storage
from chatapp.models.platform.jobs import JobFailed
from chatapp.models.refusals import Refused
from chatapp.transfer import Skipped, SourceChat, SourceMessage

logger = logging.getLogger(__name__)

QUOTA_CHECK_BYTES = 4 * 2**20  # between checks of the quota
IN_TRASH = "It is in your trash here. Restore it and import again to bring what is new in it."
ERASED = "You deleted it here, so it isn't brought back."
TEMPORARY = "It was a temporary chat."
NOT_STORED = "It could not be stored because of a fault in the app, which is in the server's log."
KEPT = "{} What was imported before that is kept. You can go on later."


class Importer:
    """Stores the chats of one import. `runner` is the job that does it, if that is another one."""

    def __init__(self, job: Import, runner: Import | None = None) -> None:
        self.job, self.runner = job, runner or job
        self.report = ImportReport.from_record(job.result)
        self._now = timezone.now()
        self._files = FileImporter(job.user, self.report)
        self._projects = ProjectImporter(job.user)
        self._free_bytes = 0  # that may be stored before the quota is checked again

    def run(self) -> Iterator[None]:
        """Store all chats of the export step by step. Raises `JobFailed`."""
        with open_export(self.job) as export:
            for number, entry in enumerate(export.read_chats(self.report.add_note)):
                yield  # the job may be cancelled, or the process stopped
                if number < self.job.done:  # by a run that was interrupted
                    continue
                if isinstance(entry, Skipped):
                    self.skip_chat(entry.reason, entry.label)
                else:
                    yield from self.import_chat(entry)
                self.job.done = number + 1
                self.job.result = self.report.as_record()
                yield
        yield from self.finish()

    def import_chat(self, chat: SourceChat) -> Iterator[None]:
        """Store one chat, unless it is here or was deleted."""
        [status] = get_statuses(self.job.user, [chat])
        if chat.own.is_temporary:
            self.skip_chat(TEMPORARY, chat.title)
        elif status.state == "trashed":
            self.skip_chat(IN_TRASH, chat.title)
        elif status.state == "deleted":
            self.skip_chat(ERASED, chat.title)
        elif status.state == "same":
            self.report.same += 1
        else:
            try:
                yield from self._write_chat(status)
            except (DataError, IntegrityError):
                if status.state == "new" and self._was_stored_meanwhile(status):
                    self.report.same += 1
                else:
                    logger.exception("A chat of an import could not be stored")
                    self.skip_chat(NOT_STORED, chat.title)
            except Conversation.DoesNotExist:  # deleted at this moment
                self.skip_chat(ERASED, chat.title)

    def skip_chat(self, reason: str, title: str) -> None:
        self.report.add_skipped(reason, title)

    def finish(self) -> Iterator[None]:
        self.save_progress()
        yield

    def save_progress(self) -> None:
        """Save the report and the progress. Raises `JobLost`."""
        self.job.result = self.report.as_record()
        self.runner.advance()

    def check_may_store(self) -> None:
        """Raise an error if no more may be stored. Called within each transaction."""

    def end_when_full(self, refused: Refused) -> NoReturn:
        """End because the person's storage is full."""
        self.save_progress()
        raise JobFailed(KEPT.format(refused)) from refused

    def _write_chat(self, status: ChatStatus) -> Iterator[None]:
        """Store a chat that is new, or the new messages of one that is longer now."""
        writer = ChatWriter(self.job, status, self.report, self._projects, self._now)
        batches = list(writer.cut_batches())
        self._take_room(sum(size for _, size in batches))
        for number, (records, size) in enumerate(batches, 1):
            files: list[FileRow] = []
            for record in records:
                key = message_key(status.key, record.source_id)
                files += yield from self._files.read_files(record, key, status.chat.title)
            self._write_batch(writer, records, files, size, is_last=number == len(batches))
            if number < len(batches):
                yield

    def _write_batch(
        self,
        writer: ChatWriter,
        records: Sequence[SourceMessage],
        files: Sequence[FileRow],
        size: int,
        *,
        is_last: bool,
    ) -> None:
        with transaction.atomic():
            self.check_may_store()
            writer.write_batch(records, files, size, is_last=is_last)
            self.runner.done += is_last
            self.save_progress()

    def _was_stored_meanwhile(self, status: ChatStatus) -> bool:
        """Whether another import of the same person stored this chat at the same moment."""
        return ImportedChat.objects.filter(pk=status.key).exclude(imported_by=self.job).exists()

    def _take_room(self, size: int) -> None:
        """Check the person's quota, unless enough was free lately."""
        self._free_bytes -= size
        if self._free_bytes < 0:
            try:
                storage.check_quota(self.job.user, size)
            except Refused as refused:
                self.end_when_full(refused)
            self._free_bytes = min(QUOTA_CHECK_BYTES, storage.get_quota_left(self.job.user) - size)
