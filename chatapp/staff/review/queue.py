"""The queue: the conversations of a filter that need a look and have no verdict yet.

The most urgent ones come first, and among those the ones used last. The candidates of each reason
are read in that order from an index; the queue merges them and proves a batch at a time.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from heapq import merge
from itertools import chain, groupby, islice
from operator import attrgetter
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from chatapp.db.key_in import KeyIn
from chatapp.db.statements import Query
from chatapp.models import Conversation, ConversationFacet, Review, ReviewPolicy
from chatapp.models.review.readable import is_reviewable
from chatapp.staff.review.criteria import ReviewFilter, Show
from chatapp.staff.review.matches import FIRST_BATCH, Matches
from chatapp.staff.review.positions import ReviewPosition
from chatapp.staff.review.reasons import URGENCIES, has_any, urgency_of


class Queue:
    def __init__(self, wanted: ReviewFilter) -> None:
        self.wanted = wanted

    def conversations(self) -> QuerySet[Conversation]:
        """Return all of them, last used first."""
        return Matches(self.wanted).conversations().filter(has_any(chain(*URGENCIES)))

    def position_of(self, conversation: Conversation) -> ReviewPosition:
        used = conversation.updated_at
        return ReviewPosition(used, conversation.pk, urgency_of(conversation))

    def positions(
        self, after: ReviewPosition | None, *, count: int = 0, upwards: bool = False
    ) -> Iterator[ReviewPosition]:
        """Yield the positions after one, as `Matches.positions` does."""
        first = after.urgency if after else 0
        urgencies = range(first, -1, -1) if upwards else range(first, len(URGENCIES))
        for urgency in urgencies:
            begin = after if urgency == first else None
            yield from self._positions_of(urgency, begin, count, upwards)

    def _positions_of(
        self, urgency: int, after: ReviewPosition | None, count: int, upwards: bool
    ) -> Iterator[ReviewPosition]:
        each = (
            Matches(replace(self.wanted, fact=reason.fact)).positions(
                after, count=count, upwards=upwards
            )
            for reason in URGENCIES[urgency]
        )
        merged = merge(*each, key=attrgetter("used", "pk"), reverse=not upwards)
        candidates = (one for one, _ in groupby(merged))  # one may have several reasons
        while batch := list(islice(candidates, count or FIRST_BATCH)):
            proven = _with_urgency(urgency, [one.pk for one in batch])
            yield from (replace(one, urgency=urgency) for one in batch if one.pk in proven)
            count *= 2


def _with_urgency(urgency: int, keys: Collection[UUID]) -> Collection[UUID]:
    """Return those of the conversations that have a reason of this urgency, and no greater one."""
    found = Conversation.objects.filter(
        KeyIn(keys),
        has_any(URGENCIES[urgency], keys),
        ~has_any(chain(*URGENCIES[:urgency]), keys),
    )
    return set(found.order_by().values_list("pk", flat=True))


def found_by(wanted: ReviewFilter) -> Matches | Queue:
    return Queue(wanted) if wanted.show == Show.QUEUE else Matches(wanted)


def count_waiting(most: int) -> int:
    """Return the length of the unfiltered queue, counted up to `most`."""
    policies = tuple((policy.begins_at, policy.scope) for policy in ReviewPolicy.timeline())
    return _waiting(policies, most).count()


@lru_cache(maxsize=1)
def _waiting(_policies: tuple[tuple[datetime, str], ...], most: int) -> Query[Conversation]:
    """Return the query, prepared until the policy changes: it saves 20,000 calls of each page."""
    facts = [reason.fact for reason in chain(*URGENCIES)]
    candidates = ConversationFacet.objects.filter(fact__in=facts).values("conversation")
    decided = Review.objects.filter(pk=OuterRef("pk")).exclude(verdict="")
    waiting = Conversation.objects.filter(
        ~Q(Exists(decided)), is_reviewable(), has_any(chain(*URGENCIES)), pk__in=candidates
    )
    return Query(lambda: waiting.only("pk").order_by()[:most])
