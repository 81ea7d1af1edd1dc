"""Imports of chats: a job that reads an export, waits for its person, and then stores the chats.

What an import stored is known by the keys of chats and by the numbers of messages (`sequence`), so
it can be undone, and a later import tells what the person has deleted since.
"""

import uuid
from typing import Any, ClassVar

from django.db import models
from django.urls import reverse
from django.utils import timezone

from chatapp.models import audit
from chatapp.models.files.import_files import KEPT, ImportFile, ImportFileQuerySet
from chatapp.models.platform.jobs import UNENDED, Job, JobState

FORMAT_LENGTH = 10


class Phase(models.TextChoices):
    READING = "reading", "Reading the export"
    PREVIEW = "preview", "Waiting for your decision"
    STORING = "storing", "Importing"
    STORED = "stored", "Imported"
    UNDOING = "undoing", "Undoing"
    UNDONE = "undone", "Undone"


class ImportQuerySet(models.QuerySet["Import"]):
    def forget_one(self) -> bool:
        """Delete the titles in the report of an old import, which is deleted if it stored nothing.

        Return whether there was one.
        """
        ended = self.exclude(state__in=UNENDED).filter(ended_at__lt=timezone.now() - KEPT)
        job = ended.exclude(preview={}).first()
        if job is None:
            return False
        if not job.result:
            job.delete()
            return True
        reasons = job.result.get("reasons", {})
        job.result["reasons"] = {sentence: [count, []] for sentence, (count, _) in reasons.items()}
        self.filter(pk=job.pk).update(preview={}, result=job.result)
        return True


class Import(Job):
    """One import. Its key is the `batch` of its files."""

    phase = models.CharField(max_length=8, choices=Phase, default=Phase.READING)
    name = models.CharField(max_length=120)  # of the first file
    source = models.CharField(max_length=FORMAT_LENGTH, blank=True, default="")
    preview = models.JSONField(default=dict, blank=True)  # `imports.figures.Preview`
    result = models.JSONField(default=dict, blank=True)  # `imports.figures.Result`
    makes_projects = models.BooleanField(default=True, help_text="Folders become projects.")
    takes_back = models.BooleanField(
        default=False, help_text="Cancelling deletes what was stored so far."
    )

    objects: ClassVar[ImportQuerySet] = models.Manager.from_queryset(ImportQuerySet)()  # type: ignore[assignment]

    class Meta(Job.Meta):
        abstract = False

    def get_absolute_url(self) -> str:
        return reverse("import", args=[self.pk])

    @property
    def files(self) -> ImportFileQuerySet:
        return ImportFile.objects.filter(batch=self.pk, user=self.user_id)

    @property
    def has_files(self) -> bool:
        """Whether the uploaded files are still there, so that it can be tried again."""
        return self.files.exists()

    @property
    def can_start(self) -> bool:
        return self.phase == Phase.PREVIEW and self.state == JobState.DONE and self.has_files

    @property
    def can_be_tried_again(self) -> bool:
        ended = self.state in (JobState.FAILED, JobState.CANCELLED)
        return ended and self.phase in (Phase.READING, Phase.STORING) and self.has_files

    @property
    def can_be_undone(self) -> bool:
        stored = self.phase == Phase.STORED or (self.phase == Phase.STORING and not self.is_unended)
        failed = self.phase == Phase.UNDOING and not self.is_unended
        return (stored or failed) and (self.chats.exists() or self.messages.exists())

    def advance(self, **fields: object) -> None:
        super().advance(**{"result": self.result, **fields})

    def wait_in(self, phase: Phase, done: int = 0) -> None:
        """Make the job wait to be run in this phase, from its beginning or after what is done."""
        self.phase, self.state = phase, JobState.WAITING
        self.is_cancelled, self.problem, self.done = False, "", done
        self.ended_at = None
        self.save(
            update_fields=["phase", "state", "is_cancelled", "problem", "done", "total", "ended_at"]
        )

    def after_end(self) -> None:
        is_done = self.state == JobState.DONE
        match self.phase:
            case Phase.READING:
                self._after_reading(is_done)
            case Phase.STORING:
                self._after_storing(is_done)
            case Phase.UNDOING if is_done:
                self.phase = Phase.UNDONE
                self.save(update_fields=["phase"])
                self.record("import.undone", self.result.get("undone", {}))

    def _after_reading(self, is_done: bool) -> None:
        if is_done:
            self.phase = Phase.PREVIEW
            self.save(update_fields=["phase"])
        elif self.state == JobState.CANCELLED:
            self.files.erase()

    def _after_storing(self, is_done: bool) -> None:
        self.refresh_from_db(fields=["result", "takes_back"])
        names = ("chats", "longer", "messages", "files")
        counts = {name: self.result.get(name, 0) for name in names}
        self.record("import.ended", counts | {"state": str(self.state)})
        if self.state != JobState.FAILED:
            self.files.erase()
        if is_done:
            self.phase = Phase.STORED
            self.save(update_fields=["phase"])
        elif self.state == JobState.CANCELLED and self.takes_back:
            self.wait_in(Phase.UNDOING)

    def record(self, action: str, counts: dict[str, Any]) -> None:
        """Record an event of this import in the audit log, within a transaction."""
        detail = {"source": self.source} | counts
        audit.record(action, actor=self.user, about=self, detail=detail)


class ImportedChat(models.Model):
    """A chat that an import created. It stays when the chat is deleted, so that a later import
    doesn't bring it back. Its key is the chat's."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    imported_by = models.ForeignKey(Import, models.CASCADE, related_name="chats")
    message_count = models.PositiveIntegerField(default=0)  # in the newest export
    newest_at = models.DateTimeField(null=True)  # the newest message in the newest export
    is_whole = models.BooleanField(default=False)  # all of its messages were stored once

    objects: ClassVar[models.Manager["ImportedChat"]] = models.Manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]

    def __str__(self) -> str:
        return f"Imported chat {self.pk}"


class ImportedMessages(models.Model):
    """Messages that an import added to a chat in one transaction, by their `sequence`."""

    imported_by = models.ForeignKey(Import, models.CASCADE, related_name="messages")
    chat = models.ForeignKey(ImportedChat, models.CASCADE, related_name="messages")
    first = models.BigIntegerField()
    last = models.BigIntegerField()

    objects: ClassVar[models.Manager["ImportedMessages"]] = models.Manager()

    def __str__(self) -> str:
        return f"Messages {self.first} to {self.last}"

    @staticmethod
    def numbers(ranges: "models.QuerySet[ImportedMessages]") -> models.Q:
        """Return the condition that a message is one of these; there must be some."""
        found = models.Q(pk__in=[])
        for first, last in ranges.order_by("first").values_list("first", "last"):
            found |= models.Q(sequence__gte=first, sequence__lte=last)
        return found
