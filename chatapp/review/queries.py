"""Which conversations a reviewer wants to see, the one that was used last first, a page at a time.

Each wish is a subquery of its own, so that the database chooses where to begin: with what is rare,
or with what is newest.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from itertools import islice
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, FilteredRelation, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from chatapp.models import (
    AuditEvent,
    Conversation,
    ConversationFact,
    Feedback,
    Message,
    Review,
    ReviewSearch,
    User,
)
from chatapp.models.conversation_facts import (
    day_of,
    of_ending,
    of_feedback,
    of_model,
    of_tool,
    of_upstream,
)
from chatapp.models.conversation_querysets import ConversationQuerySet
from chatapp.models.flags import flagged_by
from chatapp.models.review_finds import members_of
from chatapp.models.review_policies import hides_names, is_reviewable
from chatapp.models.tool_names import HasCalled
from chatapp.review.names import Names
from chatapp.upstream.wire.reply import Ending

PAGE = 50
LOOKED_AT = PAGE + PAGE // 4
MORE = 4  # times as many are looked at where too few were found
NONE = "none"
NEWEST: tuple[str, ...] = "-updated_at", "-id"
MOST_COUNTED = 5_000  # conversations, to know of which there are fewer
MOST_STEPS = 100  # of a history that are shown
MOST_ACTS = 5  # of those that are told to who was late
READINGS = ("conversation.opened", "name.revealed")
DONE = {
    "conversation.opened": "opened it",
    "name.revealed": "learned whose it is",
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
    by_pseudonym: bool = False  # the person
    group: int | None = None
    since: date | None = None
    until: date | None = None  # that day is part of it
    model: str = ""
    upstream: int | None = None
    ending: str = ""
    flagged: str = ""  # a source, any, none: see `flags`
    search: ReviewSearch | None = None
    feedback: str = ""  # up, down, either, none
    tool: str = ""
    cost: int | None = None  # in nano-dollars, at least
    replies: int | None = None  # at least
    label: int | None = None
    verdict: str = ""  # or none
    claim: str = ""  # mine, other, nobody
    sample: int | None = None

    def conversations(self) -> QuerySet[Conversation]:
        """The one that was used last first."""
        wanted = list(self._of_one_reply())
        proven = [Q(Exists(replies_of(OuterRef("pk")).filter(*wanted)))] if wanted else []
        facts, days, _ = _rarest_first(self._facts, self._days())
        return self._likely(facts, days).filter(*proven)

    def places(self, after: Place | None = None) -> Iterator[Place]:
        """The same, of those that were used before a place, for whoever wants the first of them:
        only of as many it is asked whether such a reply stands there, which costs most."""
        facts, days, are_rare = _rarest_first(self._facts, self._days(after))
        count = LOOKED_AT
        if len(facts) > 1:  # seldom of one reply; the rare are all found before any is given
            count *= MORE * MORE if are_rare else MORE
        while True:
            likely = self._likely(facts, days, after).values_list("pk", "updated_at")[:count]
            places = [Place(used, pk) for pk, used in likely]
            for some in _more_each_time(places):
                proven = self._proven([one.pk for one in some])
                yield from (one for one in some if one.pk in proven)
            if len(places) < count:
                return
            after, count = places[-1], MORE * count
            days = days[0], day_of(after.used)

    def _proven(self, keys: Collection[UUID]) -> Collection[UUID]:
        wanted = list(self._of_one_reply())
        if not wanted:
            return keys
        found = replies_of(keys).filter(*wanted)
        return set(found.order_by().values_list("conversation_id", flat=True))

    def _likely(
        self, facts: Sequence[str], days: tuple[date, date], after: Place | None = None
    ) -> QuerySet[Conversation]:
        """All that are wanted, and some of whose replies none is of that kind, or none any more."""
        found = Conversation.objects.alias(
            **{
                f"fact{number}": FilteredRelation("facts", condition=Q(facts__fact=fact))
                for number, fact in enumerate(facts)
            }
        )
        there = [
            *(Q((f"fact{number}__used_on__range", days)) for number, _ in enumerate(facts)),
            is_reviewable(),
            *self._of_conversation(),
            *self._of_replies(),
            *self._of_review(),
        ]
        if self.flagged:
            there.append(flagged_by(self.flagged))
        if self.sample is not None:
            there.append(Q(pk__in=members_of(self.sample)))
        if self.search:
            person = self.person.pk if self.person else None
            there.append(Q(pk__in=self.search.found(person)))
        if after:
            there.append(after.is_before)
        newest = NEWEST
        # By the day that an index has; a person's own are few, and have an index in this order.
        if facts and not self.person:
            newest = ("-fact0__used_on", *NEWEST)
        elif self._is_summed and not self.person:
            there.append(Q(sums__used_on__range=days))
            newest = ("-sums__used_on", *NEWEST)
        return found.filter(*there).order_by(*newest)

    def _days(self, after: Place | None = None) -> tuple[date, date]:
        """Between which it was used, at most."""
        since = day_of(_midnight(self.since)) if self.since else date.min
        until = day_of(_midnight(self.until + timedelta(days=1))) if self.until else date.max
        return since, min(until, day_of(after.used)) if after else until

    @property
    def _facts(self) -> list[str]:
        """What is known to be so of a reply wherever such a reply is found."""
        found = []
        if self.feedback in Feedback.Rating.values or self.feedback == "either":
            found.append(of_feedback("" if self.feedback == "either" else self.feedback))
        if self.ending not in ("", Ending.COMPLETE):
            found.append(of_ending(self.ending))
        if self.tool:
            found.append(of_tool(self.tool))
        if self.model:
            found.append(of_model(self.model))
        if self.upstream is not None:
            found.append(of_upstream(self.upstream))
        return found

    @property
    def _is_summed(self) -> bool:
        return self.replies is not None or self.cost is not None

    def _of_conversation(self) -> Iterator[Q]:
        if self.person:
            yield Q(user=self.person)
            yield hides_names() if self.by_pseudonym else self._tells_names
        if self.group is not None:  # of which one alone may be
            yield self._tells_names
            members = User.groups.through.objects.filter(group=self.group)
            yield Q(user__in=members.values("user"))
        if self.since:
            yield Q(updated_at__gte=_midnight(self.since))
        if self.until:
            yield Q(updated_at__lt=_midnight(self.until + timedelta(days=1)))

    @property
    def _tells_names(self) -> Q:
        return ~hides_names() | Q(user=self.reviewer)

    def _of_replies(self) -> Iterator[Q]:
        if self.feedback == NONE:
            yield ~Q(Exists(replies_of(OuterRef("pk")).filter(feedback__isnull=False)))
        if self.replies is not None:
            yield Q(sums__replies__gte=self.replies)
        if self.cost is not None:
            yield Q(sums__cost__gte=self.cost)

    def _of_one_reply(self) -> Iterator[Q | HasCalled]:
        if self.model:
            yield Q(model=self.model)
        if self.upstream is not None:
            yield Q(upstream=self.upstream)
        if self.ending:
            yield Q(ending=self.ending)
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


def _more_each_time(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    begin, count = 0, LOOKED_AT
    while begin < len(places):
        yield places[begin : begin + count]
        begin, count = begin + count, MORE * count


def replies_of(conversations: OuterRef | Collection[UUID]) -> QuerySet[Message]:
    """What still stands there of what models wrote."""
    of = (
        Q(conversation=conversations)
        if isinstance(conversations, OuterRef)
        else Q(conversation__in=conversations)
    )
    return Message.objects.filter(of, role=Message.Role.ASSISTANT, deleted_at=None)


def _rarest_first(
    facts: Sequence[str], days: tuple[date, date]
) -> tuple[Sequence[str], tuple[date, date], bool]:
    """And the days between which all of them are found, and whether the rarest is rare."""
    if len(facts) < 2:
        return facts, days, False
    since, until = days
    counts = {}
    for fact in facts:
        found = ConversationFact.objects.filter(fact=fact, used_on__range=days)
        ends = found.aggregate(since=Min("used_on"), until=Max("used_on"))
        since, until = max(since, ends["since"] or date.max), min(until, ends["until"] or date.min)
        counts[fact] = found[:MOST_COUNTED].count()
    return (
        sorted(facts, key=counts.__getitem__),
        (since, until),
        min(counts.values()) < MOST_COUNTED,
    )


def page_of(asked: Asked, after: Place | None) -> tuple[list[UUID], Place | None]:
    """The keys of one page, and where the next one begins, if there is one."""
    with _not_compiled():
        places = list(islice(asked.places(after), PAGE + 1))
    shown = places[:PAGE]
    return [one.pk for one in shown], shown[-1] if len(places) > PAGE else None


@contextmanager
def _not_compiled() -> Iterator[None]:
    """PostgreSQL compiles what it takes for long, and takes these for that: each has a limit."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL jit = off")
        yield


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


