"""What an erasure did, and what was found when it was looked for afterwards: numbers and ids."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from django.apps import apps
from django.db import connection, models

from chatapp.models import Conversation, User
from chatapp.models.vacuuming import is_large

WORDS = {
    "chatapp.Opening": "openings by reviewers",
    "chatapp.SearchEntry": "search entries",
    "chatapp.User": "account",
}
AT_ONCE = 500  # conversations that are looked for in one statement
SQLITE = (
    "From the database's file with the next housekeeping, which a running server begins at once: "
    "it writes the search's index and then the whole file anew, and empties the write-ahead log, "
    "as soon as nobody reads for a moment."
)
SQLITE_LARGE = (
    "From the database's file by `manage.py housekeeping`, which writes the search's index and "
    "then the whole file anew. It is too large for a running server to do so by itself: nobody can "
    "write to it meanwhile, some ten seconds for each GB. Choose a quiet moment."
)
POSTGRESQL = (
    "From PostgreSQL's tables and the search's indexes with the next housekeeping, which a running "
    "server begins at once, and again every hour until it is done: it writes these indexes anew "
    "and vacuums the tables. What then lies in free space of their files is overwritten as that is "
    "used again, and at once by VACUUM FULL; the write-ahead log ages out."
)
BACKUPS = (
    "Backups keep what they have until they are thrown away; who restores one with this server's "
    "erasures.jsonl in its place has the erasure done again."
)


@dataclass
class Report:
    """Of one person."""

    person: int
    rows: Counter[str] = field(default_factory=Counter)  # that were deleted, by the table's label
    sessions: int = 0
    conversations: set[UUID] = field(default_factory=set)
    checked: list[str] = field(default_factory=list)  # each a table and its field
    left: dict[str, int] = field(default_factory=dict)  # of those, where there are rows still
    backups: ClassVar[str] = BACKUPS

    def look(self) -> None:
        """Looks for what is left, in the transaction in which the person goes."""
        for model, name, to in references():
            wanted = [self.person] if to is User else sorted(self.conversations)
            label = f"{model._meta.label}.{name}"
            self.checked.append(label)
            if count := sum(_counted(model, name, wanted)):
                self.left[label] = count

    @property
    def gone(self) -> str:
        """When the rest goes from the disk."""
        if connection.vendor == "postgresql":
            return POSTGRESQL
        return SQLITE_LARGE if is_large(connection) else SQLITE

    @property
    def deleted(self) -> list[tuple[str, int]]:
        """In words, the most first."""
        return [(_words(label), count) for label, count in self._counts] + [
            ("sessions", self.sessions)
        ]

    @property
    def sentence(self) -> str:
        counts = ", ".join(f"{words}: {count:,}" for words, count in self.deleted)
        found = sum(self.left.values())
        return (
            f"Person {self.person} was erased ({counts}). Rows of theirs that are left, by the "
            f"{len(self.checked)} columns that refer to people or conversations: {found}. "
            f"{self.gone} {BACKUPS}"
        )

    @property
    def detail(self) -> dict[str, object]:
        """For the audit log."""
        return {
            "rows": dict(self._counts),
            "sessions": self.sessions,
            "columns_checked": len(self.checked),
            "left": self.left,
        }

    @property
    def _counts(self) -> list[tuple[str, int]]:
        return [(label, number) for label, number in self.rows.most_common() if number]


def references() -> Iterator[tuple[type[models.Model], str, type[models.Model]]]:
    """Each column of any table that refers to a person or to a conversation, and to which."""
    for model in apps.get_models(include_auto_created=True):
        for one in model._meta.local_concrete_fields:
            if one.is_relation and one.related_model in (User, Conversation):
                yield model, one.name, one.related_model


def _words(label: str) -> str:
    return WORDS.get(label) or str(apps.get_model(label)._meta.verbose_name_plural)


def _counted(model: type[models.Model], name: str, wanted: Collection[object]) -> Iterator[int]:
    keys = list(wanted)
    for start in range(0, len(keys), AT_ONCE):
        some = {f"{name}__in": keys[start : start + AT_ONCE]}
        yield model._default_manager.filter(**some).count()
