"""On which days, and how often, facets are found: where to look for candidates first."""

from collections.abc import Sequence
from datetime import date, timedelta

from chatapp.models import ConversationFacet
from chatapp.models.review.conversation_facets import get_utc_day, load_day_ranges
from chatapp.staff.review.finding.positions import ReviewPosition

MAX_COUNTED = 5_000  # conversations; a facet of this many is common


def rarest_first(
    facets: Sequence[str], days: tuple[date, date]
) -> tuple[Sequence[str], tuple[date, date], bool]:
    """Return the facets, rarest first, the days on which all can occur, and whether all are common.

    A single facet is returned as it is.
    """
    if len(facets) < 2:
        return facets, days, False
    spreads = load_day_ranges(facets, days, MAX_COUNTED)
    common = (
        max(spread.since for spread in spreads.values()),
        min(spread.until for spread in spreads.values()),
    )
    ordered = sorted(facets, key=lambda facet: spreads[facet].number)
    return ordered, common, spreads[ordered[0]].number == MAX_COUNTED


def nearest_days(
    facet: str, days: tuple[date, date], count: int, upwards: bool
) -> tuple[date, date]:
    """Return the nearest days, so many that `count` conversations used on them have the facet.

    Returns all the days if fewer have it.
    """
    since, until = days
    facet_rows = ConversationFacet.objects.filter(fact=facet, used_on__range=days)
    ordered = facet_rows.order_by("used_on" if upwards else "-used_on").values_list(
        "used_on", flat=True
    )
    last = ordered[count : count + 1].first()
    if last is None:
        return days
    return (since, last) if upwards else (last, until)


def days_beyond(
    position: ReviewPosition, days: tuple[date, date], upwards: bool
) -> tuple[date, date]:
    since, until = days
    day = get_utc_day(position.used)
    return (max(since, day), until) if upwards else (since, min(until, day))


def days_without(
    nearest: tuple[date, date], days: tuple[date, date], upwards: bool
) -> tuple[date, date]:
    (since, until), one_day = days, timedelta(days=1)
    return (nearest[1] + one_day, until) if upwards else (since, nearest[0] - one_day)
