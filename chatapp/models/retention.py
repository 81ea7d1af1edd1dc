"""How long things are kept, and what is due to go.

A conversation goes for good, without the trash, once so many days went by since something was asked
in it: pinned or archived, in a project or in the trash. Images that came with replies may go
earlier, and so may what the audit log says of people by name. What a legal hold keeps stays until
that ends, and a conversation in which a reply is being written until it has ended. Temporary
conversations have a rule of their own (`temporary`).

Nobody writes down what went by its age, as erasures of people are: a backup that is restored brings
it back, and the next housekeeping finds it due again.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models, transaction
from django.db.models.functions import Length
from django.utils import timezone

from chatapp.models.audit import AuditDetail
from chatapp.models.conversation_querysets import ConversationQuerySet
from chatapp.models.conversations import Conversation
from chatapp.models.images import ReplyImage
from chatapp.models.installation import ONLY, Installation
from chatapp.models.legal_holds import LegalHold, holding
from chatapp.models.messages import Message
from chatapp.models.shelves import is_held

MOST_DAYS = 36_500
OWN_ACTIONS = ("retention.applied", "log.emptied")  # of events that say what went
HELD_IMAGE = ("message__conversation__user", "message__conversation")


@dataclass(frozen=True)
class Kind:
    """Things of one kind that are due: how many go, of which time, and how many are held."""

    count: int
    oldest: datetime | None
    newest: datetime | None
    held: int


@dataclass(frozen=True)
class Preview:
    """What would go if it went now; `images` are also those of `conversations`."""

    conversations: Kind
    messages: int
    people: int
    images: Kind
    bytes: int  # of the images
    details: Kind

    @property
    def counts(self) -> Counter[str]:
        """By the names by which `Round.gone` counts."""
        return +Counter(
            conversations=self.conversations.count,
            messages=self.messages,
            images=self.images.count,
            details=self.details.count,
        )


@dataclass(frozen=True)
class Retention:
    """In days; None is for ever, of images as long as their conversation."""

    conversation_days: int | None = None
    image_days: int | None = None
    audit_detail_days: int | None = None

    @classmethod
    def now(cls) -> Self:
        names = cls.__dataclass_fields__
        return cls(*Installation.objects.filter(pk=ONLY).values_list(*names).first() or ())

    @transaction.atomic
    def store(self) -> Installation:
        return Installation.objects.update_or_create(pk=ONLY, defaults=asdict(self))[0]

    # ---- what is due, held or not

    def due_conversations(self) -> ConversationQuerySet:
        if self.conversation_days is None:
            return Conversation.objects.none()
        streaming = Message.objects.streaming().filter(conversation=models.OuterRef("pk"))
        used_before = Conversation.objects.filter(
            updated_at__lt=_ago(self.conversation_days), is_temporary=False
        )
        return used_before.exclude(models.Exists(streaming))

    def due_images(self) -> "models.QuerySet[ReplyImage]":
        """Without those that go along with their conversation."""
        if self.image_days is None:
            return ReplyImage.objects.none()
        return ReplyImage.objects.filter(
            message__created_at__lt=_ago(self.image_days),
            message__conversation__is_temporary=False,
        )

    def due_details(self) -> "models.QuerySet[AuditDetail]":
        if self.audit_detail_days is None:
            return AuditDetail.objects.none()
        old = AuditDetail.objects.filter(event__at__lt=_ago(self.audit_detail_days))
        # Those name nobody, and to empty them would be one more such event.
        return old.exclude(content="").exclude(event__action__in=OWN_ACTIONS)

    # ---- what of it goes

    def going_conversations(self) -> ConversationQuerySet:
        return self.due_conversations().exclude(is_held())

    def going_images(self) -> "models.QuerySet[ReplyImage]":
        return self.due_images().exclude(holding(*HELD_IMAGE))

    def going_details(self) -> "models.QuerySet[AuditDetail]":
        return self.due_details().exclude(_is_of_held_person())

    def preview(self) -> Preview:
        conversations = self.due_conversations()
        going = self.going_conversations().order_by()
        theirs = models.Q(message__conversation__in=conversations.order_by().values("pk"))
        by_age = models.Q(pk__in=self.due_images().values("pk"))
        images = ReplyImage.objects.filter(theirs | by_age)
        free_images = images.exclude(holding(*HELD_IMAGE))
        details = self.due_details()
        return Preview(
            conversations=_kind(going, "updated_at", conversations.held()),
            messages=Message.objects.filter(conversation__in=going.values("pk")).count(),
            people=going.aggregate(count=models.Count("user", distinct=True))["count"],
            images=_kind(free_images, "message__created_at", images.filter(holding(*HELD_IMAGE))),
            bytes=free_images.aggregate(bytes=models.Sum(Length("data")))["bytes"] or 0,
            details=_kind(self.going_details(), "event__at", details.filter(_is_of_held_person())),
        )


def _ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def _is_of_held_person() -> models.Exists:
    """An erasure would take these along, and is refused while anything of the person's is held."""
    of_them = models.Q(user=models.OuterRef("event__person"))
    by_them = models.Q(user=models.OuterRef("event__actor"))
    return models.Exists(LegalHold.objects.living().filter(of_them | by_them))


def _kind(going: "models.QuerySet[Any]", moment: str, held: "models.QuerySet[Any]") -> Kind:
    found = going.order_by().aggregate(
        count=models.Count("pk"), oldest=models.Min(moment), newest=models.Max(moment)
    )
    return Kind(**found, held=held.count())
