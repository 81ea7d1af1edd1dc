"""What reviewers make of a conversation: who has opened it and why, who takes it on, its verdict,
its labels and the notes on it.

A conversation without a review is one that nobody has decided about. What was before a decision
stands in the audit log, which tells who took it.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self
from uuid import UUID

from django.db import models
from django.utils import timezone

from chatapp.models.refusals import Refused
from chatapp.models.users import User

if TYPE_CHECKING:
    from chatapp.models.conversations import Conversation

LONGEST_REASON = 500  # characters, as the next two
LONGEST_LABEL = 40
LONGEST_NOTE = 2000
OPEN_FOR = timedelta(minutes=30)
CLAIMED_FOR = timedelta(minutes=60)


class OpeningQuerySet(models.QuerySet["Opening"]):
    def living(self) -> Self:
        return self.filter(ends_at__gt=timezone.now())


class Opening(models.Model):
    """A reviewer may read a conversation for a while, having said why."""

    reviewer = models.ForeignKey(User, models.CASCADE, related_name="openings")
    conversation = models.ForeignKey(
        "chatapp.Conversation", models.CASCADE, related_name="openings"
    )
    reason = models.CharField(max_length=LONGEST_REASON)
    opened_at = models.DateTimeField(auto_now_add=True)
    ends_at = models.DateTimeField()
    # When its reviewer learned whose it is, where the policy hides that.
    revealed_at = models.DateTimeField(null=True)

    objects: ClassVar[Any] = models.Manager.from_queryset(OpeningQuerySet)()

    class Meta:
        indexes = [
            models.Index(
                fields=["conversation", "reviewer", "ends_at"], name="openings_of_a_reviewer"
            )
        ]

    def __str__(self) -> str:
        return f"Opening {self.pk}"

    @classmethod
    def begin(cls, reviewer: User, conversation: "Conversation", reason: str) -> Self:
        ends_at = timezone.now() + OPEN_FOR
        begun = cls(reviewer=reviewer, conversation=conversation, reason=reason, ends_at=ends_at)
        begun.save(force_insert=True)
        return begun

    @classmethod
    def living(cls, reviewer: User, conversation: "Conversation") -> "Opening | None":
        """The one that lasts longest; None where the conversation is to be opened first."""
        found = Opening.objects.living().filter(reviewer=reviewer, conversation=conversation)
        newest: Opening | None = found.order_by("-ends_at").first()
        return newest

    def reveal(self) -> None:
        """For as long as it lasts, and for this conversation alone."""
        self.revealed_at = timezone.now()
        self.save(update_fields=["revealed_at"])


class ReviewLabel(models.Model):
    """One of those that reviewers sort conversations by; an administrator names them."""

    name = models.CharField(max_length=LONGEST_LABEL, unique=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Review(models.Model):
    class Verdict(models.TextChoices):
        FINE = "fine", "Fine"
        MINOR = "minor", "Minor matter"
        SERIOUS = "serious", "Serious matter"
        UNCLEAR = "unclear", "Unclear"

    conversation = models.OneToOneField(
        "chatapp.Conversation", models.CASCADE, primary_key=True, related_name="review"
    )
    verdict = models.CharField(max_length=7, choices=Verdict, blank=True)
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    claimed_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    claimed_until = models.DateTimeField(null=True)
    labels = models.ManyToManyField(ReviewLabel, related_name="reviews")
    # Counts what was done, so that whoever has an older one on the screen is told.
    version = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["verdict"]), models.Index(fields=["claimed_until"])]

    def __str__(self) -> str:
        return f"Review of {self.conversation_id}"

    @classmethod
    def held(cls, conversation: UUID) -> Self:
        """The conversation's, which is made where there is none; nobody else changes it for the
        rest of the transaction."""
        cls.objects.bulk_create([cls(conversation_id=conversation)], ignore_conflicts=True)
        return cls.objects.select_for_update(no_key=True, of=("self",)).get(pk=conversation)

    @property
    def claimant(self) -> User | None:
        """Who is at it now."""
        is_claimed = self.claimed_until and self.claimed_until > timezone.now()
        return self.claimed_by if is_claimed else None

    def claim(self, by: User, called: Callable[[User], str] = str) -> None:
        """Raises `Refused` where somebody else is at it, who is called so."""
        if (present := self.claimant) and present != by:
            raise Refused(f"{called(present)} is at this one until {self.claimed_until:%H:%M} UTC.")
        self._change(claimed_by=by, claimed_until=timezone.now() + CLAIMED_FOR)

    def release(self, by: User) -> None:
        """Raises `Refused` where it is somebody else's."""
        if self.claimant != by:
            raise Refused("This one is not yours to release.")
        self._change(claimed_by=None, claimed_until=None)

    def decide(self, verdict: str, by: User) -> None:
        """No verdict takes the present one back."""
        decided_at = timezone.now() if verdict else None
        self._change(verdict=verdict, decided_by=by if verdict else None, decided_at=decided_at)

    def label(self, labels: Iterable[ReviewLabel]) -> None:
        """These and no others."""
        self.labels.set(labels)
        self._change()

    def note(self, text: str, by: User, message: UUID | None = None) -> "ReviewNote":
        self._change()
        return self.notes.create(text=text, author=by, message_id=message)

    def _change(self, **fields: object) -> None:
        for name, value in fields.items():
            setattr(self, name, value)
        self.version += 1
        self.save(update_fields=[*fields, "version"])


class ReviewNote(models.Model):
    """Between reviewers; it may point at a message."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="notes")
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    message = models.ForeignKey("chatapp.Message", models.SET_NULL, null=True, related_name="+")
    text = models.CharField(max_length=LONGEST_NOTE)
    written_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["written_at", "pk"]

    def __str__(self) -> str:
        return f"Note {self.pk}"
