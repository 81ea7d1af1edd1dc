"""The figures of an import in its preview and its report, as JSON that is saved with it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self

from django.utils import timezone

from chatapp.transfer import SourceChat, SourceFile, SourceMessage

MAX_REASONS = 100
MAX_EXAMPLES = 20
MAX_FOLDERS = 200
MAX_KINDS = 100
OTHERS = "Other reasons."
OTHER_PARTS = "other parts"


@dataclass(slots=True)
class Reasons:
    """Sentences that say what could not be brought, with how often and the first titles."""

    entries: dict[str, list[Any]] = field(default_factory=dict)  # [count, [title, …]]

    def add(self, sentence: str, title: str = "", count: int = 1) -> None:
        if sentence not in self.entries and len(self.entries) >= MAX_REASONS:
            sentence = OTHERS
        entry = self.entries.setdefault(sentence, [0, []])
        entry[0] += count
        if title and title not in entry[1] and len(entry[1]) < MAX_EXAMPLES:
            entry[1].append(title)

    def add_chat(self, chat: SourceChat) -> None:
        """Add what is different in a chat, and which of its messages are damaged."""
        for note in chat.notes:
            self.add(note, chat.title)
        for message in chat.damaged:
            self.add(message.reason, f"{chat.title}, {message.place}")

    def add_missing_file(self, file: SourceFile, title: str) -> None:
        self.add(file.missing or "A file is not in the export.", f"{title}: {file.name}")


@dataclass(slots=True)
class _Figures:
    def as_record(self) -> dict[str, Any]:
        record = {figure.name: getattr(self, figure.name) for figure in fields(self)}
        values = {
            name: value.entries if isinstance(value, Reasons) else value
            for name, value in record.items()
        }
        return {
            name: dict(value) if isinstance(value, Counter) else value
            for name, value in values.items()
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        figures = cls()
        for figure in fields(cls):
            if figure.name in record:
                value, before = record[figure.name], getattr(figures, figure.name)
                if isinstance(before, Reasons):
                    value = Reasons(value)
                elif isinstance(before, Counter):
                    value = Counter(value)
                setattr(figures, figure.name, value)
        return figures


def missing_files(messages: Iterable[SourceMessage]) -> list[SourceFile]:
    """Return the files without content, each once, though several messages may have it."""
    files = (file for message in messages for file in message.files if not file.content)
    return list({id(file): file for file in files}.values())


def span(first: str, last: str, *dates: datetime | None) -> tuple[str, str]:
    """Return the first and last of these dates; those in the future are wrong."""
    past_dates = [at.isoformat() for at in dates if at and at <= timezone.now()]
    return min([*filter(None, [first]), *past_dates], default=""), max([last, *past_dates])


def count_parts(total: Counter[str], parts: Mapping[str, int]) -> None:
    """Add the parts of a chat that were left out, by kind; rare kinds are put together."""
    for kind, count in parts.items():
        is_listed = kind in total or len(total) < MAX_KINDS
        total[kind if is_listed else OTHER_PARTS] += count


@dataclass(slots=True)
class Preview(_Figures):
    """The figures of an export before anything is stored."""

    chats: int = 0  # that can be read
    skipped: int = 0
    messages: int = 0
    first: str = ""  # dates
    last: str = ""
    new: int = 0
    longer: int = 0
    same: int = 0
    trashed_or_deleted: int = 0  # in the trash here, or deleted
    files: int = 0  # with bytes
    missing_files: int = 0
    file_bytes: int = 0
    text_bytes: int = 0  # of what is new
    thumbs_down: int = 0
    folders: dict[str, int] = field(default_factory=dict)  # the number of chats by name
    reasons: Reasons = field(default_factory=Reasons)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)  # `imports.people`
    more_people: int = 0  # that are too many to be listed

    def add_dates(self, *dates: datetime | None) -> None:
        self.first, self.last = span(self.first, self.last, *dates)

    def count_folder(self, name: str) -> None:
        if name in self.folders or len(self.folders) < MAX_FOLDERS:
            self.folders[name] = self.folders.get(name, 0) + 1


@dataclass(slots=True)
class Result(_Figures):
    """The figures of what an import has stored so far."""

    chats: int = 0
    longer: int = 0
    same: int = 0
    skipped: int = 0
    messages: int = 0
    files: int = 0
    reasons: Reasons = field(default_factory=Reasons)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    projects: list[str] = field(default_factory=list)  # the keys of those that it created
    undone: dict[str, int] = field(default_factory=dict)
