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
from chatapp.models.review.saved_views import find_member_keys
from chatapp.staff.review.finding import spreads
from chatapp.staff.review.finding.criteria import ReviewFilter, get_replies
from chatapp.staff.review.finding.positions import ReviewPosition

FIRST_BATCH = 62  # candidates: a page and a quarter
PER_MATCH = 4  # a guess: how many candidates there are for each match


class Matches:
    """The conversations that match a filter."""

    def __init__(self, criteria: ReviewFilter) -> None:
        self.criteria = criteria

    def get_position(self, conversation: Conversation) -> ReviewPosition:
        return ReviewPosition(conversation.updated_at, conversation.pk)

    def conversations(self) -> QuerySet[Conversation]:
        """Return all of them, last used first."""
        of_reply = list(self.criteria.reply_conditions())
        verified = [Q(Exists(get_replies(OuterRef("pk")).filter(*of_reply)))] if of_reply else []
        facets, days, _ = spreads.rarest_first(self.criteria.facets, self.criteria.days)
        return _candidates(self.criteria, facets, days).filter(
            is_reviewable(), *self.criteria.flag_conditions(), *verified
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
        days = (
            spreads.days_beyond(after, self.criteria.days, upwards) if after else self.criteria.days
        )
        facets, days, are_common = spreads.rarest_first(self.criteria.facets, days)
        if len(facets) > 1:  # several facets are seldom true of one reply, so read more candidates
            # Rare facets: the database reads all their rows anyway before it returns the first.
            count *= PER_MATCH if are_common else PER_MATCH * PER_MATCH
        while True:
            nearest = (
                spreads.nearest_days(facets[0], days, PER_MATCH * count, upwards)
                if are_common
                else days
            )
            candidates = _candidates(self.criteria, facets, nearest, after, upwards)
            positions = [
                ReviewPosition(used, pk)
                for pk, used in candidates.values_list("pk", "updated_at")[:count]
            ]
            for batch in _batches(positions):
                verified = self._verify_matches([position.pk for position in batch])
                yield from (position for position in batch if position.pk in verified)
            if len(positions) == count:
                after = positions[-1]
                days = spreads.days_beyond(after, days, upwards)
            elif nearest == days:
                return
            else:
                days = spreads.days_without(nearest, days, upwards)
            count *= 2

    def _verify_matches(self, keys: Collection[UUID]) -> Collection[UUID]:
        """Return those of the keys that also match the costly conditions."""
        criteria = self.criteria
        if criteria.flagged or criteria.category or asks_for_flags():
            flagged = Conversation.objects.filter(
                *criteria.flag_conditions(keys), is_reviewable(among=keys), KeyIn(keys)
            )
            keys = set(flagged.order_by().values_list("pk", flat=True))
        if of_reply := list(criteria.reply_conditions()):
            replies = get_replies(keys).filter(*of_reply)
            keys = set(replies.order_by().values_list("conversation", flat=True))
        return keys


def _batches(places: Sequence[ReviewPosition]) -> Iterator[Sequence[ReviewPosition]]:
    begin, count = 0, FIRST_BATCH
    while begin < len(places):
        yield places[begin : begin + count]
        begin, count = begin + count, 2 * count


def _candidates(
    criteria: ReviewFilter,
    facets: Sequence[str],
    days: tuple[date, date],
    after: ReviewPosition | None = None,
    upwards: bool = False,
) -> QuerySet[Conversation]:
    """Return all matches and some conversations that do not match.

    Their facets are true of different replies, or not any more: facets outlive what they are of.
    """
    # Order by the day, which the indexes contain, except for one person's conversations: they
    # are few and have an index in this order.
    by_day = (bool(facets) or criteria.uses_sums) and not criteria.person
    # Hide the column from the planner, which would otherwise choose the index on it.
    has_other_index = by_day or criteria.search is not None
    conversations = Conversation.objects.alias(
        used=Coalesce("updated_at", "created_at") if has_other_index else F("updated_at"),
        **{
            f"facet{number}": FilteredRelation("facts", condition=Q(facts__fact=facet))
            for number, facet in enumerate(facets)
        },
    )
    conditions: list[Q | KeyIn] = [
        *(Q((f"facet{number}__used_on__range", days)) for number, _ in enumerate(facets)),
        criteria.is_likely_reviewable,
        *criteria.conversation_conditions(),
        *criteria.sum_conditions(),
        *criteria.review_conditions(),
    ]
    if criteria.sample is not None:
        conditions.append(Q(pk__in=find_member_keys(criteria.sample)))
    if criteria.search:
        conditions.append(KeyIn(criteria.search_results))
    if after:
        conditions.append(after.is_after if upwards else after.is_before)
    if by_day and not facets:
        conditions.append(Q(sums__used_on__range=days))
    day = [f"-{'facet0' if facets else 'sums'}__used_on"] if by_day else []
    ordered = conversations.filter(*conditions).order_by(*day, "-used", "-id")
    return ordered.reverse() if upwards else ordered
