"""Imports of chats: a job that reads an export, waits for its person, and then stores the chats.

An administrator's import of a database of several people has a part for each of them, which is an
import of that person's own. So each chat belongs to its person like one that they imported.

What an import stored is known by the keys of chats and by the numbers of messages (`sequence`), so
it can be undone, and a later import tells what the person has deleted since.
"""

import uuid
from typing import Any, ClassVar

from django.db import models
from django.urls import reverse
from django.utils import timezone

from chatapp.models import audit
from chatapp.models.accounts.users import User, address_key
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.files.import_files import LIFETIME, ImportFile, ImportFileQuerySet
from chatapp.models.platform.jobs import UNENDED, Job, JobFailed, JobState

FORMAT_LENGTH = 10
COUNTS = ("chats", "longer", "messages", "files")
NOT_ADMINISTRATOR = (
    "Only an active administrator can import the chats of others. What was imported before is kept."
)


class Phase(models.TextChoices):
    READING = "reading", "Reading the export"
    PREVIEW = "preview", "Waiting for your decision"
    STORING = "storing", "Importing"
    STORED = "stored", "Imported"
    UNDOING = "undoing", "Undoing"
    UNDONE = "undone", "Undone"


class ImportQuerySet(models.QuerySet["Import"]):
    def forget_old_report(self) -> bool:
        """Delete the titles in the report of an old import, which is deleted if it stored nothing.

        Return whether there was one.
        """
        ended = self.exclude(state__in=UNENDED).filter(ended_at__lt=timezone.now() - LIFETIME)
        job = ended.exclude(preview={}).first()
        if job is None:
            return False
        if not job.result:
            job.delete()
            return True
        reasons = job.result.get("reasons", {})
        job.result["reasons"] = {sentence: [count, []] for sentence, (count, _) in reasons.items()}
        job.result.pop("notes", None)  # which have names of projects and files
        self.filter(pk=job.pk).update(preview={}, result=job.result)
        return True

    def forget_person(self, user: User) -> None:
        """Delete a person from the lists of people in databases that wait for a decision."""
        address = address_key(user.email or "-")  # many people there may have none
        for job in self.filter(is_for_team=True, phase=Phase.PREVIEW).select_for_update():
            people = job.preview.get("people", [])
            others = [person for person in people if person["account"] != user.pk]
            others = [person for person in others if address_key(person["address"]) != address]
            if len(others) < len(people):
                job.preview["people"] = others
                job.save(update_fields=["preview"])


class Import(Job):
    """One import. Its key is the `batch` of its files.

    The parts of an import for a team have no files, and are run by that import.
    """

    phase = models.CharField(max_length=8, choices=Phase, default=Phase.READING)
    name = models.CharField(max_length=120)  # of the first file
    source = models.CharField(max_length=FORMAT_LENGTH, blank=True, default="")
    preview = models.JSONField(default=dict, blank=True)  # an `imports.report.ImportReport`
    result = models.JSONField(default=dict, blank=True)  # another one
    makes_projects = models.BooleanField(default=True, help_text="Folders become projects.")
    takes_back = models.BooleanField(
        default=False, help_text="Cancelling deletes what was stored so far."
    )

    is_for_team = models.BooleanField(
        default=False, db_default=False, help_text="Has the chats of several people."
    )
    part_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="parts")
    source_person = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="A part's owner there."
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
        if self.is_unended or (self.part_of and self.part_of.is_unended):
            return False
        phases = (Phase.STORED, Phase.STORING, Phase.UNDOING)
        return self.phase in phases and (self.all_chats.exists() or self.all_messages.exists())

    @property
    def all_chats(self) -> "models.QuerySet[ImportedChat]":
        """The chats that it created, also those of its parts."""
        return ImportedChat.objects.filter(self._is_of_this)

    @property
    def all_messages(self) -> "models.QuerySet[ImportedMessages]":
        """Return the messages that it and its parts added to chats."""
        return ImportedMessages.objects.filter(self._is_of_this)

    @property
    def is_being_indexed(self) -> bool:
        """Whether search does not find all of its messages yet."""
        added = self.all_messages.filter(
            chat=models.OuterRef("conversation"),
            first__lte=models.OuterRef("sequence"),
            last__gte=models.OuterRef("sequence"),
        )
        return Message.objects.filter(models.Exists(added), indexed_at=None).exists()

    @property
    def _is_of_this(self) -> models.Q:
        return models.Q(imported_by=self) | models.Q(imported_by__part_of=self)

    @property
    def is_by_administrator(self) -> bool:
        """Whether it is, or was, a part of an administrator's import."""
        return bool(self.source_person)

    def check_administrator(self) -> None:
        """Raise `JobFailed` if it is for a team, and its person may not import for others now."""
        if self.is_for_team:
            person = User.objects.filter(pk=self.user_id, is_active=True).first()
            if not (person and person.administers):
                raise JobFailed(NOT_ADMINISTRATOR)

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

    def end_part(self, part: "Import") -> None:
        """Record what a part has brought, within a transaction."""
        if not Import.objects.filter(pk=part.pk).update(ended_at=timezone.now()):
            return  # its person was erased
        if counts := {name: count for name in COUNTS if (count := part.result.get(name))}:
            self.record("import.given", counts, about=part.user)

    def _after_reading(self, is_done: bool) -> None:
        if is_done:
            self.phase = Phase.PREVIEW
            self.save(update_fields=["phase"])
        elif self.state == JobState.CANCELLED:
            self.files.erase()

    def _after_storing(self, is_done: bool) -> None:
        self.refresh_from_db(fields=["result", "takes_back"])
        for part in self.parts.filter(ended_at=None).select_related("user"):
            self.end_part(part)
        results = [self.result, *self.parts.values_list("result", flat=True)]
        counts = {name: sum(result.get(name, 0) for result in results) for name in COUNTS}
        self.record("import.ended", counts | {"state": str(self.state)})
        if self.state != JobState.FAILED:
            self.files.erase()
        if is_done:
            self.phase = Phase.STORED
            self.save(update_fields=["phase"])
        elif self.state == JobState.CANCELLED and self.takes_back:
            self.wait_in(Phase.UNDOING)

    def record(
        self, action: str, counts: dict[str, Any], about: "models.Model | None" = None
    ) -> None:
        """Record an event of this import in the audit log, within a transaction."""
        detail = {"source": self.source} | counts
        audit.record(action, actor=self.user, about=about or self, detail=detail)


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
    def build_condition(ranges: "models.QuerySet[ImportedMessages]") -> models.Q:
        """Return the condition that a message is one of these; there must be some."""
        condition = models.Q(pk__in=[])
        for first, last in ranges.order_by("first").values_list("first", "last"):
            condition |= models.Q(sequence__gte=first, sequence__lte=last)
        return condition
