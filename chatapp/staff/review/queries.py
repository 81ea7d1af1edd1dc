"""Which conversations a reviewer wants to see, the one that was used last first, a page at a time.

Each wish is a subquery of its own, so that the database chooses where to begin: with what is rare,
or with what is newest.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from functools import cached_property
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, Expression, F, FilteredRelation, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatapp.models import (
    Conversation,
    ConversationFact,
    Feedback,
    Message,
    Review,
    ReviewSearch,
    User,
    flags,
)
from chatapp.models.among import IsAmong, Keys
from chatapp.models.conversation_facts import (
    day_of,
    of_category,
    of_ending,
    of_feedback,
    of_flag,
    of_model,
    of_tool,
    of_upstream,
    spreads_of,
)
from chatapp.models.conversation_querysets import ConversationQuerySet
from chatapp.models.review_finds import members_of
from chatapp.models.review_policies import asks_for_flags, hides_names, is_reviewable, tells_names
from chatapp.models.statements import Values
from chatapp.models.tool_names import HasCalled
from chatapp.staff.review.places import Place
from chatapp.upstream.wire.reply import Ending

PAGE = 50
LOOKED_AT = PAGE + PAGE // 4
FEW = 8  # that are looked at for one
FEWER = 4  # of as many that may be wanted one is, by a guess
NONE = "none"
MOST_COUNTED = 5_000  # conversations; what so many have is common
_FOR_FEW_ROWS = (
    "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0;"
    " SET LOCAL enable_seqscan = off"
)


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
    category: str = ""  # of moderation
    search: ReviewSearch | None = None
    feedback: str = ""  # up, down, either, none
    tool: str = ""
    cost: int | None = None  # in nano-dollars, at least
    replies: int | None = None  # at least
    characters: int | None = None  # at least
    label: int | None = None
    verdict: str = ""  # or none
    claim: str = ""  # mine, other, nobody
    sample: int | None = None

    def conversations(self) -> QuerySet[Conversation]:
        """The one that was used last first."""
        wanted = list(self._of_one_reply())
        proven = [Q(Exists(replies_of(OuterRef("pk")).filter(*wanted)))] if wanted else []
        facts, days, _ = _rarest_first(self._facts, self._days())
        return self._likely(facts, days).filter(is_reviewable(), *self._of_flags(), *proven)

    def places(self, after: Place | None, count: int, *, upwards: bool = False) -> Iterator[Place]:
        """The same, of those that were used before a place, for whoever wants the first of them:
        only of as many it is asked whether such a reply stands there and what flags it, which costs
        most. `upwards` those that were used after it, the nearest first."""
        facts, days, are_common = _rarest_first(self._facts, self._days(after, upwards))
        if len(facts) > 1:  # seldom of one reply; the rare are all found before any is given
            count *= FEWER if are_common else FEWER * FEWER
        while True:
            nearest = _nearest(facts[0], days, FEWER * count, upwards) if are_common else days
            likely = self._likely(facts, nearest, after, upwards)
            places = [
                Place(used, pk) for pk, used in likely.values_list("pk", "updated_at")[:count]
            ]
            for some in _more_each_time(places):
                proven = self._proven([one.pk for one in some])
                yield from (one for one in some if one.pk in proven)
            if len(places) == count:
                after = places[-1]
                days = _days_beyond(after, days, upwards)
            elif nearest == days:
                return
            else:
                days = _days_without(nearest, days, upwards)
            count *= 2

    def _proven(self, keys: Collection[UUID]) -> Collection[UUID]:
        for proof in self._proofs:
            keys = {key for (key,) in proof.all(keys)}
        return keys

    @cached_property
    def _proofs(self) -> "Sequence[Values]":
        """What finds, among some, those that are wanted: made once for all that are looked at."""
        proofs = []
        if self.flagged or self.category or asks_for_flags():
            proofs.append(Values(self._flagged, Keys()))
        if list(self._of_one_reply()):
            proofs.append(Values(self._with_such_a_reply, Keys()))
        return proofs

    def _flagged(self, among: Expression) -> QuerySet[Conversation, Any]:
        found = Conversation.objects.filter(*self._of_flags(among), is_reviewable(among=among))
        return found.filter(IsAmong(among)).order_by().values_list("pk")

    def _with_such_a_reply(self, among: Expression) -> QuerySet[Message, Any]:
        found = replies_of(among).filter(*self._of_one_reply())
        return found.order_by().values_list("conversation")

    def _likely(
        self,
        facts: Sequence[str],
        days: tuple[date, date],
        after: Place | None = None,
        upwards: bool = False,
    ) -> QuerySet[Conversation]:
        """All that are wanted, and some of whose replies none is of that kind, or none any more,
        or that nothing flags any more."""
        # By the day that an index has; a person's own are few, and have an index in this order.
        by_day = (bool(facts) or self._is_summed) and not self.person
        # What is found so, or by a search, is not to be looked for by the time that all have.
        is_read_otherwise = by_day or self.search is not None
        found = Conversation.objects.alias(
            used=Coalesce("updated_at", "created_at") if is_read_otherwise else F("updated_at"),
            **{
                f"fact{number}": FilteredRelation("facts", condition=Q(facts__fact=fact))
                for number, fact in enumerate(facts)
            },
        )
        there: list[Q | IsAmong] = [
            *(Q((f"fact{number}__used_on__range", days)) for number, _ in enumerate(facts)),
            self._is_likely_reviewable,
            *self._of_conversation(),
            *self._of_replies(),
            *self._of_review(),
        ]
        if self.sample is not None:
            there.append(Q(pk__in=members_of(self.sample)))
        if self.search:
            there.append(IsAmong(self._searched))
        if after:
            there.append(after.is_after if upwards else after.is_before)
        if by_day and not facts:
            there.append(Q(sums__used_on__range=days))
        day = [f"-{'fact0' if facts else 'sums'}__used_on"] if by_day else []
        ordered = found.filter(*there).order_by(*day, "-used", "-id")
        return ordered.reverse() if upwards else ordered

    def _days(self, after: Place | None = None, upwards: bool = False) -> tuple[date, date]:
        """Between which it was used, at most."""
        since = day_of(_midnight(self.since)) if self.since else date.min
        until = day_of(self._end) if self._end else date.max
        return _days_beyond(after, (since, until), upwards) if after else (since, until)

    @property
    def _facts(self) -> list[str]:
        """What is known to be so of a reply wherever such a reply is found, or such a flag."""
        found = []
        if self.flagged == flags.PERSON:
            found.append(of_feedback(Feedback.Rating.DOWN))
        elif self.flagged not in ("", flags.NONE):
            found.append(of_flag("" if self.flagged == flags.ANY else self.flagged))
        if self.category:
            found.append(of_category(self.category))
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

    @cached_property
    def _searched(self) -> list[UUID]:
        """Once for all that is looked at: it takes longer than the rest. What was last used before
        a day was all written before it."""
        assert self.search
        return self.search.found(self.person.pk if self.person else None, self._end)

    @property
    def _end(self) -> datetime | None:
        return _midnight(self.until + timedelta(days=1)) if self.until else None

    @property
    def _is_summed(self) -> bool:
        return any(one is not None for one in (self.replies, self.cost, self.characters))

    def _of_conversation(self) -> Iterator[Q]:
        if self.person:
            yield Q(user=self.person)
            yield hides_names() if self.by_pseudonym else self._tells_names
        if self.group is not None:  # of which one alone may be
            yield self._tells_names
            members = User.groups.through.objects.filter(group=self.group)
            yield Q(user__in=members.values("user"))
        if self.since:
            yield Q(used__gte=_midnight(self.since))
        if self._end:
            yield Q(used__lt=self._end)

    @cached_property
    def _is_likely_reviewable(self) -> Q:
        return is_reviewable(likely=True)

    @cached_property
    def _tells_names(self) -> Q:
        return tells_names() | Q(user=self.reviewer)

    def _of_flags(self, among: Expression | None = None) -> Iterator[Q]:
        if self.flagged:
            yield flags.flagged_by(self.flagged, among=among)
        if self.category:
            yield flags.moderated_as(self.category)

    def _of_replies(self) -> Iterator[Q]:
        if self.feedback == NONE:
            yield ~Q(Exists(replies_of(OuterRef("pk")).filter(feedback__isnull=False)))
        if self.replies is not None:
            yield Q(sums__replies__gte=self.replies)
        if self.cost is not None:
            yield Q(sums__cost__gte=self.cost)
        if self.characters is not None:
            yield Q(sums__characters__gte=self.characters)

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


def _days_beyond(place: Place, days: tuple[date, date], upwards: bool) -> tuple[date, date]:
    since, until = days
    day = day_of(place.used)
    return (max(since, day), until) if upwards else (since, min(until, day))


def _days_without(
    nearest: tuple[date, date], days: tuple[date, date], upwards: bool
) -> tuple[date, date]:
    (since, until), one = days, timedelta(days=1)
    return (nearest[1] + one, until) if upwards else (since, nearest[0] - one)


def _more_each_time(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    begin, count = 0, LOOKED_AT
    while begin < len(places):
        yield places[begin : begin + count]
        begin, count = begin + count, 2 * count


def replies_of(conversations: OuterRef | Expression) -> QuerySet[Message]:
    """What still stands there of what models wrote; there are many keys, or one that is named."""
    of = (
        Q(conversation=conversations)
        if isinstance(conversations, OuterRef)
        else IsAmong(conversations, "conversation_id")
    )
    return Message.objects.filter(of, role=Message.Role.ASSISTANT, deleted_at=None)


def _rarest_first(
    facts: Sequence[str], days: tuple[date, date]
) -> tuple[Sequence[str], tuple[date, date], bool]:
    """And the days between which all of them are found, and whether even the rarest is common."""
    if len(facts) < 2:
        return facts, days, False
    spreads = spreads_of(facts, days, MOST_COUNTED)
    common = max(one.since for one in spreads.values()), min(one.until for one in spreads.values())
    ordered = sorted(facts, key=lambda fact: spreads[fact].number)
    return ordered, common, spreads[ordered[0]].number == MOST_COUNTED


def _nearest(fact: str, days: tuple[date, date], count: int, upwards: bool) -> tuple[date, date]:
    """Those of the days in which as many conversations have the fact, if that many have it."""
    since, until = days
    found = ConversationFact.objects.filter(fact=fact, used_on__range=days)
    ordered = found.order_by("used_on" if upwards else "-used_on").values_list("used_on", flat=True)
    last = ordered[count : count + 1].first()
    if last is None:
        return days
    return (since, last) if upwards else (last, until)


def page_of(asked: Asked, after: Place | None) -> tuple[list[UUID], Place | None]:
    """The keys of one page, and where the next one begins, if there is one."""
    with _of_few_rows():
        places = list(islice(asked.places(after, LOOKED_AT), PAGE + 1))
    shown = places[:PAGE]
    return [one.pk for one in shown], shown[-1] if len(places) > PAGE else None


@contextmanager
def _of_few_rows() -> Iterator[None]:
    """For what takes long PostgreSQL compiles, begins other processes, and reads whole tables
    rather than thousands of rows by an index, which takes longer than these do: each has a limit,
    which it does not count on, and the rows are at hand."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(_FOR_FEW_ROWS)
        yield


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, clock_time.min))


def reviewable() -> ConversationQuerySet:
    return Conversation.objects.filter(is_reviewable())


Neighbours = tuple[UUID | None, UUID | None]


def neighbours_of(conversation: Conversation, asked: Asked) -> Neighbours:
    """Of what is asked for, the one before which this was used, and the one after it; this need not
    be asked for itself, or no longer."""
    place = Place(conversation.updated_at, conversation.pk)
    with _of_few_rows():
        older = next(asked.places(place, FEW), None)
        newer = next(asked.places(place, FEW, upwards=True), None)
    return (older.pk if older else None), (newer.pk if newer else None)
