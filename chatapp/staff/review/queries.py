"""The review's filter as a query: matching conversations, last used first, a page at a time.

Each condition is a subquery of its own, so that the database chooses where to start: with the
rarest condition, or with the newest conversations.
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

from chatapp.db.key_in import KeyIn, Keys
from chatapp.db.statements import Values
from chatapp.models import (
    Conversation,
    ConversationFacet,
    Feedback,
    Message,
    Review,
    ReviewSearch,
    User,
)
from chatapp.models.conversations.conversation_querysets import ConversationQuerySet
from chatapp.models.conversations.tool_names import HasCalled
from chatapp.models.review import flags
from chatapp.models.review.conversation_facets import (
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
from chatapp.models.review.readable import asks_for_flags, hides_names, is_reviewable, tells_names
from chatapp.models.review.saved_views import members_of
from chatapp.staff.review.positions import ReviewPosition
from chatapp.upstream.wire.reply import Ending

PAGE = 50
FIRST_BATCH = PAGE + PAGE // 4
NEIGHBOUR_BATCH = 8  # candidates read to find one neighbour
PER_MATCH = 4  # a guess: how many candidates there are for each match
NONE = "none"
MAX_COUNTED = 5_000  # conversations; a fact of this many is common
_PLAN_FOR_FEW_ROWS = (
    "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0;"
    " SET LOCAL enable_seqscan = off"
)


@dataclass(frozen=True)
class ReviewFilter:
    """A filter; "" and None mean any. One reply has to match all conditions on replies."""

    reviewer: User
    person: User | None = None
    by_pseudonym: bool = False  # whether `person` was given by pseudonym
    group: int | None = None
    since: date | None = None
    until: date | None = None  # inclusive
    model: str = ""
    upstream: int | None = None
    ending: str = ""
    flagged: str = ""  # a source, any or none: see `flags`
    category: str = ""  # of moderation
    search: ReviewSearch | None = None
    feedback: str = ""  # up, down, either or none
    tool: str = ""
    cost: int | None = None  # at least, in nano-dollars
    replies: int | None = None  # at least
    characters: int | None = None  # at least
    label: int | None = None
    verdict: str = ""  # or none
    claim: str = ""  # mine, other or nobody
    sample: int | None = None

    def conversations(self) -> QuerySet[Conversation]:
        """Return all matching conversations, last used first."""
        of_reply = list(self._reply_conditions())
        proven = [Q(Exists(replies_of(OuterRef("pk")).filter(*of_reply)))] if of_reply else []
        facts, days, _ = _rarest_first(self._facts, self._days())
        return self._candidates(facts, days).filter(
            is_reviewable(), *self._flag_conditions(), *proven
        )

    def places(
        self, after: ReviewPosition | None, count: int, *, upwards: bool = False
    ) -> Iterator[ReviewPosition]:
        """Yield the places of matching conversations used before `after`, the nearest first.

        With `upwards`, those used after it. For callers that need only the first few: the costliest
        conditions, on replies and flags, are tested on batches of candidates, at first on `count`.
        """
        facts, days, are_common = _rarest_first(self._facts, self._days(after, upwards))
        if len(facts) > 1:  # several facts are seldom true of one reply, so read more candidates
            # Rare facts: the database reads all their rows anyway before it returns the first.
            count *= PER_MATCH if are_common else PER_MATCH * PER_MATCH
        while True:
            nearest = (
                _nearest_days(facts[0], days, PER_MATCH * count, upwards) if are_common else days
            )
            candidates = self._candidates(facts, nearest, after, upwards)
            places = [
                ReviewPosition(used, pk)
                for pk, used in candidates.values_list("pk", "updated_at")[:count]
            ]
            for batch in _batches(places):
                proven = self._proven([one.pk for one in batch])
                yield from (one for one in batch if one.pk in proven)
            if len(places) == count:
                after = places[-1]
                days = _days_beyond(after, days, upwards)
            elif nearest == days:
                return
            else:
                days = _days_without(nearest, days, upwards)
            count *= 2

    def _proven(self, keys: Collection[UUID]) -> Collection[UUID]:
        """Return those of the keys that also match the costly conditions."""
        for proof in self._proofs:
            keys = {key for (key,) in proof.all(keys)}
        return keys

    @cached_property
    def _proofs(self) -> "Sequence[Values]":
        """The statements that test a batch of candidates, built once for all batches."""
        proofs = []
        if self.flagged or self.category or asks_for_flags():
            proofs.append(Values(self._flagged, Keys()))
        if list(self._reply_conditions()):
            proofs.append(Values(self._with_matching_reply, Keys()))
        return proofs

    def _flagged(self, among: Expression) -> QuerySet[Conversation, Any]:
        found = Conversation.objects.filter(
            *self._flag_conditions(among), is_reviewable(among=among)
        )
        return found.filter(KeyIn(among)).order_by().values_list("pk")

    def _with_matching_reply(self, among: Expression) -> QuerySet[Message, Any]:
        found = replies_of(among).filter(*self._reply_conditions())
        return found.order_by().values_list("conversation")

    def _candidates(
        self,
        facts: Sequence[str],
        days: tuple[date, date],
        after: ReviewPosition | None = None,
        upwards: bool = False,
    ) -> QuerySet[Conversation]:
        """Return all matches and some conversations that do not match.

        Their facts are true of different replies, or not any more: facts outlive what they are of.
        """
        # Order by the day, which the indexes contain, except for one person's conversations: they
        # are few and have an index in this order.
        by_day = (bool(facts) or self._uses_sums) and not self.person
        # Hide the column from the planner, which would otherwise choose the index on it.
        has_other_index = by_day or self.search is not None
        found = Conversation.objects.alias(
            used=Coalesce("updated_at", "created_at") if has_other_index else F("updated_at"),
            **{
                f"fact{number}": FilteredRelation("facts", condition=Q(facts__fact=fact))
                for number, fact in enumerate(facts)
            },
        )
        conditions: list[Q | KeyIn] = [
            *(Q((f"fact{number}__used_on__range", days)) for number, _ in enumerate(facts)),
            self._is_likely_reviewable,
            *self._conversation_conditions(),
            *self._sum_conditions(),
            *self._review_conditions(),
        ]
        if self.sample is not None:
            conditions.append(Q(pk__in=members_of(self.sample)))
        if self.search:
            conditions.append(KeyIn(self._searched))
        if after:
            conditions.append(after.is_after if upwards else after.is_before)
        if by_day and not facts:
            conditions.append(Q(sums__used_on__range=days))
        day = [f"-{'fact0' if facts else 'sums'}__used_on"] if by_day else []
        ordered = found.filter(*conditions).order_by(*day, "-used", "-id")
        return ordered.reverse() if upwards else ordered

    def _days(
        self, after: ReviewPosition | None = None, upwards: bool = False
    ) -> tuple[date, date]:
        """Return the first and last day on which a match can have been used."""
        since = day_of(_midnight(self.since)) if self.since else date.min
        until = day_of(self._end) if self._end else date.max
        return _days_beyond(after, (since, until), upwards) if after else (since, until)

    @property
    def _facts(self) -> list[str]:
        """The facts that every conversation with a matching reply or flag has."""
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
        """The conversations found by the text search, which takes longest and so runs once.

        A conversation that was last used before a day was written before it, so `until` holds for
        its texts, too.
        """
        assert self.search
        return self.search.found(self.person.pk if self.person else None, self._end)

    @property
    def _end(self) -> datetime | None:
        return _midnight(self.until + timedelta(days=1)) if self.until else None

    @property
    def _uses_sums(self) -> bool:
        return any(one is not None for one in (self.replies, self.cost, self.characters))

    def _conversation_conditions(self) -> Iterator[Q]:
        if self.person:
            yield Q(user=self.person)
            yield hides_names() if self.by_pseudonym else self._shows_names
        if self.group is not None:  # a group of one would give the name away
            yield self._shows_names
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
    def _shows_names(self) -> Q:
        return tells_names() | Q(user=self.reviewer)

    def _flag_conditions(self, among: Expression | None = None) -> Iterator[Q]:
        if self.flagged:
            yield flags.flagged_by(self.flagged, among=among)
        if self.category:
            yield flags.moderated_as(self.category)

    def _sum_conditions(self) -> Iterator[Q]:
        if self.feedback == NONE:
            yield ~Q(Exists(replies_of(OuterRef("pk")).filter(feedback__isnull=False)))
        if self.replies is not None:
            yield Q(sums__replies__gte=self.replies)
        if self.cost is not None:
            yield Q(sums__cost__gte=self.cost)
        if self.characters is not None:
            yield Q(sums__characters__gte=self.characters)

    def _reply_conditions(self) -> Iterator[Q | HasCalled]:
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

    def _review_conditions(self) -> Iterator[Q]:
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


def _days_beyond(
    place: ReviewPosition, days: tuple[date, date], upwards: bool
) -> tuple[date, date]:
    since, until = days
    day = day_of(place.used)
    return (max(since, day), until) if upwards else (since, min(until, day))


def _days_without(
    nearest: tuple[date, date], days: tuple[date, date], upwards: bool
) -> tuple[date, date]:
    (since, until), one = days, timedelta(days=1)
    return (nearest[1] + one, until) if upwards else (since, nearest[0] - one)


def _batches(places: Sequence[ReviewPosition]) -> Iterator[Sequence[ReviewPosition]]:
    begin, count = 0, FIRST_BATCH
    while begin < len(places):
        yield places[begin : begin + count]
        begin, count = begin + count, 2 * count


def replies_of(conversations: OuterRef | Expression) -> QuerySet[Message]:
    """Return the replies, except deleted ones, of the conversations with these keys."""
    of = (
        Q(conversation=conversations)
        if isinstance(conversations, OuterRef)
        else KeyIn(conversations, "conversation_id")
    )
    return Message.objects.filter(of, role=Message.Role.ASSISTANT, deleted_at=None)


def _rarest_first(
    facts: Sequence[str], days: tuple[date, date]
) -> tuple[Sequence[str], tuple[date, date], bool]:
    """Return the facts, rarest first, the days on which all can occur, and whether all are common.

    A single fact is returned as it is.
    """
    if len(facts) < 2:
        return facts, days, False
    spreads = spreads_of(facts, days, MAX_COUNTED)
    common = max(one.since for one in spreads.values()), min(one.until for one in spreads.values())
    ordered = sorted(facts, key=lambda fact: spreads[fact].number)
    return ordered, common, spreads[ordered[0]].number == MAX_COUNTED


def _nearest_days(
    fact: str, days: tuple[date, date], count: int, upwards: bool
) -> tuple[date, date]:
    """Return the nearest days, so many that `count` conversations used on them have the fact.

    Returns all the days if fewer have it.
    """
    since, until = days
    found = ConversationFacet.objects.filter(fact=fact, used_on__range=days)
    ordered = found.order_by("used_on" if upwards else "-used_on").values_list("used_on", flat=True)
    last = ordered[count : count + 1].first()
    if last is None:
        return days
    return (since, last) if upwards else (last, until)


def page_of(
    asked: ReviewFilter, after: ReviewPosition | None
) -> tuple[list[UUID], ReviewPosition | None]:
    """Return the keys of a page, and the place after which the next begins; None if it is last."""
    with _planned_for_few_rows():
        places = list(islice(asked.places(after, FIRST_BATCH), PAGE + 1))
    shown = places[:PAGE]
    return [one.pk for one in shown], shown[-1] if len(places) > PAGE else None


@contextmanager
def _planned_for_few_rows() -> Iterator[None]:
    """Keep PostgreSQL from preparing for a long query: no JIT, parallel workers or table scans.

    It overestimates these queries, since it does not expect the limit to end them early, and the
    preparation would take longer than they do.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(_PLAN_FOR_FEW_ROWS)
        yield


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, clock_time.min))


def reviewable() -> ConversationQuerySet:
    return Conversation.objects.filter(is_reviewable())


Neighbours = tuple[UUID | None, UUID | None]


def neighbours_of(conversation: Conversation, asked: ReviewFilter) -> Neighbours:
    """Return the keys of the next older and the next newer conversation that match.

    `conversation` itself need not match, or no longer.
    """
    place = ReviewPosition(conversation.updated_at, conversation.pk)
    with _planned_for_few_rows():
        older = next(asked.places(place, NEIGHBOUR_BATCH), None)
        newer = next(asked.places(place, NEIGHBOUR_BATCH, upwards=True), None)
    return (older.pk if older else None), (newer.pk if newer else None)
