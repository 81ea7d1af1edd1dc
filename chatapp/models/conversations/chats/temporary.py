"""Temporary conversations: never listed or searchable, and erased when their last tab closes.

A `TemporaryHold` row records that a worker has tabs with the conversation open. The worker that
deletes the last hold erases the conversation. The holds of a dead worker don't count: other workers
erase what it left, if nobody has opened it again for some minutes. A conversation under a legal
hold is erased by the first sweep after that hold has ended.
"""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from django.db import models, transaction
from django.db.models.functions import Now

from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.folders import is_under_legal_hold
from chatapp.models.platform.processes import Process
from chatapp.models.policies.legal_holds import UnderLegalHold

ABANDONED_AFTER = timedelta(minutes=5)  # until a conversation that no worker holds is erased

ErasedChat = tuple[int, UUID]  # (owner, conversation)


class TemporaryHold(models.Model):
    """Records that a worker has tabs with a temporary conversation open."""

    # No constraint: a process of the previous version erases conversations without their holds.
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_constraint=False, related_name="holds"
    )
    process = models.UUIDField()

    class Meta:
        db_table = "chatapp_hold"
        constraints = [
            models.UniqueConstraint(fields=["conversation", "process"], name="one_hold_a_process")
        ]

    def __str__(self) -> str:
        return f"{self.process} holds {self.conversation_id}"


def add_hold(conversation: UUID, process: UUID) -> None:
    """Add a hold. Does nothing if the conversation is gone or is no longer temporary."""
    with transaction.atomic():
        if _lock_temporary(conversation):
            TemporaryHold.objects.get_or_create(conversation_id=conversation, process=process)


def release_hold(conversation: UUID, process: UUID) -> ErasedChat | None:
    """Delete a hold, and erase the conversation unless a worker or a legal hold keeps it.

    Returns what was erased, or None.
    """
    with transaction.atomic():
        locked = _lock_temporary(conversation)
        TemporaryHold.objects.filter(conversation=conversation, process=process).delete()
        if locked is None or _living_holds().filter(conversation=conversation).exists():
            return None
    return _erase(locked)


def sweep(process: UUID, held_ids: Collection[UUID]) -> list[ErasedChat]:
    """Erase what no worker holds or has held for a while. This worker holds only `held_ids`."""
    TemporaryHold.objects.filter(process=process).exclude(conversation__in=held_ids).delete()
    left = Conversation.objects.filter(is_temporary=True, updated_at__lt=Now() - ABANDONED_AFTER)
    held_by_others = _living_holds().filter(conversation=models.OuterRef("pk"))
    mine = models.Q(pk__in=held_ids)
    lost = left.exclude(mine).exclude(models.Exists(held_by_others)).exclude(is_under_legal_hold())
    return [erased for conversation in lost if (erased := _erase(conversation))]


def make_permanent(conversation: Conversation) -> None:
    """Make it an ordinary conversation, titled by its first prompt. Does nothing if it is one."""
    if not conversation.is_temporary:
        return
    first = conversation.messages.filter(role="user", parent=None, deleted_at=None).first()
    if first:
        file = first.attachments.first()
        conversation.title = Conversation.build_title(first.content or (file.name if file else ""))
    conversation.is_temporary = False
    with transaction.atomic():
        conversation.save(update_fields=["title", "is_temporary"])
        conversation.holds.all().delete()


def _lock_temporary(conversation: UUID) -> Conversation | None:
    """Return it locked, so that two workers act on it one after the other."""
    temporary = Conversation.objects.filter(pk=conversation, is_temporary=True)
    return temporary.select_for_update().first()


def _living_holds() -> "models.QuerySet[TemporaryHold]":
    alive = Process.objects.filter(pk=models.OuterRef("process"))
    return TemporaryHold.objects.filter(models.Exists(alive))


def _erase(conversation: Conversation) -> ErasedChat | None:
    erased = conversation.user_id, conversation.pk
    try:
        conversation.erase()
    except UnderLegalHold:
        return None
    return erased
