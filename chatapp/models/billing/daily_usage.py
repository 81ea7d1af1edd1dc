"""Daily and monthly sums of the ledger, which the usage pages read instead of the ledger itself.

Each row of the ledger counts in one row of either table, by the day that it names. Database
triggers maintain both tables (`chatapp.models.billing.rollup`); nothing else writes to them.
"""

from collections.abc import Mapping

from django.db import models

from chatapp.upstream.wire.reply import Ending

PEOPLE_ENDED = (Ending.STOPPED, Ending.ABANDONED)
RULES_ENDED = (
    Ending.LENGTH,
    Ending.CONTENT_FILTER,
    Ending.REFUSED,
    Ending.NO_ANSWER,
    Ending.OVER_BUDGET,
)
FAILED = (Ending.FAILED, Ending.CUT_OFF, Ending.TIMED_OUT, Ending.INTERRUPTED)
KEY = ("day", "person", "upstream_name", "model")


def _where(condition: str, count: str = "1") -> str:
    return f"CASE WHEN {condition} THEN coalesce({count}, 0) ELSE 0 END"


def _count_endings(*endings: Ending) -> str:
    listed = ", ".join(f"'{ending}'" for ending in endings)
    return _where(f"{{row}}.ending IN ({listed})")


MEASURABLE_MS = 250  # a reply that took less arrived in one piece, so its speed means nothing
_HAS_SPEED = (
    f"{{row}}.duration_ms - {{row}}.first_token_ms >= {MEASURABLE_MS}"
    " AND {row}.completion_tokens IS NOT NULL"
)
_IS_ESTIMATED = "{row}.provenance = 'estimated'"
# What a row of the ledger adds to each column, as SQL for both SQLite and PostgreSQL. Only
# integers, so that the sums do not depend on the order of addition.
SUMS: Mapping[str, str] = {
    "booked": "1",
    "replies": _where("{row}.kind = 'reply'"),
    "requests": _where("{row}.kind = 'api'"),
    "prompt_tokens": "coalesce({row}.prompt_tokens, 0)",
    "cached_tokens": "coalesce({row}.cached_tokens, 0)",
    "completion_tokens": "coalesce({row}.completion_tokens, 0)",
    "reasoning_tokens": "coalesce({row}.reasoning_tokens, 0)",
    "estimated_tokens": _where(
        _IS_ESTIMATED,
        "coalesce({row}.prompt_tokens, 0) + coalesce({row}.completion_tokens, 0)",
    ),
    "unknown": _where("{row}.provenance = 'unknown'"),
    "cost": "coalesce({row}.cost, 0)",
    "estimated_cost": _where(_IS_ESTIMATED, "{row}.cost"),
    "unpriced": _where("{row}.cost IS NULL"),
    "with_fees": _where("{row}.cost IS NOT NULL AND {row}.extra_fees > 0"),
    "complete": _count_endings(Ending.COMPLETE),
    "stopped": _count_endings(*PEOPLE_ENDED),
    "limited": _count_endings(*RULES_ENDED),
    "failed": _count_endings(*FAILED),
    "timed": _where("{row}.first_token_ms IS NOT NULL"),
    "first_token_ms": "coalesce({row}.first_token_ms, 0)",
    "written_tokens": _where(_HAS_SPEED, "{row}.completion_tokens"),
    "written_ms": _where(_HAS_SPEED, "{row}.duration_ms - {row}.first_token_ms"),
}


class UsageSums(models.Model):
    """The columns of both tables. `person` is a primary key, or 0 if that person was deleted."""

    day = models.DateField()
    person = models.BigIntegerField()
    upstream_name = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    booked = models.BigIntegerField(help_text="Rows of the ledger: replies and titles.")
    replies = models.BigIntegerField()
    requests = models.BigIntegerField(db_default=0, help_text="Over the API.")
    prompt_tokens = models.BigIntegerField()
    cached_tokens = models.BigIntegerField()
    completion_tokens = models.BigIntegerField()
    reasoning_tokens = models.BigIntegerField()
    estimated_tokens = models.BigIntegerField()
    unknown = models.BigIntegerField(help_text="Rows with unknown token counts.")
    cost = models.BigIntegerField(help_text="In nano-dollars.")
    estimated_cost = models.BigIntegerField()
    unpriced = models.BigIntegerField(help_text="Rows with unknown cost.")
    with_fees = models.BigIntegerField(
        db_default=0, help_text="Rows whose cost leaves out fees for searches or tools."
    )
    complete = models.BigIntegerField()
    stopped = models.BigIntegerField(help_text="Stopped by the person.")
    limited = models.BigIntegerField(help_text="Ended by a limit, a filter or the model itself.")
    failed = models.BigIntegerField()
    timed = models.BigIntegerField(help_text="Replies with a known time to first token.")
    first_token_ms = models.BigIntegerField()
    written_tokens = models.BigIntegerField(help_text="Tokens of replies with a known speed.")
    written_ms = models.BigIntegerField(help_text="The time it took to write these tokens.")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.day}: {self.booked} of {self.model}"


class DailyUsage(UsageSums):
    class Meta:
        verbose_name_plural = "daily usage"
        constraints = [models.UniqueConstraint(fields=KEY, name="one_daily_usage")]
        indexes = [models.Index(fields=["person", "day"])]


class MonthlyUsage(UsageSums):
    """`day` is the first of the month."""

    class Meta:
        verbose_name_plural = "monthly usage"
        constraints = [models.UniqueConstraint(fields=KEY, name="one_monthly_usage")]
        indexes = [models.Index(fields=["person", "day"])]
