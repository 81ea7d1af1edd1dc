"""The retention periods, and the data that is due to be deleted.

A conversation is deleted permanently, bypassing the trash, once nothing was asked in it for the set
number of days, and an imported one once it has also been here for as long: even if it is pinned,
archived, in a project or in the trash. Images in replies, attached files and the personal details
in the audit log may go earlier. What is under a legal hold stays until the hold ends, and a
conversation with a running reply until that ends. Temporary conversations have their own rule
(`temporary`).

Unlike erasures of people, these deletions are not recorded for restores: a restored backup brings
the data back, and the next housekeeping finds it due again.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.audit import AuditDetail
from chatapp.models.conversations.chats.conversation import Conversation, ConversationQuerySet
from chatapp.models.conversations.chats.folders import is_under_legal_hold
from chatapp.models.conversations.messages.images import IMAGE_BYTES, ReplyImage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.files.attachments import Attachment, AttachmentQuerySet
from chatapp.models.platform.installation import SINGLETON_PK, Installation
from chatapp.models.policies.legal_holds import LegalHold, holding

MAX_DAYS = 36_500
OWN_ACTIONS = ("retention.applied", "log.emptied")  # the events that log these deletions
HELD_IMAGE = ("message__conversation__user", "message__conversation")


@dataclass(frozen=True)
class DueCount:
    """Things of one kind that are due: the number to delete, their age, and the number held."""

    count: int
    oldest: datetime | None
    newest: datetime | None
    held: int


@dataclass(frozen=True)
class Preview:
    """The data that would be deleted now. `images` and `files` include those of `conversations`."""

    conversations: DueCount
    messages: int
    people: int
    images: DueCount
    files: DueCount  # that people attached
    bytes: int  # of the images and files
    details: DueCount

    @property
    def counts(self) -> Counter[str]:
        """The numbers under the keys of `RetentionRun.gone`."""
        return +Counter(
            conversations=self.conversations.count,
            messages=self.messages,
            images=self.images.count,
            files=self.files.count,
            details=self.details.count,
        )


@dataclass(frozen=True)
class Retention:
    """Retention periods in days. None keeps things for ever, and files with their conversation."""

    conversation_days: int | None = None
    file_days: int | None = None  # also of images in replies
    audit_detail_days: int | None = None

    @classmethod
    def now(cls) -> Self:
        names = cls.__dataclass_fields__
        return cls(*Installation.objects.filter(pk=SINGLETON_PK).values_list(*names).first() or ())

    @transaction.atomic
    def store(self) -> Installation:
        return Installation.objects.update_or_create(pk=SINGLETON_PK, defaults=asdict(self))[0]

    # ---- what is due, including what is held

    def due_conversations(self) -> ConversationQuerySet:
        if self.conversation_days is None:
            return Conversation.objects.none()
        streaming = Message.objects.streaming().filter(conversation=models.OuterRef("pk"))
        days_ago = _ago(self.conversation_days)
        used_before = Conversation.objects.filter(updated_at__lt=days_ago, is_temporary=False)
        return used_before.exclude(_was_imported_since(days_ago)).exclude(models.Exists(streaming))

    def due_images(self) -> "models.QuerySet[ReplyImage]":
        """Return the images due by their own age, not with their conversation."""
        if self.file_days is None:
            return ReplyImage.objects.none()
        return ReplyImage.objects.filter(
            message__created_at__lt=_ago(self.file_days),
            message__conversation__is_temporary=False,
        ).exclude(_was_imported_since(_ago(self.file_days), "message__conversation__"))

    def due_files(self) -> AttachmentQuerySet:
        """Return the files due by their own age: of old prompts, or left in a draft for as long."""
        if self.file_days is None:
            return Attachment.objects.none()
        old = _ago(self.file_days)
        streaming = Message.objects.streaming().filter(
            conversation=models.OuterRef("message__conversation")
        )
        sent = models.Q(message__created_at__lt=old, message__conversation__is_temporary=False)
        sent &= ~_was_imported_since(old, "message__conversation__")
        drafted = models.Q(message=None, created_at__lt=old)
        in_temporary = models.Q(conversation__isnull=False, conversation__is_temporary=True)
        return Attachment.objects.filter(
            (sent & ~models.Exists(streaming) & models.Q(file__isnull=False))
            | (drafted & ~in_temporary)
        )

    def due_details(self) -> "models.QuerySet[AuditDetail]":
        if self.audit_detail_days is None:
            return AuditDetail.objects.none()
        old = AuditDetail.objects.filter(event__at__lt=_ago(self.audit_detail_days))
        # These events name nobody, and emptying them would add another such event.
        return old.exclude(content="").exclude(event__action__in=OWN_ACTIONS)

    # ---- what is due and not held

    def deletable_conversations(self) -> ConversationQuerySet:
        return self.due_conversations().exclude(is_under_legal_hold())

    def deletable_images(self) -> "models.QuerySet[ReplyImage]":
        return self.due_images().exclude(holding(*HELD_IMAGE))

    def deletable_files(self) -> AttachmentQuerySet:
        return self.due_files().exclude(_is_held_file())

    def deletable_details(self) -> "models.QuerySet[AuditDetail]":
        return self.due_details().exclude(_is_of_held_person())

    def preview(self) -> Preview:
        conversations = self.due_conversations()
        going = self.deletable_conversations().order_by()
        theirs = models.Q(message__conversation__in=conversations.order_by().values("pk"))
        by_age = models.Q(pk__in=self.due_images().values("pk"))
        images = ReplyImage.objects.filter(theirs | by_age)
        free_images = images.exclude(holding(*HELD_IMAGE))
        files = self._due_files_with(conversations)
        free_files = files.exclude(_is_held_file())
        details = self.due_details()
        bytes_ = free_images.aggregate(bytes=models.Sum(IMAGE_BYTES))["bytes"] or 0
        bytes_ += free_files.aggregate(bytes=models.Sum("file__size"))["bytes"] or 0
        return Preview(
            conversations=_count_due(going, "updated_at", conversations.under_legal_hold()),
            messages=Message.objects.filter(conversation__in=going.values("pk")).count(),
            people=going.aggregate(count=models.Count("user", distinct=True))["count"],
            images=_count_due(
                free_images, "message__created_at", images.filter(holding(*HELD_IMAGE))
            ),
            files=_count_due(free_files, "created_at", files.filter(_is_held_file())),
            bytes=bytes_,
            details=_count_due(
                self.deletable_details(), "event__at", details.filter(_is_of_held_person())
            ),
        )

    def _due_files_with(self, conversations: ConversationQuerySet) -> AttachmentQuerySet:
        """Return the files due by their age, and all files of these conversations."""
        keys = conversations.order_by().values("pk")
        theirs = models.Q(message__conversation__in=keys) | models.Q(conversation__in=keys)
        return Attachment.objects.filter(theirs | models.Q(pk__in=self.due_files().values("pk")))


def _ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def _was_imported_since(days_ago: datetime, conversation: str = "") -> models.Q:
    """Whether a chat was imported since, from which its period counts: it may be years older."""
    return models.Q(**{f"{conversation}created_at__gte": days_ago}) & ~models.Q(
        **{f"{conversation}imported_from": ""}
    )


def _is_held_file() -> models.Q:
    held_draft = holding("user", "conversation")
    return models.Q(holding("user", "message__conversation")) | models.Q(held_draft)


def _is_of_held_person() -> models.Exists:
    """Whether a hold protects the event's people: erasing them would empty the detail, and is
    refused while anything of theirs is held."""
    of_them = models.Q(user=models.OuterRef("event__person"))
    by_them = models.Q(user=models.OuterRef("event__actor"))
    return models.Exists(LegalHold.objects.living().filter(of_them | by_them))


def _count_due(
    going: "models.QuerySet[Any]", moment: str, held_rows: "models.QuerySet[Any]"
) -> DueCount:
    figures = going.order_by().aggregate(
        count=models.Count("pk"), oldest=models.Min(moment), newest=models.Max(moment)
    )
    return DueCount(**figures, held=held_rows.count())
