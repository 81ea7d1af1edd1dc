"""The second part of an import: stores the chats of an export, each in one short transaction or, if
it is long, in several.

A chat has the same key whenever its person imports it, and so has a message, so a second run adds
nothing. The figures of the report are saved in the transaction that stores a chat, so a run that is
interrupted goes on with the next one.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NoReturn, Protocol
from uuid import UUID

from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from chatapp.imports.exports import Ownership, list_file_names, open_files
from chatapp.imports.figures import Result, count_parts, missing_files
from chatapp.imports.files import FileReader, ReadFiles
from chatapp.imports.filing import ProjectAssigner
from chatapp.imports.own_settings import OwnSettings
from chatapp.imports.previewing import get_import_status
from chatapp.imports.rows import (
    build_conversation,
    build_feedback,
    build_message,
    chat_key,
    count_bytes,
    message_key,
    settings_bytes,
    shorten_message,
)
from chatapp.imports.watching import Watch
from chatapp.models import (
    Attachment,
    Conversation,
    Feedback,
    Import,
    ImportedChat,
    ImportedMessages,
    Message,
    ReplyImage,
)
from chatapp.models.conversations import storage
from chatapp.models.conversations.context_cuts import ContextCut
from chatapp.models.conversations.messages import INSERT_MESSAGES
from chatapp.models.conversations.sequence import reserve_numbers
from chatapp.models.platform.jobs import JobFailed
from chatapp.models.refusals import Refused
from chatapp.transfer import Report, Skipped, SourceChat, SourceMessage, read_chats

logger = logging.getLogger(__name__)

MESSAGES_AT_ONCE = 200  # per transaction
BYTES_AT_ONCE = 512 * 1024
QUOTA_CHECK_BYTES = 4 * 2**20  # between looks at the quota
CHANGED = ("stored_bytes", "cut_changes", "active_leaf", "updated_at")
FILES_AT_ONCE = 20
IN_TRASH = "It is in your trash here. Restore it and import again to bring what is new in it."
ERASED = "You deleted it here, so it isn't brought back."
TOO_LONG = "A message is very long, so only its beginning is here."
TEMPORARY = "It was a temporary chat."
NOT_STORED = "It could not be stored because of a fault in the app, which is in the server's log."
KEPT = "{} What was imported before that is kept. You can go on later."


class ExportStorer(Protocol):
    """Stores the chats of an export, and counts what becomes of them."""

    result: Result

    def skip(self, reason: str, title: str) -> None: ...
    def steps(self, chat: SourceChat) -> Iterator[None]: ...
    def finish(self) -> Iterator[None]: ...


def store(job: Import, storer: ExportStorer) -> Iterator[None]:
    """Store the chats of an export step by step. Raises `JobFailed`."""
    with open_files(job) as files:
        watch = Watch(job)
        ownership = Ownership(job.user, files, watch)
        report = Report()
        entries = read_chats(files, ownership.format, report, watch, list_file_names(job))
        for number, entry in enumerate(entries):
            yield  # the job may be cancelled, or the process stopped
            if number < job.done:  # by a run that was interrupted
                continue
            ownership.check(entry)
            if isinstance(entry, Skipped):
                storer.skip(entry.reason, entry.label)
            else:
                yield from storer.steps(entry)
            job.done = number + 1
            job.result = storer.result.as_record()
            yield
    storer.result.notes = list(report.notes)
    yield from storer.finish()


class Storer:
    """Stores chats for one import, and counts what becomes of them.

    `runner` is the job that stores them, if that is another one.
    """

    def __init__(self, job: Import, runner: Import | None = None) -> None:
        self.job, self.runner = job, runner or job
        self.now = timezone.now()
        self.result = Result.from_record(job.result)
        self.files = FileReader(job.user)
        self.filing = ProjectAssigner(job, self.result)
        self._room = 0  # bytes that may be stored before the quota is looked at again

    def save(self) -> None:
        """Save the figures and the progress. Raises `JobLost`."""
        self.job.result = self.result.as_record()
        self.runner.advance()

    def finish(self) -> Iterator[None]:
        self.save()
        yield

    def check(self) -> None:
        """Raise an error if no more may be stored. Called within each transaction."""

    def skip(self, reason: str, title: str) -> None:
        self.result.skipped += 1
        self.result.reasons.add(reason, title)

    def steps(self, chat: SourceChat) -> Iterator[None]:
        """Store one chat."""
        key = chat_key(self.job.user, chat)
        status = get_import_status(self.job.user, [chat])
        state = status.find_state(key, chat)
        if chat.own.is_temporary:
            self.skip(TEMPORARY, chat.title)
        elif state == "trashed_or_deleted":
            self.skip(IN_TRASH if key in status.trashed else ERASED, chat.title)
        elif state == "same":
            self.result.same += 1
        else:
            try:
                yield from StoredChat(self, key, chat, status.imported.get(key)).steps()
            except (DataError, IntegrityError):
                if status.find_state(key, chat) == "new" and self._was_stored_meanwhile(key):
                    self.result.same += 1
                else:
                    logger.exception("A chat of an import could not be stored")
                    self.skip(NOT_STORED, chat.title)
            except Conversation.DoesNotExist:  # deleted at this moment
                self.skip(ERASED, chat.title)

    def _was_stored_meanwhile(self, key: UUID) -> bool:
        """Whether another import of the same person stored this chat at the same moment."""
        return ImportedChat.objects.filter(pk=key).exclude(imported_by=self.job).exists()

    def take_room(self, size: int) -> None:
        """Raise `JobFailed` if the person's quota is used up."""
        self._room -= size
        if self._room < 0:
            try:
                storage.check_quota(self.job.user, size)
            except Refused as refused:
                self.stop(refused)
            self._room = min(QUOTA_CHECK_BYTES, storage.get_quota_left(self.job.user) - size)

    def stop(self, refused: Refused) -> NoReturn:
        """End because there is no more room."""
        self.save()
        raise JobFailed(KEPT.format(refused)) from refused


