"""Temporary conversations: in no list and no search, and gone with the last tab that has them open.

Which workers have such tabs, rows say: a hold each. The worker that takes away the last one erases
the conversation. A worker that died holds nothing, since it is no process that is known any more;
what it left is swept up by the others, once nobody has come back to it for some minutes. What a
legal hold keeps is erased by the first sweep after that has ended.
"""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from django.db import models, transaction
from django.db.models.functions import Now

from chatapp.models.conversations import Conversation
from chatapp.models.legal_holds import Held
from chatapp.models.processes import Process
from chatapp.models.shelves import is_held

LEFT_FOR = timedelta(minutes=5)  # until what no worker holds is erased

Erased = tuple[int, UUID]  # whose it was, and the conversation


class Hold(models.Model):
    """A worker has tabs that have a temporary conversation open."""

    # No constraint, since a process of the version before erases conversations without their holds.
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_constraint=False, related_name="holds"
    )
    process = models.UUIDField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "process"], name="one_hold_a_process")
        ]

    def __str__(self) -> str:
        return f"{self.process} holds {self.conversation_id}"


def hold(conversation: UUID, process: UUID) -> None:
    """Nothing comes of it where the conversation is gone, or is not temporary any more."""
    with transaction.atomic():
        if _locked(conversation):
            Hold.objects.get_or_create(conversation_id=conversation, process=process)


def let_go(conversation: UUID, process: UUID) -> Erased | None:
    """What was erased, since no other worker holds it, nor does a legal hold."""
    with transaction.atomic():
        found = _locked(conversation)
        Hold.objects.filter(conversation=conversation, process=process).delete()
        if found is None or _living_holds().filter(conversation=conversation).exists():
            return None
    return _erased(found)


def sweep(process: UUID, held: Collection[UUID]) -> list[Erased]:
    """Erases what no worker holds, nor has held for a while. This one holds no more than `held`."""
    Hold.objects.filter(process=process).exclude(conversation__in=held).delete()
    left = Conversation.objects.filter(is_temporary=True, updated_at__lt=Now() - LEFT_FOR)
    held_by_others = _living_holds().filter(conversation=models.OuterRef("pk"))
    mine = models.Q(pk__in=held)
    lost = left.exclude(mine).exclude(models.Exists(held_by_others)).exclude(is_held())
    return [erased for one in lost if (erased := _erased(one))]


def keep(conversation: Conversation) -> None:
    """Makes it an ordinary one, which is called by its first words; one that is, stays as it is."""
    if not conversation.is_temporary:
        return
    first = conversation.messages.filter(role="user", parent=None, deleted_at=None).first()
    if first:
        conversation.title = Conversation.title_of(first.content)
    conversation.is_temporary = False
    with transaction.atomic():
        conversation.save(update_fields=["title", "is_temporary"])
        conversation.holds.all().delete()


def _locked(conversation: UUID) -> Conversation | None:
    """Of two workers one waits for what the other does with it."""
    temporary = Conversation.objects.filter(pk=conversation, is_temporary=True)
    return temporary.select_for_update().first()


def _living_holds() -> "models.QuerySet[Hold]":
    alive = Process.objects.filter(pk=models.OuterRef("process"))
    return Hold.objects.filter(models.Exists(alive))


def _erased(conversation: Conversation) -> Erased | None:
    erased = conversation.user_id, conversation.pk
    try:
        conversation.erase()
    except Held:
        return None
    return erased
