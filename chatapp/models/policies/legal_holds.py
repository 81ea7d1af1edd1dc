"""Legal holds: they keep a person's data, or one conversation, from being erased by anyone.

Code that erases permanently checks for holds in the same transaction, with the person's row locked.
A hold is set under the same lock, so that one of the two comes first: what is held then stays, and
what is gone then can't be held. Otherwise people use their conversations as before, and may move
them to the trash.
"""

from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.refusals import Refused

MAX_REASON_LENGTH = 500  # characters
LIVING = models.Q(ended_at=None)
UNDER_HOLD = "This is under a legal hold, and can't be erased until the hold is ended."
ERASED_MEANWHILE = "This account has been erased in the meantime. There is nothing to hold."
NOT_THEIRS = "This person has no chat with this ID."
HELD_ALREADY = "There is already a legal hold on this. End that one first."
NO_HOLD = "This hold has already ended."


class UnderLegalHold(Refused):
    """A legal hold keeps this from being erased."""

    def __init__(self) -> None:
        super().__init__(UNDER_HOLD)


def only_ended(collector: Any, field: Any, holds: Any, using: str) -> None:
    """An `on_delete` handler that deletes ended holds along with their target.

    Raises `UnderLegalHold` for an active one, even if the caller forgot to check.
    """
    if holds.filter(LIVING).exists():
        raise UnderLegalHold
    models.CASCADE(collector, field, holds, using)


class LegalHoldQuerySet(models.QuerySet["LegalHold"]):
    def living(self) -> Self:
        return self.filter(LIVING)


class LegalHold(models.Model):
    user = models.ForeignKey(User, only_ended, related_name="legal_holds")
    # None: the hold is on all of the person's data.
    conversation = models.ForeignKey(
        "chatapp.Conversation", only_ended, null=True, blank=True, related_name="legal_holds"
    )
    reason = models.CharField(max_length=MAX_REASON_LENGTH)
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
        """The held conversation, or the person whose data is all held."""
        return self.conversation or self.user

    @classmethod
    @transaction.atomic
    def begin(cls, person: User, conversation: UUID | None, reason: str, by: User) -> Self:
        """Set a hold; None as the conversation holds all of the person's data. Raises `Refused`."""
        if not lock_people([person.pk]):
            raise Refused(ERASED_MEANWHILE)
        if conversation and not person.conversations.filter(pk=conversation).exists():
            raise Refused(NOT_THEIRS)
        if person.legal_holds.living().filter(conversation=conversation).exists():
            raise Refused(HELD_ALREADY)
        hold = cls(user=person, conversation_id=conversation, reason=reason, set_by=by)
        hold.save(force_insert=True)
        return hold

    def end(self, by: User) -> None:
        """End the hold. Raises `Refused` if it has already ended."""
        living = LegalHold.objects.living().filter(pk=self.pk)
        if not living.update(ended_at=timezone.now(), ended_by=by):
            raise Refused(NO_HOLD)


def lock_people(people: list[int]) -> list[int]:
    """Lock these people's rows until the transaction ends, so that nobody sets a hold on them.

    Return the ids of those who exist.
    """
    rows = User.objects.filter(pk__in=people).order_by("pk")
    return list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def refuse_held(person: int, conversation: UUID | None = None) -> None:
    """Raise `UnderLegalHold` if the conversation, or without one anything of the person, is held.

    Call it in the transaction that deletes.
    """
    lock_people([person])
    living = LegalHold.objects.living().filter(user=person)
    if conversation:
        living = living.filter(models.Q(conversation=None) | models.Q(conversation=conversation))
    if living.exists():
        raise UnderLegalHold


def holding(user: str, conversation: str) -> models.Exists:
    """Return a condition: whether a row's conversation is held.

    `user` and `conversation` are the paths from the row to the owner and the conversation.
    """
    matches = models.Q(conversation=None) | models.Q(conversation=models.OuterRef(conversation))
    living = LegalHold.objects.living().filter(matches, user=models.OuterRef(user))
    return models.Exists(living)
