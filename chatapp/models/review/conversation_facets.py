"""Sums and facets by which conversations are found without reading their messages.

Database triggers maintain both tables (see `facets`); nothing else writes to them. Each
row has the day on which its conversation was last used, so that a search can read one page, newest
first, and stop. They have no foreign key constraints, so that a process of the previous version,
which knows nothing of these tables, can still delete conversations.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from django.db import connection, models

MAX_NAME_LENGTH = 200  # characters of a name that a facet keeps, as in `sql/`
# Steps from one tool to the next in the index. No collation sorts another kind of facet between
# those of tools.
CALLED_TOOLS = """
WITH RECURSIVE called(fact) AS (
  SELECT MIN(fact) FROM chatapp_conversationfact WHERE fact >= 'tool'
  UNION ALL
  SELECT (SELECT MIN(fact) FROM chatapp_conversationfact WHERE fact > called.fact)
  FROM called WHERE fact LIKE 'tool %%'
)
SELECT fact FROM called WHERE fact LIKE 'tool %%' LIMIT %s
"""


class ConversationSums(models.Model):
    """The sums of a conversation's replies that are not deleted.

    The cost is in nano-dollars and includes that of the title and of summaries.
    """

    conversation = models.OneToOneField(
        "chatapp.Conversation",
        models.DO_NOTHING,
        primary_key=True,
        db_constraint=False,
        related_name="sums",
    )
    used_on = models.DateField()  # by UTC
    replies = models.BigIntegerField()
    cost = models.BigIntegerField()
    # In prompts and answers that are not deleted; None if they have not been counted yet.
    characters = models.BigIntegerField(null=True)
    # Whether messages from before this table existed are included.
    is_whole = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name_plural = "conversation sums"
        indexes = [
            # Covering: the second column is compared in the index itself, however few rows match.
            models.Index(fields=["used_on", "replies"], name="conversations_by_replies"),
            models.Index(fields=["used_on", "cost"], name="conversations_by_cost"),
            models.Index(fields=["used_on", "characters"], name="conversations_by_length"),
            models.Index(
                fields=["conversation"], condition=models.Q(is_whole=False), name="sums_not_whole"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.replies} replies of {self.conversation_id}"


class ConversationFacet(models.Model):
    """Something that is true of one of a conversation's replies, or was: facets outlive deletions.

    `fact` is a kind and its value, as `format_model_facet` and the functions after it build it.
    """

    pk = models.CompositePrimaryKey("conversation", "fact")
    conversation = models.ForeignKey(
        "chatapp.Conversation",
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="facts",
    )
    fact = models.CharField(max_length=MAX_NAME_LENGTH + 10)
    used_on = models.DateField()  # by UTC

    class Meta:
        db_table = "chatapp_conversationfact"
        indexes = [
            # Includes the conversation, to find those that have several facets.
            models.Index(fields=["fact", "used_on", "conversation"], name="conversations_with_fact")
        ]

    def __str__(self) -> str:
        return f"{self.fact} in {self.conversation_id}"


def format_model_facet(name: str) -> str:
    return f"model {name}"


def format_upstream_facet(pk: int) -> str:
    return f"upstream {pk}"


def format_tool_facet(name: str) -> str:
    return f"tool {name[:MAX_NAME_LENGTH]}"


def list_called_tools(limit: int) -> list[str]:
    """Return names of tools that any conversation called, which models may have made up."""
    with connection.cursor() as cursor:
        cursor.execute(CALLED_TOOLS, [limit])
        return [facet.removeprefix(format_tool_facet("")) for (facet,) in cursor.fetchall()]


def format_ending_facet(ending: str) -> str:
    """Return the facet of an ending. Complete replies have none: almost every chat has one."""
    return f"ending {ending}"


def format_feedback_facet(rating: str = "") -> str:
    """Return the facet of a rating; without one, of any rating."""
    return f"feedback {rating}".strip()


def format_flag_facet(source: str = "") -> str:
    """Return the facet of a flag by this source; without one, by any source."""
    return f"flagged {source}".strip()


def format_category_facet(name: str) -> str:
    """Return the facet of a message that moderation flagged with this category."""
    return f"category {name[:MAX_NAME_LENGTH]}"


def get_utc_day(moment: datetime) -> date:
    """Return the UTC day, as in `used_on`."""
    return moment.astimezone(UTC).date()


class DayRange(NamedTuple):
    """The number of times that a facet is found, with the first and the last day."""

    number: int
    since: date
    until: date


def load_day_ranges(
    facets: Sequence[str], days: tuple[date, date], limit: int
) -> Mapping[str, DayRange]:
    """Return the day range of each facet between two days, counting up to `limit` conversations.

    A facet that is never found has `since` after `until`.
    """
    return {facet: _load_day_range(facet, days, limit) for facet in facets}


def _load_day_range(facet: str, days: tuple[date, date], limit: int) -> DayRange:
    used_on = ConversationFacet.objects.filter(fact=facet, used_on__range=days).values_list(
        "used_on", flat=True
    )
    # SQLite would read all rows to aggregate both ends; each of these reads one.
    by_day = used_on.order_by("used_on")
    return DayRange(used_on[:limit].count(), by_day.first() or date.max, by_day.last() or date.min)
