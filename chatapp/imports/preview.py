"""The first part of an import: reads the export and reports what it would bring. Stores no chat."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from chatapp.imports.duplicates import get_statuses
from chatapp.imports.people import count_chat_of_person, list_people
from chatapp.imports.projects import ProjectImporter
from chatapp.imports.report import ImportReport
from chatapp.imports.rows import count_bytes, request_bytes, settings_bytes
from chatapp.imports.uploaded_export import open_export
from chatapp.models import Import, User
from chatapp.models.platform.jobs import JobFailed
from chatapp.transfer import Skipped, SourceChat

CHATS_AT_ONCE = 50  # looked up together
STEP_SECONDS = 0.02
MAX_CHATS = 200_000
TOO_MANY = f"This export has more than {MAX_CHATS:,} chats. Split it, and import the parts."


def preview_export(job: Import) -> Iterator[None]:
    """Read the export; `job.preview` says what is in it. Raises `JobFailed`."""
    report = ImportReport()
    with open_export(job) as export:
        job.source, job.is_for_team = str(export.format), export.is_for_team
        projects = ProjectImporter(job.user)
        counts_by_person: dict[str, dict[str, Any]] = {}
        waiting: list[SourceChat] = []
        began_at = time.monotonic()
        for entry in export.read_chats(report.add_note):
            if isinstance(entry, Skipped):
                report.add_skipped(entry.reason, "" if job.is_for_team else entry.label)
            elif job.is_for_team:
                count_chat_of_person(entry, export.people, counts_by_person, report)
            else:
                waiting.append(entry)
            job.done += 1
            if job.done > MAX_CHATS:
                raise JobFailed(TOO_MANY)
            if len(waiting) == CHATS_AT_ONCE:
                _add_chats(report, job.user, waiting, projects)
                waiting.clear()
            if time.monotonic() - began_at > STEP_SECONDS:
                yield
                began_at = time.monotonic()
        _add_chats(report, job.user, waiting, projects)
    list_people(counts_by_person, report)
    job.total = job.done
    detected = {"source": job.source, "is_for_team": job.is_for_team}
    job.advance(preview=report.as_record(), **detected)


def _add_chats(
    report: ImportReport, user: User, chats: Sequence[SourceChat], projects: ProjectImporter
) -> None:
    """Add some chats to the report, and what of them is here already."""
    for status in get_statuses(user, chats):
        _add_chat(report, status.chat)
        if name := projects.get_name(status.chat):
            report.count_folder(name)
        match status.state:
            case "new":
                report.new += 1
                report.text_bytes += _count_bytes(status.chat)
            case "longer":
                report.longer += 1
            case "same":
                report.same += 1
            case "trashed" | "deleted":
                report.trashed_or_deleted += 1


def _add_chat(report: ImportReport, chat: SourceChat) -> None:
    report.chats += 1
    report.add_differences(chat)
    report.add_dates(chat)
    report.add_messages(chat.messages, chat.title, set())
    for message in chat.messages:
        report.thumbs_down += bool(message.feedback and message.feedback.rating == "down")
        for file in message.files:
            if file.content:
                report.files += 1
                report.file_bytes += file.size or 0


def _count_bytes(chat: SourceChat) -> int:
    messages = sum(map(count_bytes, chat.messages))
    return messages + settings_bytes(chat) + sum(map(request_bytes, chat.own.requests.values()))
