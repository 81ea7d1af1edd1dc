"""Legal holds: what must be kept, of a person or of one conversation, whoever wants it to be gone.

Whatever deletes for good asks here in the transaction in which it deletes, with the person's row
locked. A hold is set with the same lock, so that of the two one comes first: what is held by then
stays, and what is gone by then is nothing to hold any more. What people do with their own
conversations but for that, the trash among it, is as it was.
"""

from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.refusals import Refused
from chatapp.models.users import User

LONGEST_REASON = 500  # characters
LIVING = models.Q(ended_at=None)
KEPT = "This is kept because of a legal hold, and can't be erased until that is ended."
ERASED_MEANWHILE = "This account was erased meanwhile. There is nothing to hold."
NOT_THEIRS = "This person has no conversation of this id."
HELD_ALREADY = "There is a legal hold on this already. End that one first."
NO_HOLD = "This hold has ended already."


class Held(Refused):
    """What is to be erased must be kept."""

    def __init__(self) -> None:
        super().__init__(KEPT)


def only_ended(collector: Any, field: Any, holds: Any, using: str) -> None:
    """What `on_delete` does: a hold that has ended goes along. One that has not keeps what it is of
    also from what never asked; raises `Held`."""
    if holds.filter(LIVING).exists():
        raise Held
    models.CASCADE(collector, field, holds, using)


class LegalHoldQuerySet(models.QuerySet["LegalHold"]):
    def living(self) -> Self:
        return self.filter(LIVING)


class LegalHold(models.Model):
    user = models.ForeignKey(User, only_ended, related_name="legal_holds")
    # Without one, all that the person has.
    conversation = models.ForeignKey(
        "chatapp.Conversation", only_ended, null=True, blank=True, related_name="legal_holds"
    )
    reason = models.CharField(max_length=LONGEST_REASON)
    set_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    set_at = models.DateTimeField(auto_now_add=True)
    ended_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)

    objects: ClassVar[Any] = models.Manager.from_queryset(LegalHoldQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user"],
                condition=LIVING & models.Q(conversation=None),
                name="one_legal_hold_a_person",
            ),
            models.UniqueConstraint(
                fields=["conversation"], condition=LIVING, name="one_legal_hold_a_conversation"
            ),
        ]

    def __str__(self) -> str:
        return f"Legal hold {self.pk}"

    @property
    def target(self) -> models.Model:
        """What is held: a person, or one conversation."""
        return self.conversation or self.user

    @classmethod
    @transaction.atomic
    def begin(cls, person: User, conversation: UUID | None, reason: str, by: User) -> Self:
        """Raises `Refused`, also where the conversation is not the person's."""
        if not lock([person.pk]):
            raise Refused(ERASED_MEANWHILE)
        if conversation and not person.conversations.filter(pk=conversation).exists():
            raise Refused(NOT_THEIRS)
        if person.legal_holds.living().filter(conversation=conversation).exists():
            raise Refused(HELD_ALREADY)
        held = cls(user=person, conversation_id=conversation, reason=reason, set_by=by)
        held.save(force_insert=True)
        return held

    def end(self, by: User) -> None:
        """Raises `Refused` where somebody else was quicker."""
        living = LegalHold.objects.living().filter(pk=self.pk)
        if not living.update(ended_at=timezone.now(), ended_by=by):
            raise Refused(NO_HOLD)


def lock(people: list[int]) -> list[int]:
    """Nobody sets a hold on what is theirs until the transaction ends; returns who is there."""
    rows = User.objects.filter(pk__in=people).order_by("pk")
    return list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def refuse_held(person: int, conversation: UUID | None = None) -> None:
    """Raises `Held` where this conversation must be kept, or without one anything of the person's;
    call it in the transaction that deletes."""
    lock([person])
    living = LegalHold.objects.living().filter(user=person)
    if conversation:
        living = living.filter(models.Q(conversation=None) | models.Q(conversation=conversation))
    if living.exists():
        raise Held


def holding(user: str, conversation: str) -> models.Exists:
    """Whether a row's conversation is held, which with its owner is found by these names."""
    of_it = models.Q(conversation=None) | models.Q(conversation=models.OuterRef(conversation))
    living = LegalHold.objects.living().filter(of_it, user=models.OuterRef(user))
    return models.Exists(living)
