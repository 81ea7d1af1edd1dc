"""Stored files: each content once, in the storage that `STORAGES["files"]` names."""

import hashlib
import os
import secrets
from datetime import timedelta
from functools import partial, reduce
from io import BufferedIOBase, BytesIO
from operator import or_

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.files import storage

# How long a file is kept although nothing refers to it: until the transaction that will has ended.
GRACE = timedelta(minutes=1)
# A file in the storage that is as old as this and has no row was left by a process that died.
ABANDONED = timedelta(days=1)
AT_ONCE = 100


class StoredFileQuerySet(models.QuerySet["StoredFile"]):
    def unused(self) -> "StoredFileQuerySet":
        """Those that no row of another table refers to any more.

        A row that describes a file is deleted along with it, and is no use of it.
        """
        uses = (
            models.Exists(
                relation.related_model._base_manager.filter(
                    **{relation.field.name: models.OuterRef("pk")}
                )
            )
            for relation in StoredFile._meta.related_objects
            if relation.on_delete is models.PROTECT
        )
        old = self.filter(used_at__lt=timezone.now() - GRACE)
        return old.exclude(reduce(or_, map(models.Q, uses)))

    def delete_unused(self) -> bool:
        """Delete some unused files with their bytes; return whether there were any."""
        with transaction.atomic():
            some = self.unused().select_for_update().values_list("pk", flat=True)[:AT_ONCE]
            # Looked at again: one may have been referred to while its lock was waited for.
            unused = list(self.unused().filter(pk__in=list(some)))
            for file in unused:
                file.delete()
                transaction.on_commit(partial(storage.delete, file.name))
        return bool(unused)


class StoredFile(models.Model):
    """One content, however many messages have it.

    Its bytes are written before its row, and deleted after it. Each row has a name of its own in
    the storage, so bytes that are deleted late are never those of a newer row.
    """

    sha256 = models.CharField(max_length=64, unique=True)  # hexadecimal
    size = models.PositiveBigIntegerField()  # bytes
    name = models.CharField(max_length=100)  # in the storage
    used_at = models.DateTimeField()  # when it was last stored

    objects = models.Manager.from_queryset(StoredFileQuerySet)()

    def __str__(self) -> str:
        return self.sha256[:12]

    @classmethod
    def store(cls, data: bytes) -> "StoredFile":
        """Return the file with this content, which is now on the disk.

        Refer to it within `GRACE`. Raises `OSError` if the storage fails.
        """
        return cls.store_file(BytesIO(data))

    @classmethod
    def store_file(cls, file: BufferedIOBase) -> "StoredFile":
        """Do the same for the content of an open file, without loading it into memory."""
        sha256, now = cls.digest(file), timezone.now()
        if cls.objects.filter(sha256=sha256).update(used_at=now):
            return cls.objects.get(sha256=sha256)
        name = f"{sha256[:2]}/{sha256}-{secrets.token_hex(4)}"
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        storage.write(name, file)
        described = {"size": size, "name": name, "used_at": now}
        stored, is_new = cls.objects.get_or_create(sha256=sha256, defaults=described)
        if not is_new:  # stored by someone else meanwhile
            storage.delete(name)
        return stored

    @staticmethod
    def digest(file: BufferedIOBase) -> str:
        """Return the hash by which the content of an open file is known."""
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()

    def read(self) -> bytes:
        """Return its bytes. Raises `FileNotFoundError` if the storage has lost them."""
        return storage.read(self.name)


def delete_abandoned() -> None:
    """Delete what processes that died have left in the storage."""
    since = timezone.now() - ABANDONED
    for folder in storage.folders():
        names = storage.names_in(folder)
        known = set(StoredFile.objects.filter(name__in=names).values_list("name", flat=True))
        for name in set(names) - known:
            if storage.written_at(name) < since:
                storage.delete(name)
