"""Reports on erasures: what was deleted, and what a check found left, as counts and ids."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from django.apps import apps
from django.db import connection, models

from chatapp.command_line import MANAGE
from chatapp.models import Conversation, User
from chatapp.models.retention.vacuuming import is_large

WORDS = {
    "chatapp.Opening": "openings by reviewers",
    "chatapp.SearchEntry": "search entries",
    "chatapp.User": "account",
}
AT_ONCE = 500  # keys per statement
SQLITE = (
    "The data is removed from the database file with the next housekeeping, which a running server "
    "starts at once: as soon as nothing is reading, it rewrites the search index and the whole "
    "file, and empties the write-ahead log."
)
SQLITE_LARGE = (
    f"The data is removed from the database file by `{MANAGE} housekeeping`, which rewrites the "
    "search index and the whole file. The file is too large for a running server to do this by "
    "itself: it blocks all writes for about ten seconds per GB. Choose a quiet time."
)
POSTGRESQL = (
    "The data is removed from PostgreSQL's tables and search indexes with the next housekeeping, "
    "which a running server starts at once, and again every hour until it succeeds: it rebuilds "
    "these indexes and vacuums the tables. Remains in the files' free space are overwritten as the "
    "space is reused, or at once by VACUUM FULL; the write-ahead log ages out."
)
BACKUPS = (
    "Existing backups keep the data until they are deleted. If you restore one, keep this server's "
    "erasures.jsonl in place: the erasure is then repeated."
)


@dataclass
class Report:
    """The report on the erasure of one person."""

    person: int
    rows: Counter[str] = field(default_factory=Counter)  # deleted rows, by model label
    sessions: int = 0
    files: int = 0  # whose content was deleted, since nobody else has it
    files_left: int = 0  # of these, in the storage because it failed
    handed_over: Counter[str] = field(default_factory=Counter)  # shared items, by model label
    conversations: set[UUID] = field(default_factory=set)
    checked: list[str] = field(default_factory=list)  # columns, as "model label.field"
    left: dict[str, int] = field(default_factory=dict)  # rows left, by column
    backups: ClassVar[str] = BACKUPS

    def count_rows_left(self) -> None:
        """Count the rows left that refer to the person or their conversations.

        Call it in the transaction that deletes the person.
        """
        for model, name, to in references():
            targets = [self.person] if to is User else sorted(self.conversations)
            label = f"{model._meta.label}.{name}"
            self.checked.append(label)
            if count := sum(_count_rows(model, name, targets)):
                self.left[label] = count

    @property
    def disposal_notice(self) -> str:
        """A sentence that says when the data leaves the disk."""
        if connection.vendor == "postgresql":
            return POSTGRESQL
        return SQLITE_LARGE if is_large(connection) else SQLITE

    @property
    def deleted_counts(self) -> list[tuple[str, int]]:
        """The counts of deleted rows (the largest first), files and sessions, with their words."""
        return [
            *((_words(label), count) for label, count in self._counts),
            ("contents of files", self.files),
            ("sessions", self.sessions),
        ]

    @property
    def handover_notice(self) -> str:
        """A sentence about shared items that others still use; "" if there are none."""
        if not self.handed_over:
            return ""
        shared_items = ", ".join(f"{_words(label)}: {n:,}" for label, n in self.handed_over.items())
        return f"Shared items go on working, and belong to an administrator now ({shared_items})."

    @property
    def sentence(self) -> str:
        counts = ", ".join(f"{words}: {count:,}" for words, count in self.deleted_counts)
        left_count = sum(self.left.values())
        return (
            f"Person {self.person} was erased ({counts}). Rows left, according to the "
            f"{len(self.checked)} columns that refer to people or conversations: {left_count}. "
            f"Files left in the storage: {self.files_left}. "
            f"{self.handover_notice}{' ' * bool(self.handed_over)}{self.disposal_notice} {BACKUPS}"
        )

    @property
    def detail(self) -> dict[str, object]:
        """The detail of the audit event."""
        return {
            "rows": dict(self._counts),
            "files": self.files,
            "files_left": self.files_left,
            "handed_over": dict(self.handed_over),
            "sessions": self.sessions,
            "columns_checked": len(self.checked),
            "left": self.left,
        }

    @property
    def _counts(self) -> list[tuple[str, int]]:
        return [(label, number) for label, number in self.rows.most_common() if number]


def references() -> Iterator[tuple[type[models.Model], str, type[models.Model]]]:
    """Yield each foreign key to a person or conversation: its model, field name, and target."""
    for model in apps.get_models(include_auto_created=True):
        for column in model._meta.local_concrete_fields:
            if column.is_relation and column.related_model in (User, Conversation):
                yield model, column.name, column.related_model


def _words(label: str) -> str:
    return WORDS.get(label) or str(apps.get_model(label)._meta.verbose_name_plural)


def _count_rows(model: type[models.Model], name: str, targets: Collection[object]) -> Iterator[int]:
    keys = list(targets)
    for start in range(0, len(keys), AT_ONCE):
        chunk = {f"{name}__in": keys[start : start + AT_ONCE]}
        yield model._default_manager.filter(**chunk).count()
