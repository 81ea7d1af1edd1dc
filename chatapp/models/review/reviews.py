"""Reviews of a conversation: who opened it and why, who claimed it, verdict, labels and notes.

A conversation without a `Review` is one that nobody has decided about. The audit log keeps earlier
decisions and who made them.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.refusals import Refused

MAX_REASON_LENGTH = 500  # characters, as the next two
MAX_LABEL_LENGTH = 40
MAX_NOTE_LENGTH = 2000
OPEN_FOR = timedelta(minutes=30)
CLAIMED_FOR = timedelta(minutes=60)


class OpeningQuerySet(models.QuerySet["Opening"]):
    def living(self) -> Self:
        return self.filter(ends_at__gt=timezone.now())


class Opening(models.Model):
    """A reviewer's permission to read a conversation for a while, with the stated reason."""

    reviewer = models.ForeignKey(User, models.CASCADE, related_name="openings")
    conversation = models.ForeignKey(
        "chatapp.Conversation", models.CASCADE, related_name="openings"
    )
    reason = models.CharField(max_length=MAX_REASON_LENGTH)
    opened_at = models.DateTimeField(auto_now_add=True)
    ends_at = models.DateTimeField()
    # When the reviewer was shown the owner's name, if the policy hides it.
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
    def begin(cls, reviewer: User, conversation: Conversation, reason: str) -> Self:
        ends_at = timezone.now() + OPEN_FOR
        opening = cls(reviewer=reviewer, conversation=conversation, reason=reason, ends_at=ends_at)
        opening.save(force_insert=True)
        return opening

    @classmethod
    def living(cls, reviewer: User, conversation: Conversation) -> "Opening | None":
        """Return the one that lasts longest; None if the conversation has to be opened first."""
        openings = Opening.objects.living().filter(reviewer=reviewer, conversation=conversation)
        newest: Opening | None = openings.order_by("-ends_at").first()
        return newest

    @classmethod
    def opened_among(cls, keys: Collection[UUID], reviewer: User) -> set[UUID]:
        """Return those of the conversations that the reviewer has ever opened."""
        openings = cls.objects.filter(conversation__in=keys, reviewer=reviewer)
        return set(openings.values_list("conversation", flat=True))

    def reveal(self) -> None:
        """Show the owner's name in this conversation while the opening lasts."""
        self.revealed_at = timezone.now()
        self.save(update_fields=["revealed_at"])


class ReviewLabel(models.Model):
    """A label for sorting conversations, named by an administrator."""

    name = models.CharField(max_length=MAX_LABEL_LENGTH, unique=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Review(models.Model):
    class Verdict(models.TextChoices):
        FINE = "fine", "Fine"
        MINOR = "minor", "Minor issue"
        SERIOUS = "serious", "Serious issue"
        UNCLEAR = "unclear", "Unclear"

    conversation = models.OneToOneField(
        "chatapp.Conversation", models.CASCADE, primary_key=True, related_name="review"
    )
    verdict = models.CharField(max_length=7, choices=Verdict, blank=True)
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    # Whether the verdict was given by someone who had never opened the conversation.
    decided_unopened = models.BooleanField(default=False, db_default=False)
    claimed_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    claimed_until = models.DateTimeField(null=True)
    labels = models.ManyToManyField(ReviewLabel, related_name="reviews")
    # Counts changes, so that a reviewer with an older version on the screen is told.
    version = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["verdict"]), models.Index(fields=["claimed_until"])]

    def __str__(self) -> str:
        return f"Review of {self.conversation_id}"

    @classmethod
    def get_for_update(cls, conversation: UUID) -> Self:
        """Return the conversation's review, created if missing, locked until the transaction
        ends."""
        cls.objects.bulk_create([cls(conversation_id=conversation)], ignore_conflicts=True)
        return cls.objects.select_for_update(no_key=True, of=("self",)).get(pk=conversation)

    @property
    def claimant(self) -> User | None:
        """The reviewer who has claimed it now."""
        is_claimed = self.claimed_until and self.claimed_until > timezone.now()
        return self.claimed_by if is_claimed else None

    def claim(self, by: User, called: Callable[[User], str] = str) -> None:
        """Claim it for a reviewer. Raises `Refused` if somebody else has; `called` names them."""
        if (present := self.claimant) and present != by:
            raise Refused(
                f"{called(present)} has claimed this chat until {self.claimed_until:%H:%M} UTC."
            )
        self._change(claimed_by=by, claimed_until=timezone.now() + CLAIMED_FOR)

    def release(self, by: User) -> None:
        """Give up the claim. Raises `Refused` if it is somebody else's."""
        if self.claimant != by:
            raise Refused("You haven't claimed this chat.")
        self._change(claimed_by=None, claimed_until=None)

    def decide(self, verdict: str, by: User) -> None:
        """Set the verdict; an empty one withdraws it."""
        self._change(
            verdict=verdict,
            decided_by=by if verdict else None,
            decided_at=timezone.now() if verdict else None,
            decided_unopened=bool(verdict) and not Opening.opened_among([self.conversation_id], by),
        )

    def label(self, labels: Iterable[ReviewLabel]) -> None:
        """Replace the labels with these."""
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
    """A note between reviewers, optionally about one message."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="notes")
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    message = models.ForeignKey("chatapp.Message", models.SET_NULL, null=True, related_name="+")
    text = models.CharField(max_length=MAX_NOTE_LENGTH)
    written_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["written_at", "pk"]

    def __str__(self) -> str:
        return f"Note {self.pk}"
