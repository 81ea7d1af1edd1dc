"""A page of the conversations that match a filter, and the neighbours of one of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from uuid import UUID

from django.db import connection, transaction

from chatapp.models import Conversation
from chatapp.staff.review.finding.criteria import ReviewFilter
from chatapp.staff.review.finding.matches import Matches
from chatapp.staff.review.finding.positions import ReviewPosition
from chatapp.staff.review.finding.queue import Queue, find_matches

PAGE = 50
NEIGHBOUR_BATCH = 8  # candidates read to find one neighbour
_PLAN_FOR_FEW_ROWS = (
    "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0;"
    " SET LOCAL enable_seqscan = off"
)

Neighbours = tuple[UUID | None, UUID | None]


def load_page_keys(
    matches: Matches | Queue, after: ReviewPosition | None
) -> tuple[list[UUID], ReviewPosition | None]:
    """Return the keys of a page, and the position of the last one if there are more, else None."""
    with _plan_for_few_rows():
        positions = list(islice(matches.positions(after), PAGE + 1))
    page = positions[:PAGE]
    return [position.pk for position in page], page[-1] if len(positions) > PAGE else None


def find_neighbours(conversation: Conversation, criteria: ReviewFilter) -> Neighbours:
    """Return the keys of the conversations below and above one in the list of a filter.

    `conversation` itself need not match, or no longer.
    """
    matches = find_matches(criteria)
    with _plan_for_few_rows():
        position = matches.get_position(conversation)
        below = next(matches.positions(position, count=NEIGHBOUR_BATCH), None)
        above = next(matches.positions(position, count=NEIGHBOUR_BATCH, upwards=True), None)
    return (below.pk if below else None), (above.pk if above else None)


@contextmanager
def _plan_for_few_rows() -> Iterator[None]:
    """Keep PostgreSQL from preparing for a long query: no JIT, parallel workers or table scans.

    It overestimates these queries, since it does not expect the limit to end them early, and the
    preparation would take longer than they do.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_PLAN_FOR_FEW_ROWS)
        yield
