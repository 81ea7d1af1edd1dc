"""Exports that are too large to be sent at once: made in the background, kept for some days.

The file is in the storage, under a name that has the export's key. Only its person can fetch it,
and nothing of its content is stored here.
"""

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import ClassVar, Self
from uuid import UUID

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from chatapp.models.files import storage
from chatapp.models.platform.jobs import UNENDED, Job, JobState

LIFETIME = timedelta(days=7)
MAX_EXPORTS = 3  # per person, with those that are being made
LOOKED_UP_AT_ONCE = 500  # keys per query


class ExportFormat(models.TextChoices):
    MARKDOWN = "markdown", "Markdown"
    HTML = "html", "Web page"
    JSON = "json", "JSON"
    CSV = "csv", "Usage as CSV"


class ExportScope(models.TextChoices):
    CHATS = "chats", "Chats"
    PROJECT = "project", "A project"
    EVERYTHING = "everything", "All chats"


class ChatExportQuerySet(models.QuerySet["ChatExport"]):
    def current(self) -> Self:
        """Return the exports that count towards `MAX_EXPORTS`: with a file, or being made."""
        is_there = Q(state=JobState.DONE, expires_at__gt=timezone.now())
        return self.filter(is_there | Q(state__in=UNENDED))

    def expired(self) -> Self:
        """Return the exports that have expired, or whose person may not sign in any more."""
        ended = self.exclude(state__in=UNENDED)
        over = Q(expires_at__lt=timezone.now()) | Q(ended_at__lt=timezone.now() - LIFETIME)
        return ended.filter(over | Q(user__is_active=False))

    def delete_expired(self) -> bool:
        """Delete one that has expired, with its file; return whether there was one."""
        export = self.expired().first()
        if export is not None:
            export.discard()
        return export is not None


class ChatExport(Job):
    """One export, and the job that makes its file."""

    format = models.CharField(max_length=8, choices=ExportFormat)
    scope = models.CharField(max_length=10, choices=ExportScope)
    chats = models.JSONField(default=list, help_text="The keys of the chosen chats.")
    project = models.UUIDField(null=True)
    is_shown_only = models.BooleanField(default=False)
    with_files = models.BooleanField(default=False)
    suffix = models.CharField(max_length=8, blank=True, default="")
    size = models.PositiveBigIntegerField(null=True)  # bytes
    expires_at = models.DateTimeField(null=True)

    objects: ClassVar[models.Manager["ChatExport"]] = models.Manager.from_queryset(
        ChatExportQuerySet
    )()

    class Meta(Job.Meta):
        abstract = False

    @property
    def stored_name(self) -> str:
        return f"{storage.EXPORTS}/{self.pk}"

    @property
    def download_name(self) -> str:
        return f"chats-{self.created_at:%Y-%m-%d}.{self.suffix}"

    @property
    def is_available(self) -> bool:
        """Whether its file can be downloaded."""
        is_kept = self.expires_at is not None and self.expires_at > timezone.now()
        return self.state == JobState.DONE and is_kept

    def store_size(self, suffix: str, size: int) -> None:
        """Note that its file is stored, before the job ends."""
        self.suffix, self.size, self.expires_at = suffix, size, timezone.now() + LIFETIME
        self.save(update_fields=["suffix", "size", "expires_at"])

    def after_end(self) -> None:
        """Delete the file of one that was cancelled or failed after it was stored."""
        if self.state != JobState.DONE:
            transaction.on_commit(partial(_delete_file, self.stored_name))

    def discard(self) -> None:
        """Delete it with its file."""
        name = self.stored_name  # which the deletion of the row changes
        self.delete()
        _delete_file(name)


def _delete_file(name: str) -> None:
    """Delete the bytes of an export; if the storage fails, the housekeeping tries again."""
    with suppress(OSError):
        storage.delete(name)


def delete_lost_exports() -> None:
    """Delete the files of exports that were deleted with their person, or whose deletion failed.

    Raises `OSError` if the storage fails.
    """
    names: dict[str, str] = {}
    with suppress(FileNotFoundError):  # nothing was ever exported
        names = {name.rpartition("/")[2]: name for name in storage.names_in(storage.EXPORTS)}
    keys = [key for key in names if _is_key(key)]
    for start in range(0, len(keys), LOOKED_UP_AT_ONCE):
        some = keys[start : start + LOOKED_UP_AT_ONCE]
        existing = {
            str(pk) for pk in ChatExport.objects.filter(pk__in=some).values_list("pk", flat=True)
        }
        for lost in set(some) - existing:
            storage.delete(names[lost])


def _is_key(name: str) -> bool:
    with suppress(ValueError):
        return str(UUID(name)) == name
    return False
