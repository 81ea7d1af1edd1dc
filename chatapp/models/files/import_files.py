"""Files that people upload to import chats from, in parts, until the import has ended.

They are not attachments: nobody else sees them, they may be much larger, and nothing is stored of
them but their parts.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import ClassVar, Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.files import storage
from chatapp.models.files.uploads import Upload

LIFETIME = timedelta(days=7)  # an upload that nobody imports, or whose import failed
# The name in DATA_DIR of the copy of a database, which SQLite can only read from the disk.
COPY_NAME = "import-{}.db"


class ImportFileQuerySet(models.QuerySet["ImportFile"]):
    def expired(self) -> Self:
        return self.filter(changed_at__lt=timezone.now() - LIFETIME)

    def erase(self) -> int:
        """Delete the rows, and when that is committed their parts; return how many rows."""
        names = [name for file in self for name in file.part_names]
        count, _ = self.delete()
        transaction.on_commit(partial(_delete, names))
        return count

    def delete_expired(self) -> bool:
        """Delete what is kept for too long; return whether there was any."""
        return bool(self.expired().erase())


class ImportFile(Upload):
    """One file. Those that belong together have the same `batch`, which becomes an import's key."""

    FOLDER = storage.IMPORTS

    user = models.ForeignKey(User, models.CASCADE, related_name="import_files")
    batch = models.UUIDField(db_index=True)
    position = models.PositiveSmallIntegerField()
    part_bytes = models.PositiveIntegerField()

    objects: ClassVar[ImportFileQuerySet] = models.Manager.from_queryset(ImportFileQuerySet)()  # type: ignore[assignment]

    class Meta:
        ordering: ClassVar[Sequence[str]] = ["position"]


def find_existing_keys(keys: Collection[str]) -> set[str]:
    """Return which of these are keys of files."""
    files = ImportFile.objects.filter(pk__in=keys).order_by()
    return {str(pk) for pk in files.values_list("pk", flat=True)}


def _delete(names: Sequence[str]) -> None:
    """Delete parts; housekeeping deletes those that the storage can't delete now."""
    with suppress(OSError):
        for name in names:
            storage.delete(name)
