"""What conversations are found by, without a look at their messages: sums, and facts.

The database keeps both by triggers (`chatapp.models.facts`); nothing else writes here. Each row has
the day on which its conversation was used last, so that what is found can be read from the newest
on and no further than a page of it. A constraint holds none of them: a process of the version
before, which knows nothing of them, can delete conversations.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from django.db import models

from chatapp.models.statements import rows

LONGEST_NAME = 200  # of a model's or a tool's, as far as it is looked for here


class ConversationSums(models.Model):
    """Of its replies that were not deleted; the cost is in nano-dollars and with its title's."""

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
    # Of prompts and answers that were not deleted; None where they were not counted yet.
    characters = models.BigIntegerField(null=True)
    # Whether what was there before there were sums is among them.
    is_whole = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name_plural = "conversation sums"
        indexes = [
            # The last of each is compared in the index itself, however few there are to be found.
            models.Index(fields=["used_on", "replies"], name="conversations_by_replies"),
            models.Index(fields=["used_on", "cost"], name="conversations_by_cost"),
            models.Index(fields=["used_on", "characters"], name="conversations_by_length"),
            models.Index(
                fields=["conversation"], condition=models.Q(is_whole=False), name="sums_not_whole"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.replies} replies of {self.conversation_id}"


class ConversationFact(models.Model):
    """Something that is so of one of its replies, or was: deleted ones have left theirs behind.

    A kind and its value, as `of_model` and the others say it.
    """

    pk = models.CompositePrimaryKey("conversation", "fact")
    conversation = models.ForeignKey(
        "chatapp.Conversation",
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="facts",
    )
    fact = models.CharField(max_length=LONGEST_NAME + 10)
    used_on = models.DateField()  # by UTC

    class Meta:
        indexes = [
            # The conversation is compared in it too, where another fact is to be so of the same.
            models.Index(fields=["fact", "used_on", "conversation"], name="conversations_with_fact")
        ]

    def __str__(self) -> str:
        return f"{self.fact} in {self.conversation_id}"


def of_model(name: str) -> str:
    return f"model {name}"


def of_upstream(pk: int) -> str:
    return f"upstream {pk}"


def of_tool(name: str) -> str:
    return f"tool {name[:LONGEST_NAME]}"


def of_ending(ending: str) -> str:
    """Not of a complete reply, which almost every conversation has."""
    return f"ending {ending}"


def of_feedback(rating: str = "") -> str:
    """Without a rating: of either."""
    return f"feedback {rating}".strip()


def of_flag(source: str = "") -> str:
    """Without a source: of any."""
    return f"flagged {source}".strip()


def of_category(name: str) -> str:
    """As which moderation flagged a message."""
    return f"category {name[:LONGEST_NAME]}"


def day_of(moment: datetime) -> date:
    """That of `used_on`."""
    return moment.astimezone(UTC).date()


class Spread(NamedTuple):
    """How often something is found, and from which day to which."""

    number: int
    since: date
    until: date


def spreads_of(facts: Sequence[str], days: tuple[date, date], most: int) -> Mapping[str, Spread]:
    """Of each of them, in these days; no more than so many are counted. What is never found ends
    before it begins."""
    found = [str(day) for day in days]
    values = [
        one for fact in facts for one in (fact, fact, *found, fact, *found, fact, *found, most)
    ]
    return {
        fact: Spread(number, _day(since) or date.max, _day(until) or date.min)
        for fact, since, until, number in rows(" UNION ALL ".join([_SPREAD] * len(facts)), values)
    }


def _day(value: date | str | None) -> date | None:
    """SQLite has it as text."""
    return date.fromisoformat(value) if isinstance(value, str) else value


_FOUND = "FROM chatapp_conversationfact WHERE fact = %s AND used_on BETWEEN %s AND %s"
_SPREAD = f"""
SELECT %s, (SELECT MIN(used_on) {_FOUND}), (SELECT MAX(used_on) {_FOUND}),
  (SELECT COUNT(*) FROM (SELECT 1 {_FOUND} LIMIT %s) AS counted)
"""  # noqa: S608 - our own names
