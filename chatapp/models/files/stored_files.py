"""Stored files: each content once, in the storage that `STORAGES["files"]` names."""

import hashlib
import logging
import os
import secrets
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from functools import partial, reduce
from io import BufferedIOBase, BytesIO
from operator import or_
from typing import Any, Self, TypeVar

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.files import storage

logger = logging.getLogger(__name__)

# How long a file is kept although nothing refers to it: until the transaction that will has ended.
GRACE = timedelta(minutes=1)
AT_ONCE = 100
GENERATIONS = 3  # a document, its pages, and their thumbnails if they are attached, too


class StoredFileQuerySet(models.QuerySet["StoredFile"]):
    def unused(self) -> Self:
        """Return the files that no row of another table refers to any more.

        A row that describes a file is deleted along with it, and is no use of it.
        """
        return filter_unreferenced(self)

    def delete_unused(self) -> bool:
        """Delete some files that are unused for a while, with their bytes; return whether any."""
        old = self.filter(used_at__lt=timezone.now() - GRACE)
        with transaction.atomic():
            names = _delete_rows(old)
            for name in names:
                transaction.on_commit(partial(storage.delete, name))
        return bool(names)

    def erase(self, ids: Collection[int]) -> tuple[int, int]:
        """Delete those of these files that are unused, and their thumbnails and pages, at once.

        Call it outside of a transaction. `GRACE` does not apply: who is about to refer to one of
        them gets an `IntegrityError` and repeats that. Return how many were deleted, and of how
        many the storage could not delete the bytes.
        """
        deleted = failed = 0
        pending = set(ids)
        for _ in range(GENERATIONS):
            made = self._find_derived(pending)
            for some in _portions(pending):
                with transaction.atomic():
                    names = _delete_rows(self.filter(pk__in=some))
                deleted += len(names)
                failed += sum(not _is_deleted(name) for name in names)
            pending = made
        return deleted, failed

    def erase_on_commit(self, ids: Iterable[int | None]) -> None:
        """Do so once the transaction has ended. What fails is left to housekeeping."""
        if keys := {pk for pk in ids if pk is not None}:
            transaction.on_commit(partial(self.erase, keys), robust=True)

    def _find_derived(self, ids: Collection[int]) -> set[int]:
        """Return the keys of the thumbnails and pages of these files."""
        made = set[int]()
        for some in _portions(ids):
            of_pages = models.Q(page_images__content__file__in=some)
            files = self.filter(of_pages | models.Q(thumbnail_of__file__in=some))
            made.update(files.values_list("pk", flat=True))
        return made


Rows = TypeVar("Rows", bound="models.QuerySet[Any]")


def filter_unreferenced(rows: Rows) -> Rows:
    """Return those rows that no protected foreign key refers to."""
    uses = (
        models.Exists(
            relation.related_model._base_manager.filter(
                **{relation.field.name: models.OuterRef("pk")}
            )
        )
        for relation in rows.model._meta.related_objects
        if relation.on_delete is models.PROTECT
    )
    return rows.exclude(reduce(or_, map(models.Q, uses)))


def _portions(ids: Collection[int]) -> Iterator[list[int]]:
    ordered = sorted(ids)
    for start in range(0, len(ordered), AT_ONCE):
        yield ordered[start : start + AT_ONCE]


def _delete_rows(files: StoredFileQuerySet) -> list[str]:
    """Delete the rows of some unused files; return the names of their bytes."""
    some = files.unused().select_for_update().values_list("pk", flat=True)[:AT_ONCE]
    # Looked at again: one may have been referred to while its lock was waited for.
    unused = dict(files.unused().filter(pk__in=list(some)).values_list("pk", "name"))
    StoredFile.objects.filter(pk__in=unused).delete()
    return list(unused.values())


class StoredFile(models.Model):
    """One content of a person's files, however many messages have it.

    People who have the same content don't share it, or it could be noticed that another person has
    it. Copies of what was shared do: forks, presets and chats.

    Its bytes are written before its row, and deleted after it. Each row has a name of its own in
    the storage, so bytes that are deleted late are never those of a newer row.
    """

    # None if that person was erased, and for the files of older versions, which people share.
    owner = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", db_index=False, editable=False
    )
    sha256 = models.CharField(max_length=64)  # hexadecimal
    size = models.PositiveBigIntegerField()  # bytes
    name = models.CharField(max_length=100)  # in the storage
    used_at = models.DateTimeField()  # when it was last stored

    objects = models.Manager.from_queryset(StoredFileQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "sha256"], name="one_content_a_person")
        ]

    def __str__(self) -> str:
        return self.sha256[:12]

    @classmethod
    def store(cls, data: bytes, owner: int) -> "StoredFile":
        """Return the person's file with this content, which is now on the disk.

        Refer to it within `GRACE`. Raises `OSError` if the storage fails.
        """
        return cls.store_file(BytesIO(data), owner)

    @classmethod
    def store_file(cls, file: BufferedIOBase, owner: int) -> "StoredFile":
        """Do the same for the content of an open file, without loading it into memory."""
        sha256 = cls.digest(file)
        if existing := cls.find_by_hash(sha256, owner):
            return existing
        name = f"{sha256[:2]}/{sha256}-{secrets.token_hex(4)}"
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        storage.write(name, file)
        described = {"size": size, "name": name, "used_at": timezone.now()}
        stored, is_new = cls.objects.get_or_create(
            owner_id=owner, sha256=sha256, defaults=described
        )
        if not is_new:  # stored in another thread or process meanwhile
            storage.delete(name)
        return stored

    @classmethod
    def find_by_hash(cls, sha256: str, owner: int) -> "StoredFile | None":
        """Return the person's file with this hash, if there is one. Refer to it within `GRACE`."""
        own = cls.objects.filter(owner=owner, sha256=sha256)
        return own.first() if own.update(used_at=timezone.now()) else None

    @staticmethod
    def digest(file: BufferedIOBase) -> str:
        """Return the hash by which the content of an open file is known."""
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()

    def read(self) -> bytes:
        """Return its bytes. Raises `FileNotFoundError` if the storage has lost them."""
        return storage.read(self.name)


def _is_deleted(name: str) -> bool:
    try:
        storage.delete(name)
        return not storage.exists(name)
    except OSError as error:
        logger.error("The storage can't delete %s, and will be asked again: %s", name, error)
        return False
