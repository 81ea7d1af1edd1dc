"""Stores one chat: turns its records into rows, and says in the report what became of it.

The importer calls it within a transaction for each batch of messages.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from chatapp.imports.chat_settings import SettingsImporter
from chatapp.imports.duplicates import ChatStatus
from chatapp.imports.files import FileRow
from chatapp.imports.projects import ProjectImporter
from chatapp.imports.report import ImportReport
from chatapp.imports.rows import (
    build_conversation,
    build_feedback,
    build_message,
    count_bytes,
    message_key,
    settings_bytes,
    shorten_message,
)
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
from chatapp.models.conversations.chats.folders import MAX_PINNED
from chatapp.models.conversations.messages.messages import INSERT_MESSAGES
from chatapp.models.conversations.messages.sequence import reserve_numbers
from chatapp.models.conversations.threads.context_cuts import ContextCut
from chatapp.transfer import SourceMessage

MESSAGES_AT_ONCE = 200  # per transaction
BYTES_AT_ONCE = 512 * 1024
FILES_AT_ONCE = 20
CHANGED = ("stored_bytes", "cut_changes", "active_leaf", "updated_at")
TOO_LONG = "A message is very long, so only its beginning is here."
TOO_MANY_PINNED = f"You have {MAX_PINNED} pinned chats, which is the most, so it isn't pinned."


class ChatWriter:
    """Stores a chat that is new here, or has more messages than before."""

    def __init__(
        self,
        job: Import,
        status: ChatStatus,
        report: ImportReport,
        projects: ProjectImporter,
        now: datetime,
    ) -> None:
        self._job, self._report, self._projects, self._now = job, report, projects, now
        self._key, self._chat = status.key, status.chat
        self._is_here = status.imported is not None
        self._imported = status.imported or ImportedChat(id=status.key, imported_by=job)
        # A run of this import may have been interrupted in the middle of it.
        self._is_new = not self._imported.is_whole and self._imported.imported_by_id == job.pk
        self._conversation = build_conversation(status.key, job.user, status.chat, now)
        self._settings = SettingsImporter(job.user, status.key, status.chat)
        self._cuts = self._settings.build_cuts(now) if self._is_new else []
        self._missing_files: set[int] = set()  # that the report names already

    def cut_batches(self) -> Iterator[tuple[list[SourceMessage], int]]:
        """Yield the new messages in batches for short transactions, and their bytes; at least one
        batch."""
        batch: list[SourceMessage] = []
        batch_bytes, file_count = 0 if self._is_here else settings_bytes(self._chat), 0
        for record in self._find_new_messages():
            message = self._shorten(record)
            size = count_bytes(message) + self._settings.count_request_bytes(message)
            is_full = len(batch) == MESSAGES_AT_ONCE or file_count >= FILES_AT_ONCE
            if batch and (is_full or batch_bytes + size > BYTES_AT_ONCE):
                yield batch, batch_bytes
                batch, batch_bytes, file_count = [], 0, 0
            batch.append(message)
            batch_bytes += size
            file_count += len(message.files)
        yield batch, batch_bytes

    def write_batch(
        self,
        records: Sequence[SourceMessage],
        files: Sequence[FileRow],
        size: int,
        *,
        is_last: bool,
    ) -> None:
        """Store some messages, and what belongs to the chat with the first and the last of them."""
        if self._is_here:
            own = Conversation.objects.filter(pk=self._key, user=self._job.user)
            self._conversation = own.select_for_update(no_key=True).get()
        self._conversation.stored_bytes += size
        if is_last:
            self._complete()
        if self._is_here:
            self._conversation.save(update_fields=CHANGED)
            self._imported.save(update_fields=["message_count", "newest_at", "is_whole"])
        else:
            self._insert()
        if records:
            self._insert_messages(records, files)
        if is_last:
            ContextCut.objects.bulk_create(self._cuts)
        self._report_batch(records, files, is_last=is_last)
        self._is_here = True

    def _find_new_messages(self) -> Sequence[SourceMessage]:
        """Return the messages that are not here, but for those that were deleted here."""
        if not self._is_here:
            return self._chat.messages
        rows = Message.objects.filter(conversation=self._key).order_by()
        deleted_at_by_pk = dict(rows.values_list("pk", "deleted_at"))
        newest = self._imported.newest_at if self._imported.is_whole else None
        present = {pk for pk, deleted_at in deleted_at_by_pk.items() if deleted_at is None}
        new_messages = []
        for record in self._chat.messages:
            pk = message_key(self._key, record.source_id)
            parent = message_key(self._key, record.parent) if record.parent is not None else None
            is_older = newest and record.created_at and record.created_at <= newest
            has_parent = parent is None or parent in present
            if pk not in deleted_at_by_pk and not is_older and has_parent:
                new_messages.append(record)
                present.add(pk)
        return new_messages

    def _shorten(self, record: SourceMessage) -> SourceMessage:
        shortened_record = shorten_message(record)
        if shortened_record is not record and shortened_record != record:
            self._report.add_reason(TOO_LONG, self._chat.title)
        return shortened_record

    def _insert(self) -> None:
        conversation, chat = self._conversation, self._chat
        if self._job.makes_projects:
            conversation.project_id = self._projects.get_or_create(chat, self._report)
        if chat.is_pinned:
            pinned = self._job.user.conversations.filter(is_pinned=True, trashed_at=None)
            conversation.is_pinned = pinned.count() < MAX_PINNED
            if not conversation.is_pinned:
                self._report.add_reason(TOO_MANY_PINNED, chat.title)
        conversation.save(force_insert=True)
        self._imported.save(force_insert=True)
        self._settings.store(conversation, self._report)

    def _complete(self) -> None:
        """Set what a chat has once all of its messages are stored."""
        dates = [message.created_at for message in self._chat.messages if message.created_at]
        self._imported.message_count = len(self._chat.messages)
        self._imported.newest_at = max(dates, default=None)
        self._imported.is_whole = True
        conversation = self._conversation
        if self._is_new:
            conversation.cut_changes = len(self._cuts)
        if self._is_new or not self._is_continued():
            conversation.active_leaf = message_key(self._key, self._chat.active_leaf)
            newest = min(self._chat.updated_at or conversation.updated_at, self._now)
            conversation.updated_at = max(conversation.updated_at, newest)

    def _is_continued(self) -> bool:
        """Whether the person went on here."""
        imported = ImportedMessages.build_condition(self._imported.messages.all())
        return self._conversation.messages.exclude(imported).exists()

    def _insert_messages(self, records: Sequence[SourceMessage], files: Sequence[FileRow]) -> None:
        messages = self._build_messages(records, files)
        INSERT_MESSAGES.run(*messages)
        numbers = [message.sequence for message in messages if message.sequence is not None]
        ImportedMessages.objects.create(
            imported_by=self._job, chat=self._imported, first=numbers[0], last=numbers[-1]
        )
        Attachment.objects.bulk_create(row for row in files if isinstance(row, Attachment))
        ReplyImage.objects.bulk_create(row for row in files if isinstance(row, ReplyImage))
        feedback = (
            build_feedback(row.pk, record, row.created_at)
            for record, row in zip(records, messages, strict=True)
            if record.feedback
        )
        Feedback.objects.bulk_create(filter(None, feedback))

    def _build_messages(
        self, records: Sequence[SourceMessage], files: Sequence[FileRow]
    ) -> list[Message]:
        rows = []
        file_counts = Counter(file.message_id for file in files)
        chat_messages = Message.objects.filter(conversation=self._key)
        numbers = reserve_numbers(chat_messages, len(records))
        for number, record in zip(numbers, records, strict=True):
            at = record.created_at or self._chat.created_at or self._conversation.updated_at
            row = build_message(self._conversation, record, min(at, self._now))
            row.sequence = number
            row.request_settings_id = self._settings.get_or_store_request(
                record, self._conversation
            )
            if record.role == "user":
                row.file_count = file_counts[row.pk]
            elif image_count := file_counts[row.pk]:
                row.extras_record = replace(row.extras, image_count=image_count).as_record()
            rows.append(row)
        return rows

    def _report_batch(
        self, records: Sequence[SourceMessage], files: Sequence[FileRow], *, is_last: bool
    ) -> None:
        self._report.add_messages(records, self._chat.title, self._missing_files)
        self._report.files += len(files)
        if is_last:
            self._report.add_differences(self._chat)
            if self._is_new:
                self._report.chats += 1
            else:
                self._report.longer += 1
