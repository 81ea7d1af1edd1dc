"""The things that reviewers save: views, which are filters to run again, and random samples."""

from collections.abc import Collection, Mapping
from decimal import ROUND_CEILING, Decimal
from random import SystemRandom
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import IntegrityError, models, transaction

from chatapp.models.accounts.users import User
from chatapp.models.refusals import Refused

MAX_NAME_LENGTH = 60  # characters
MAX_DRAWN = 10_000  # conversations in a sample
AT_ONCE = 1000  # rows


class ReviewView(models.Model):
    """A named filter, for its maker or for all reviewers."""

    maker = models.ForeignKey(User, models.CASCADE, related_name="review_views")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    filters = models.JSONField(db_column="asked")  # by field, as it was typed; a person by username
    is_shared = models.BooleanField("for all reviewers", default=False)

    objects: ClassVar[Any] = models.Manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["maker", "name"], name="review_view_name")]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def for_user(cls, reviewer: User) -> "models.QuerySet[ReviewView]":
        visible: models.QuerySet[ReviewView] = cls.objects.filter(
            models.Q(maker=reviewer) | models.Q(is_shared=True)
        )
        return visible.select_related("maker")


class ReviewSample(models.Model):
    """Conversations drawn at random from the results of a filter, each with the same probability.

    The sample stays the same whatever the filter finds later.
    """

    name = models.CharField(max_length=MAX_NAME_LENGTH, unique=True)
    maker = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    filters = models.JSONField(db_column="asked")  # by field, as it was typed; a person by username
    share = models.DecimalField(max_digits=4, decimal_places=1)  # per cent
    size = models.PositiveIntegerField()  # when it was drawn
    drawn_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[Any] = models.Manager()

    class Meta:
        ordering = ["-drawn_at"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    @transaction.atomic
    def draw(
        cls,
        name: str,
        share: Decimal,
        conversations: "models.QuerySet[Any]",
        by: User,
        filters: Mapping[str, str],
    ) -> Self:
        """Draw a sample of `share` per cent of the conversations found, at least one.

        Raises `Refused`, and `IntegrityError` if one of them was deleted meanwhile; that may
        happen only when the transaction ends.
        """
        keys = list(conversations.values_list("pk", flat=True))
        size = int((len(keys) * share / 100).to_integral_value(ROUND_CEILING))
        if not size:
            raise Refused("No chats match, so there is nothing to draw from.")
        if size > MAX_DRAWN:
            raise Refused(
                f"That would be {size:,} chats, and a sample has at most {MAX_DRAWN:,}. "
                "Choose a smaller share, or narrow the filter."
            )
        drawn = cls(name=name, maker=by, filters=dict(filters), share=share, size=size)
        try:
            with transaction.atomic():
                drawn.save(force_insert=True)
        except IntegrityError:
            raise Refused("A sample with this name already exists. Choose another name.") from None
        members = [
            SampleMember(sample=drawn, conversation_id=key)
            for key in SystemRandom().sample(keys, size)
        ]
        SampleMember.objects.bulk_create(members, batch_size=AT_ONCE)
        return drawn

    @property
    def progress(self) -> tuple[int, int]:
        """The number of its conversations that have a verdict, and of those that still exist."""
        decided = models.Count("pk", filter=models.Q(conversation__review__verdict__gt=""))
        existing = self.members.exclude(conversation__trashed_at__isnull=False)
        counts = existing.aggregate(all=models.Count("pk"), decided=decided)
        return counts["decided"], counts["all"]


class SampleMember(models.Model):
    sample = models.ForeignKey(ReviewSample, models.CASCADE, related_name="members", db_index=False)
    conversation = models.ForeignKey("chatapp.Conversation", models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sample", "conversation"], name="drawn_once")
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} of {self.sample_id}"


def find_member_keys(sample: int) -> "models.QuerySet[SampleMember, UUID]":
    return SampleMember.objects.filter(sample=sample).values_list("conversation", flat=True)


def forget_name(username: str) -> None:
    """Remove a person who is being erased: delete views that filter by them, clear those samples'
    filters.

    Call it while the account exists: earlier versions stored what was typed, which may be the
    email address.
    """
    person = User.objects.filter(username=username).first()
    names = {login.casefold() for login in (username, person.email if person else "") if login}
    ReviewView.objects.filter(pk__in=_find_by_person(names, ReviewView)).delete()
    ReviewSample.objects.filter(pk__in=_find_by_person(names, ReviewSample)).update(filters={})


def rename(before: str, after: str) -> None:
    """Follow a changed username, so that filters by that person still work and are still found
    when the person is erased."""
    for model in (ReviewView, ReviewSample):
        rows = model.objects.filter(pk__in=_find_by_person([before.casefold()], model))
        for row in rows.select_for_update():
            row.filters["person"] = after
            row.save(update_fields=["filters"])


def _find_by_person(names: Collection[str], model: type[ReviewView | ReviewSample]) -> list[int]:
    """Return the keys of those whose typed person is one of these names, ignoring case and
    surrounding spaces."""
    of_people = model.objects.filter(filters__has_key="person").values_list("pk", "filters__person")
    return [pk for pk, typed in of_people if str(typed).strip().casefold() in names]
