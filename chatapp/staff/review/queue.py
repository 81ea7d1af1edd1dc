"""The queue: the conversations of a filter that need a look and have no verdict yet.

The most urgent ones come first, and among those the ones used last. Each reason has its own
conversations in that order, which the database reads from an index; the queue merges them.
"""

from collections.abc import Iterator
from dataclasses import replace
from heapq import merge
from itertools import chain
from operator import attrgetter

from django.db.models import QuerySet

from chatapp.models import Conversation
from chatapp.staff.review.criteria import ReviewFilter, Show
from chatapp.staff.review.matches import Matches
from chatapp.staff.review.positions import ReviewPosition
from chatapp.staff.review.reasons import URGENCIES, needs_a_look, urgency_of


class Queue:
    def __init__(self, wanted: ReviewFilter) -> None:
        self.wanted = wanted

    def conversations(self) -> QuerySet[Conversation]:
        """Return all of them, last used first."""
        return Matches(self.wanted).conversations().filter(needs_a_look())

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
        more_urgent = tuple(chain.from_iterable(URGENCIES[:urgency]))
        each = (
            Matches(replace(self.wanted, reason=reason, no_reasons=more_urgent)).positions(
                after, count=count, upwards=upwards
            )
            for reason in URGENCIES[urgency]
        )
        last = None
        for one in merge(*each, key=attrgetter("used", "pk"), reverse=not upwards):
            if one.pk != last:  # it may have several reasons
                yield replace(one, urgency=urgency)
            last = one.pk


def found_by(wanted: ReviewFilter) -> Matches | Queue:
    return Queue(wanted) if wanted.show == Show.QUEUE else Matches(wanted)