def history_of(conversation: Conversation, names: Names) -> list[Step]:
    """The newest first, and one more than are shown where there are more."""
    events = list(_events_of(conversation).select_related("detail")[: MOST_STEPS + 1])
    actors = User.objects.in_bulk({one.actor for one in events if one.actor is not None})
    return [_step(one, names.reader(actors.get(one.actor))) for one in events]


def last_acts_of(conversation: Conversation, names: Names, count: int) -> str:
    """So many of them, the newest first, in words: who did what, and when."""
    acts = _events_of(conversation).exclude(action__in=READINGS)
    events = list(acts[: min(count, MOST_ACTS)])
    actors = User.objects.in_bulk({one.actor for one in events if one.actor is not None})
    return ", ".join(
        f"{names.reader(actors.get(one.actor or 0))} {DONE[one.action]} at {one.at:%H:%M} UTC"
        for one in events
    )


def _events_of(conversation: Conversation) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(
        target_type="conversation", target=str(conversation.pk), action__in=DONE
    ).order_by("-sequence")


def _step(event: AuditEvent, who: str) -> Step:
    detail = getattr(event, "detail", None)
    said = detail.said if detail else {}
    changes = [
        f"{_listed(before)} → {_listed(said.get('after', {}).get(field))}"
        for field, before in said.get("before", {}).items()
    ]
    return Step(event.at, who, DONE[event.action], str(said.get("reason", "")), changes)


def _listed(value: str | list[str]) -> str:
    """A verdict, or labels, as a reviewer reads them."""
    words = value if isinstance(value, list) else [dict(Review.Verdict.choices).get(value, "")]
    return ", ".join(filter(None, words)) or "none"
