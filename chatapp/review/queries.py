"""Which conversations a reviewer wants to see, the one that was used last first, a page at a time.

Each wish is a subquery of its own, so that the database chooses where to begin: with what is rare,
or with what is newest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from chatapp.models import AuditEvent, Conversation, Feedback, Message, Review, User
from chatapp.models.conversation_querysets import ConversationQuerySet
from chatapp.models.review_policies import is_reviewable
from chatapp.models.tool_names import HasCalled

PAGE = 50
NONE = "none"
MOST_STEPS = 100  # of a history that are shown
MOST_ACTS = 5  # of those that are told to who was late
NOBODY_NOW = "Somebody who has no account any more"
DONE = {
    "conversation.opened": "opened it",
    "review.claimed": "took it on",
    "review.released": "let it go",
    "review.decided": "decided",
    "review.labelled": "labelled it",
    "review.noted": "wrote a note",
}


@dataclass(frozen=True)
class Place:
    """Where a page ended: the next begins with what was used before this one."""

    used: datetime
    pk: UUID

    def __str__(self) -> str:
        return f"{self.used.isoformat()}/{self.pk}"

    @classmethod
    def read(cls, text: str) -> "Place":
        """Raises `ValueError` for what no page has said."""
        used, _, pk = text.partition("/")
        try:
            return cls(datetime.fromisoformat(used).astimezone(UTC), UUID(pk))
        except OverflowError as error:
            raise ValueError("No clock has shown this moment.") from error

    @property
    def is_before(self) -> Q:
        # The first of them alone is what an index is read by.
        return Q(updated_at__lte=self.used) & (Q(updated_at__lt=self.used) | Q(pk__lt=self.pk))

    @property
    def is_after(self) -> Q:
        return Q(updated_at__gte=self.used) & (Q(updated_at__gt=self.used) | Q(pk__gt=self.pk))


@dataclass(frozen=True)
class Asked:
    """What is wanted; "" and None are no wish. What concerns a reply is of one and the same."""

    reviewer: User
    person: User | None = None
    group: int | None = None
    since: date | None = None
    until: date | None = None  # that day is part of it
    model: str = ""
    upstream: int | None = None
    ending: str = ""
    flagged: str = ""  # yes, no
    feedback: str = ""  # up, down, either, none
    tool: str = ""
    cost: int | None = None  # in nano-dollars, at least
    replies: int | None = None  # at least
    label: int | None = None
    verdict: str = ""  # or none
    claim: str = ""  # mine, other, nobody

    def conversations(self) -> QuerySet[Conversation]:
        there = [is_reviewable(), *self._of_conversation(), *self._of_replies(), *self._of_review()]
        return Conversation.objects.filter(*there).order_by("-updated_at", "-id")

    def _of_conversation(self) -> Iterator[Q]:
        if self.person:
            yield Q(user=self.person)
        if self.group is not None:
            members = User.groups.through.objects.filter(group=self.group)
            yield Q(user__in=members.values("user"))
        if self.since:
            yield Q(updated_at__gte=_midnight(self.since))
        if self.until:
            yield Q(updated_at__lt=_midnight(self.until + timedelta(days=1)))

    def _of_replies(self) -> Iterator[Q]:
        replies = replies_of(OuterRef("pk"))
        if wanted := list(self._of_one_reply()):
            yield Q(Exists(replies.filter(*wanted)))
        if self.flagged == "no":
            yield ~Q(Exists(replies.filter(is_flagged=True)))
        if self.feedback == NONE:
            yield ~Q(Exists(replies.filter(feedback__isnull=False)))
        summed = replies.order_by().values("conversation")
        if self.replies is not None:
            count = summed.annotate(count=Count("*"))
            yield Q(Exists(count.filter(count__gte=self.replies)))
        if self.cost is not None:
            cost = summed.annotate(cost=Sum("usage__cost"))
            yield Q(Exists(cost.filter(cost__gte=self.cost)))

    def _of_one_reply(self) -> Iterator[Q | HasCalled]:
        if self.model:
            yield Q(model=self.model)
        if self.upstream is not None:
            yield Q(upstream=self.upstream)
        if self.ending:
            yield Q(ending=self.ending)
        if self.flagged == "yes":
            yield Q(is_flagged=True)
        if self.feedback in Feedback.Rating.values:
            yield Q(feedback__rating=self.feedback)
        if self.feedback == "either":
            yield Q(feedback__isnull=False)
        if self.tool:
            yield HasCalled(self.tool)

    def _of_review(self) -> Iterator[Q]:
        reviews = Review.objects.filter(pk=OuterRef("pk"))
        if self.label is not None:
            yield Q(Exists(reviews.filter(labels=self.label)))
        if self.verdict == NONE:
            yield ~Q(Exists(reviews.exclude(verdict="")))
        elif self.verdict:
            yield Q(Exists(reviews.filter(verdict=self.verdict)))
        claimed = reviews.filter(claimed_by__isnull=False, claimed_until__gt=timezone.now())
        if self.claim == "mine":
            yield Q(Exists(claimed.filter(claimed_by=self.reviewer)))
        if self.claim == "other":
            yield Q(Exists(claimed.exclude(claimed_by=self.reviewer)))
        if self.claim == "nobody":
            yield ~Q(Exists(claimed))


def replies_of(conversations: OuterRef | Sequence[UUID]) -> QuerySet[Message]:
    """What still stands there of what models wrote."""
    of = (
        Q(conversation=conversations)
        if isinstance(conversations, OuterRef)
        else Q(conversation__in=conversations)
    )
    return Message.objects.filter(of, role=Message.Role.ASSISTANT, deleted_at=None)


def page_of(asked: Asked, after: Place | None) -> tuple[list[UUID], Place | None]:
    """The keys of one page, and where the next one begins, if there is one."""
    found = asked.conversations()
    if after:
        found = found.filter(after.is_before)
    places = [Place(used, pk) for pk, used in found.values_list("pk", "updated_at")[: PAGE + 1]]
    shown = places[:PAGE]
    return [one.pk for one in shown], shown[-1] if len(places) > PAGE else None


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, clock_time.min))


def reviewable() -> ConversationQuerySet:
    return Conversation.objects.filter(is_reviewable())


def neighbours_of(conversation: Conversation) -> tuple[UUID | None, UUID | None]:
    """The one before which this was used, and the one after it."""
    place = Place(conversation.updated_at, conversation.pk)
    keys = Conversation.objects.filter(is_reviewable()).values_list("pk", flat=True)
    older = keys.filter(place.is_before).order_by("-updated_at", "-id").first()
    return older, keys.filter(place.is_after).order_by("updated_at", "id").first()


@dataclass(frozen=True)
class Step:
    """Something that was done about a conversation, as the audit log has it."""

    at: datetime
    who: str
    words: str
    reason: str  # of an opening
    changes: Sequence[str]


def history_of(conversation: Conversation) -> list[Step]:
    """The newest first."""
    events = list(_events_of(conversation).select_related("detail")[:MOST_STEPS])
    names = User.objects.in_bulk({one.actor for one in events if one.actor is not None})
    return [_step(one, names.get(one.actor)) for one in events]


def last_acts_of(conversation: Conversation, count: int) -> str:
    """So many of them, the newest first, in words: who did what, and when."""
    acts = _events_of(conversation).exclude(action="conversation.opened")
    events = list(acts[: min(count, MOST_ACTS)])
    names = User.objects.in_bulk({one.actor for one in events if one.actor is not None})
    return ", ".join(
        f"{names.get(one.actor or 0, NOBODY_NOW)} {DONE[one.action]} at {one.at:%H:%M} UTC"
        for one in events
    )


def _events_of(conversation: Conversation) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(
        target_type="conversation", target=str(conversation.pk), action__in=DONE
    ).order_by("-sequence")


def _step(event: AuditEvent, who: User | None) -> Step:
    detail = getattr(event, "detail", None)
    said = detail.said if detail else {}
    name = who.get_username() if who else NOBODY_NOW
    changes = [
        f"{_listed(before)} → {_listed(said.get('after', {}).get(field))}"
        for field, before in said.get("before", {}).items()
    ]
    return Step(event.at, name, DONE[event.action], str(said.get("reason", "")), changes)


def _listed(value: str | list[str]) -> str:
    """A verdict, or labels, as a reviewer reads them."""
    words = value if isinstance(value, list) else [dict(Review.Verdict.choices).get(value, "")]
    return ", ".join(filter(None, words)) or "none"