class StoredChat:
    """One chat that is new here, or has more messages than before."""

    def __init__(
        self, storer: Storer, key: UUID, chat: SourceChat, imported: ImportedChat | None
    ) -> None:
        self.storer, self.key, self.chat = storer, key, chat
        self.job = storer.job
        self.is_here = imported is not None
        self.imported = imported or ImportedChat(id=key, imported_by=self.job)
        # A run of this import may have been interrupted in the middle of it.
        self.is_new = not self.imported.is_whole and self.imported.imported_by_id == self.job.pk
        self.conversation = build_conversation(key, self.job.user, chat, storer.now)
        self.settings = OwnSettings(self.job.user, key, chat)
        self.missing: set[int] = set()  # files that the report names already
        self.cuts = self.settings.cuts(storer.now) if self.is_new else []

    def steps(self) -> Iterator[None]:
        records = [self._shorten_message(record) for record in self._new_records()]
        batches = list(self._batches(records))
        self.storer.take_room(sum(batch.size for batch in batches))
        for number, batch in enumerate(batches, 1):
            files = ReadFiles()
            for record in batch.records:
                key = message_key(self.key, record.source_id)
                reasons = self.storer.result.reasons
                yield from self.storer.files.steps(record, key, self.chat.title, files, reasons)
            self._store(batch, files, is_last=number == len(batches))
            if number < len(batches):
                yield

    def _batches(self, records: Sequence[SourceMessage]) -> Iterator["Batch"]:
        """Cut the messages into pieces for short transactions; there is at least one."""
        batch = Batch(size=0 if self.is_here else settings_bytes(self.chat))
        for record in records:
            size = count_bytes(record) + self.settings.bytes_with(record)
            if not batch.add(record, size):
                yield batch
                batch = Batch([record], size, len(record.files))
        yield batch

    def _shorten_message(self, record: SourceMessage) -> SourceMessage:
        shortened_record = shorten_message(record)
        if shortened_record is not record and shortened_record != record:
            self.storer.result.reasons.add(TOO_LONG, self.chat.title)
        return shortened_record

    def _new_records(self) -> list[SourceMessage]:
        """Return the messages that are not here, but for those that were deleted here."""
        if not self.is_here:
            return list(self.chat.messages)
        rows = Message.objects.filter(conversation=self.key).order_by()
        deleted_at_by_pk = dict(rows.values_list("pk", "deleted_at"))
        newest = self.imported.newest_at if self.imported.is_whole else None
        present = {pk for pk, deleted_at in deleted_at_by_pk.items() if deleted_at is None}
        new_records = []
        for record in self.chat.messages:
            pk = message_key(self.key, record.source_id)
            parent = message_key(self.key, record.parent) if record.parent is not None else None
            is_older = newest and record.created_at and record.created_at <= newest
            if (
                pk not in deleted_at_by_pk
                and not is_older
                and (parent is None or parent in present)
            ):
                new_records.append(record)
                present.add(pk)
        return new_records

    def _store(self, batch: "Batch", files: ReadFiles, *, is_last: bool) -> None:
        """Store some messages, and what belongs to the chat with the first and the last of them."""
        records = batch.records
        with transaction.atomic():
            self.storer.check()
            if self.is_here:
                own_conversations = Conversation.objects.filter(pk=self.key, user=self.job.user)
                self.conversation = own_conversations.select_for_update(no_key=True).get()
            else:
                self.storer.filing.assign(self.conversation, self.chat)
            self.conversation.stored_bytes += batch.size
            if is_last:
                self._complete()
            if self.is_here:
                self.conversation.save(update_fields=CHANGED)
                self.imported.save(update_fields=["message_count", "newest_at", "is_whole"])
            else:
                self._insert()
            if records:
                self._store_messages(records, files)
            if is_last:
                ContextCut.objects.bulk_create(self.cuts)
            self._count(records, files, is_last=is_last)
            self.storer.save()
        self.is_here = True

    def _insert(self) -> None:
        self.conversation.save(force_insert=True)
        self.imported.save(force_insert=True)
        self.settings.store(self.conversation, self.storer.result.reasons)

    def _complete(self) -> None:
        """Set what a chat has once all of its messages are stored."""
        dates = [message.created_at for message in self.chat.messages if message.created_at]
        self.imported.message_count = len(self.chat.messages)
        self.imported.newest_at = max(dates, default=None)
        self.imported.is_whole = True
        if self.is_new:
            self.conversation.cut_changes = len(self.cuts)
        if self.is_new or not self._is_continued():
            self.conversation.active_leaf = message_key(self.key, self.chat.active_leaf)
            newest = min(self.chat.updated_at or self.conversation.updated_at, self.storer.now)
            self.conversation.updated_at = max(self.conversation.updated_at, newest)

    def _is_continued(self) -> bool:
        """Whether the person went on here."""
        imported = ImportedMessages.build_condition(self.imported.messages.all())
        return self.conversation.messages.exclude(imported).exists()

    def _store_messages(self, records: Sequence[SourceMessage], files: ReadFiles) -> None:
        messages = self._messages(records, files)
        INSERT_MESSAGES.run(*messages)
        numbers = [message.sequence for message in messages if message.sequence is not None]
        ImportedMessages.objects.create(
            imported_by=self.job, chat=self.imported, first=numbers[0], last=numbers[-1]
        )
        Attachment.objects.bulk_create(files.attachments)
        ReplyImage.objects.bulk_create(files.images)
        feedback = (
            build_feedback(row.pk, record, row.created_at)
            for record, row in zip(records, messages, strict=True)
            if record.feedback
        )
        Feedback.objects.bulk_create(filter(None, feedback))

    def _messages(self, records: Sequence[SourceMessage], files: ReadFiles) -> list[Message]:
        rows = []
        chat_messages = Message.objects.filter(conversation=self.key)
        numbers = reserve_numbers(chat_messages, len(records))
        for number, record in zip(numbers, records, strict=True):
            row = build_message(self.conversation, record, self._moment(record))
            row.sequence, row.file_count = number, files.count_attachments(row.pk)
            row.request_settings_id = self.settings.get_or_store_request(record, self.conversation)
            if images := files.count_images(row.pk):
                row.extras_record = replace(row.extras, image_count=images).as_record()
            rows.append(row)
        return rows

    def _moment(self, record: SourceMessage) -> datetime:
        at = record.created_at or self.chat.created_at or self.conversation.updated_at
        return min(at, self.storer.now)

    def _count(self, records: Sequence[SourceMessage], files: ReadFiles, *, is_last: bool) -> None:
        result = self.storer.result
        result.messages += sum(not record.is_placeholder for record in records)
        result.files += files.count
        for file in missing_files(records):
            if id(file) not in self.missing:
                self.missing.add(id(file))
                result.reasons.add_missing_file(file, self.chat.title)
        if not is_last:
            return
        self.storer.runner.done += 1
        count_parts(result.left_out, self.chat.left_out)
        result.reasons.add_chat(self.chat)
        if self.is_new:
            result.chats += 1
        else:
            result.longer += 1


@dataclass(slots=True)
class Batch:
    """Messages that are stored in one transaction."""

    records: list[SourceMessage] = field(default_factory=list)
    size: int = 0  # bytes
    files: int = 0

    def add(self, record: SourceMessage, size: int) -> bool:
        """Add a message of so many bytes, if there is room; return whether there was."""
        is_full = len(self.records) == MESSAGES_AT_ONCE or self.files >= FILES_AT_ONCE
        if self.records and (is_full or self.size + size > BYTES_AT_ONCE):
            return False
        self.records.append(record)
        self.size += size
        self.files += len(record.files)
        return True
