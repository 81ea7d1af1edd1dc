"""The first part of an import: reads an export, and says what it would bring. Stores no chat."""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from chatapp.imports.exports import Ownership, list_file_names, open_files
from chatapp.imports.figures import Preview, count_parts, missing_files
from chatapp.imports.people import PersonChatCounts
from chatapp.imports.project_names import ProjectNames
from chatapp.imports.rows import (
    chat_key,
    count_bytes,
    request_bytes,
    settings_bytes,
)
from chatapp.imports.watching import Watch
from chatapp.models import Conversation, Import, ImportedChat, User
from chatapp.models.platform.jobs import JobFailed
from chatapp.transfer import Report, Skipped, SourceChat, read_chats

CHATS_AT_ONCE = 50  # looked up together
STEP_SECONDS = 0.02
MAX_CHATS = 200_000
TOO_MANY = f"This export has more than {MAX_CHATS:,} chats. Split it, and import the parts."


def preview(job: Import) -> Iterator[None]:
    """Read the export; `job.preview` says what is in it. Raises `JobFailed`."""
    figures, report = Preview(), Report()
    with open_files(job) as files:
        watch = Watch(job)
        ownership = Ownership(job.user, files, watch)
        job.source, job.is_for_team = str(ownership.format), ownership.is_for_team
        tally = PersonChatCounts(ownership.people)
        projects = ProjectNames(job.user_id)
        waiting: list[SourceChat] = []
        began_at = time.monotonic()
        for entry in read_chats(files, ownership.format, report, watch, list_file_names(job)):
            ownership.check(entry)
            if isinstance(entry, Skipped):
                figures.skipped += 1
                figures.reasons.add(entry.reason, "" if job.is_for_team else entry.label)
            elif job.is_for_team:
                tally.add(entry, figures)
            else:
                waiting.append(entry)
            job.done += 1
            if job.done > MAX_CHATS:
                raise JobFailed(TOO_MANY)
            if len(waiting) == CHATS_AT_ONCE:
                _compare(figures, job.user, waiting, projects)
                waiting.clear()
            if time.monotonic() - began_at > STEP_SECONDS:
                yield
                began_at = time.monotonic()
        _compare(figures, job.user, waiting, projects)
    tally.complete(figures)
    figures.notes = list(report.notes)
    job.total = job.done
    detected = {"source": job.source, "is_for_team": job.is_for_team}
    job.advance(preview=figures.as_record(), **detected)


def _compare(
    figures: Preview, user: User, chats: Sequence[SourceChat], projects: ProjectNames
) -> None:
    """Add some chats to the figures, and what of them is here already."""
    keys = {chat_key(user, chat): chat for chat in chats}
    status = get_import_status(user, chats)
    for key, chat in keys.items():
        _count(figures, chat)
        if name := projects.name_for(chat):
            figures.count_folder(name)
        state = status.find_state(key, chat)
        setattr(figures, state, getattr(figures, state) + 1)
        if state == "new":
            figures.text_bytes += sum(map(count_bytes, chat.messages)) + settings_bytes(chat)
            figures.text_bytes += sum(map(request_bytes, chat.own.requests.values()))


class ImportStatus:
    """The state of some chats of an export: imported before, deleted, or original here."""

    def __init__(
        self,
        imported: dict[UUID, ImportedChat],
        trashed: dict[UUID, datetime | None],
        originals: set[str],
    ) -> None:
        self.imported = imported
        self.trashed = trashed
        self._originals = originals

    def find_state(self, key: UUID, chat: SourceChat) -> str:
        """Return the name of the figure of `Preview` that counts it."""
        if chat.source_id in self._originals:
            return "same"
        imported = self.imported.get(key)
        if imported is None:
            return "new"
        if key not in self.trashed or self.trashed[key]:
            return "trashed_or_deleted"
        is_longer = len(chat.messages) > imported.message_count or not imported.is_whole
        return "longer" if is_longer else "same"


def get_import_status(user: User, chats: Sequence[SourceChat]) -> ImportStatus:
    keys = [chat_key(user, chat) for chat in chats]
    imported = ImportedChat.objects.filter(imported_by__user=user).in_bulk(keys)
    conversations = Conversation.objects.filter(user=user, pk__in=list(imported)).order_by()
    # Of our own exports, the chats themselves may be here.
    own_ids = [id for chat in chats if chat.source == "chatapp" and (id := _uuid(chat.source_id))]
    originals = Conversation.objects.filter(user=user, pk__in=own_ids, trashed_at=None).order_by()
    return ImportStatus(
        imported,
        dict(conversations.values_list("pk", "trashed_at")),
        {str(pk) for pk in originals.values_list("pk", flat=True)},
    )


def _uuid(text: str) -> UUID | None:
    try:
        parsed = UUID(text)
    except ValueError:
        return None
    return parsed if str(parsed) == text else None


def _count(figures: Preview, chat: SourceChat) -> None:
    figures.chats += 1
    figures.messages += sum(not message.is_placeholder for message in chat.messages)
    count_parts(figures.left_out, chat.left_out)
    figures.reasons.add_chat(chat)
    figures.add_dates(chat.created_at, chat.updated_at)
    for message in chat.messages:
        figures.thumbs_down += bool(message.feedback and message.feedback.rating == "down")
        for file in message.files:
            if file.content:
                figures.files += 1
                figures.file_bytes += file.size or 0
    for file in missing_files(chat.messages):
        figures.missing_files += 1
        figures.reasons.add_missing_file(file, chat.title)
