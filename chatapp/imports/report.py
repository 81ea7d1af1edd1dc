"""What an import says to its person, before it and afterwards: counts, and what is missing and why.

An import saves two reports as JSON: its preview, and its result.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

import msgspec
from django.utils import timezone

from chatapp.transfer import SourceChat, SourceMessage

MAX_REASONS = 100
MAX_EXAMPLES = 20
MAX_FOLDERS = 200
MAX_KINDS = 100
MAX_NOTES = 1_000
OTHERS = "Other reasons."
OTHER_PARTS = "other parts"
NO_CONTENT = "A file is not in the export."


class ImportReport(msgspec.Struct):
    """What an export would bring, in a preview, or what an import has stored so far."""

    chats: int = 0  # that can be read; in a result, that it created
    longer: int = 0  # chats that are here already, with new messages
    same: int = 0  # chats that are here already, with nothing new
    skipped: int = 0
    messages: int = 0
    files: int = 0  # with bytes
    missing_files: int = 0
    # What is different or missing, by a sentence that says why: [how often, the first titles].
    reasons: dict[str, list[Any]] = {}
    left_out: dict[str, int] = {}  # number of parts of chats, by kind
    notes: list[str] = []  # sentences about the files of the export

    # In a preview
    new: int = 0
    trashed_or_deleted: int = 0  # in the trash here, or deleted
    first: str = ""  # dates
    last: str = ""
    file_bytes: int = 0
    text_bytes: int = 0  # of what is new
    thumbs_down: int = 0
    folders: dict[str, int] = {}  # the number of chats by name
    people: list[dict[str, Any]] = []  # `imports.people`
    more_people: int = 0  # that are too many to be listed

    # In a result
    projects: list[str] = []  # the keys of those that it created
    undone: dict[str, int] = {}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        return msgspec.convert(record, cls)

    def as_record(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)

    def add_note(self, sentence: str) -> None:
        if sentence not in self.notes and len(self.notes) < MAX_NOTES:
            self.notes.append(sentence)

    def add_reason(self, sentence: str, title: str = "") -> None:
        if sentence not in self.reasons and len(self.reasons) >= MAX_REASONS:
            sentence = OTHERS
        reason = self.reasons.setdefault(sentence, [0, []])
        reason[0] += 1
        if title and title not in reason[1] and len(reason[1]) < MAX_EXAMPLES:
            reason[1].append(title)

    def add_skipped(self, reason: str, title: str = "") -> None:
        """Count a chat that is not imported."""
        self.skipped += 1
        self.add_reason(reason, title)

    def add_differences(self, chat: SourceChat) -> None:
        """Add what is different in a chat, its damaged messages, and its parts that are left out.

        Rare kinds of parts are put together.
        """
        for note in chat.notes:
            self.add_reason(note, chat.title)
        for message in chat.damaged:
            self.add_reason(message.reason, f"{chat.title}, {message.place}")
        for kind, count in chat.left_out.items():
            is_listed = kind in self.left_out or len(self.left_out) < MAX_KINDS
            listed_kind = kind if is_listed else OTHER_PARTS
            self.left_out[listed_kind] = self.left_out.get(listed_kind, 0) + count

    def add_messages(
        self, messages: Iterable[SourceMessage], title: str, missing: set[int]
    ) -> None:
        """Count messages of a chat, and their files without content.

        Several messages may have the same file. `missing` has the ids of those that were counted.
        """
        for message in messages:
            self.messages += not message.is_placeholder
            for file in message.files:
                if not file.content and id(file) not in missing:
                    missing.add(id(file))
                    self.missing_files += 1
                    self.add_reason(file.missing or NO_CONTENT, f"{title}: {file.name}")

    def add_dates(self, chat: SourceChat) -> None:
        self.first, self.last = extend_dates(self.first, self.last, chat)

    def count_folder(self, name: str) -> None:
        if name in self.folders or len(self.folders) < MAX_FOLDERS:
            self.folders[name] = self.folders.get(name, 0) + 1


def extend_dates(first: str, last: str, chat: SourceChat) -> tuple[str, str]:
    """Return the first and last of these dates and a chat's; those in the future are wrong."""
    now = timezone.now()
    dates: list[datetime | None] = [chat.created_at, chat.updated_at]
    past_dates = [at.isoformat() for at in dates if at and at <= now]
    return min([*filter(None, [first]), *past_dates], default=""), max([last, *past_dates])
