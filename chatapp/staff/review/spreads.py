"""On which days, and how often, facets are found: where to look for candidates first."""

from collections.abc import Sequence
from datetime import date, timedelta

from chatapp.models import ConversationFacet
from chatapp.models.review.conversation_facets import day_of, spreads_of
from chatapp.staff.review.positions import ReviewPosition

MAX_COUNTED = 5_000  # conversations; a facet of this many is common


def rarest_first(
    facts: Sequence[str], days: tuple[date, date]
) -> tuple[Sequence[str], tuple[date, date], bool]:
    """Return the facts, rarest first, the days on which all can occur, and whether all are common.

    A single fact is returned as it is.
    """
    if len(facts) < 2:
        return facts, days, False
    spreads = spreads_of(facts, days, MAX_COUNTED)
    common = (
        max(spread.since for spread in spreads.values()),
        min(spread.until for spread in spreads.values()),
    )
    ordered = sorted(facts, key=lambda fact: spreads[fact].number)
    return ordered, common, spreads[ordered[0]].number == MAX_COUNTED


def nearest_days(
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


def days_beyond(
    position: ReviewPosition, days: tuple[date, date], upwards: bool
) -> tuple[date, date]:
    since, until = days
    day = day_of(position.used)
    return (max(since, day), until) if upwards else (since, min(until, day))


def days_without(
    nearest: tuple[date, date], days: tuple[date, date], upwards: bool
) -> tuple[date, date]:
    (since, until), one = days, timedelta(days=1)
    return (nearest[1] + one, until) if upwards else (since, nearest[0] - one)
