"""The conversations that match a filter, last used first.

Some conditions cost much: those on replies and flags. Conversations that may match are found by
their facets first, and these conditions are tested on batches of them only.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from uuid import UUID

from django.db.models import Exists, F, FilteredRelation, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from chatapp.db.key_in import KeyIn
from chatapp.models import Conversation
from chatapp.models.review.readable import asks_for_flags, is_reviewable
from chatapp.models.review.saved_views import members_of
from chatapp.staff.review import spreads
from chatapp.staff.review.criteria import ReviewFilter, replies_of
from chatapp.staff.review.positions import ReviewPosition

FIRST_BATCH = 62  # candidates: a page and a quarter
PER_MATCH = 4  # a guess: how many candidates there are for each match


class Matches:
    """The conversations that match a filter."""

    def __init__(self, wanted: ReviewFilter) -> None:
        self.wanted = wanted

    def position_of(self, conversation: Conversation) -> ReviewPosition:
        return ReviewPosition(conversation.updated_at, conversation.pk)

    def conversations(self) -> QuerySet[Conversation]:
        """Return all of them, last used first."""
        of_reply = list(self.wanted.reply_conditions())
        proven = [Q(Exists(replies_of(OuterRef("pk")).filter(*of_reply)))] if of_reply else []
        facts, days, _ = spreads.rarest_first(self.wanted.facts, self.wanted.days)
        return _candidates(self.wanted, facts, days).filter(
            is_reviewable(), *self.wanted.flag_conditions(), *proven
        )

    def positions(
        self, after: ReviewPosition | None, *, count: int = 0, upwards: bool = False
    ) -> Iterator[ReviewPosition]:
        """Yield the positions of matching conversations used before `after`, the nearest first.

        With `upwards`, those used after it. For callers that need only the first few: the costliest
        conditions, on replies and flags, are tested on batches of candidates, at first on `count`,
        or on as many as a page needs.
        """
        count = count or FIRST_BATCH
        days = spreads.days_beyond(after, self.wanted.days, upwards) if after else self.wanted.days
        facts, days, are_common = spreads.rarest_first(self.wanted.facts, days)
        if len(facts) > 1:  # several facts are seldom true of one reply, so read more candidates
            # Rare facts: the database reads all their rows anyway before it returns the first.
            count *= PER_MATCH if are_common else PER_MATCH * PER_MATCH
        while True:
            nearest = (
                spreads.nearest_days(facts[0], days, PER_MATCH * count, upwards)
                if are_common
                else days
            )
            candidates = _candidates(self.wanted, facts, nearest, after, upwards)
            found = [
                ReviewPosition(used, pk)
                for pk, used in candidates.values_list("pk", "updated_at")[:count]
            ]
            for batch in _batches(found):
                proven = self._proven([one.pk for one in batch])
                yield from (one for one in batch if one.pk in proven)
            if len(found) == count:
                after = found[-1]
                days = spreads.days_beyond(after, days, upwards)
            elif nearest == days:
                return
            else:
                days = spreads.days_without(nearest, days, upwards)
            count *= 2

    def _proven(self, keys: Collection[UUID]) -> Collection[UUID]:
        """Return those of the keys that also match the costly conditions."""
        wanted = self.wanted
        if wanted.flagged or wanted.category or asks_for_flags():
            flagged = Conversation.objects.filter(
                *wanted.flag_conditions(keys), is_reviewable(among=keys), KeyIn(keys)
            )
            keys = set(flagged.order_by().values_list("pk", flat=True))
        if of_reply := list(wanted.reply_conditions()):
            replies = replies_of(keys).filter(*of_reply)
            keys = set(replies.order_by().values_list("conversation", flat=True))
        return keys


def _batches(places: Sequence[ReviewPosition]) -> Iterator[Sequence[ReviewPosition]]:
    begin, count = 0, FIRST_BATCH
    while begin < len(places):
        yield places[begin : begin + count]
        begin, count = begin + count, 2 * count


def _candidates(
    wanted: ReviewFilter,
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
    by_day = (bool(facts) or wanted.uses_sums) and not wanted.person
    # Hide the column from the planner, which would otherwise choose the index on it.
    has_other_index = by_day or wanted.search is not None
    found = Conversation.objects.alias(
        used=Coalesce("updated_at", "created_at") if has_other_index else F("updated_at"),
        **{
            f"fact{number}": FilteredRelation("facts", condition=Q(facts__fact=fact))
            for number, fact in enumerate(facts)
        },
    )
    conditions: list[Q | KeyIn] = [
        *(Q((f"fact{number}__used_on__range", days)) for number, _ in enumerate(facts)),
        wanted.is_likely_reviewable,
        *wanted.conversation_conditions(),
        *wanted.sum_conditions(),
        *wanted.review_conditions(),
    ]
    if wanted.sample is not None:
        conditions.append(Q(pk__in=members_of(wanted.sample)))
    if wanted.search:
        conditions.append(KeyIn(wanted.searched))
    if after:
        conditions.append(after.is_after if upwards else after.is_before)
    if by_day and not facts:
        conditions.append(Q(sums__used_on__range=days))
    day = [f"-{'fact0' if facts else 'sums'}__used_on"] if by_day else []
    ordered = found.filter(*conditions).order_by(*day, "-used", "-id")
    return ordered.reverse() if upwards else ordered
