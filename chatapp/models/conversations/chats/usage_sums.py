"""The cost of conversations: sums over the usage of their replies, titles and summaries."""

from django.db import models
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

from chatapp.models.billing.usage import AT_MOST, Usage
from chatapp.models.conversations.messages.messages import Message

ALL = models.Q()
BY_REPLY, BY_TITLE, BY_SUMMARY = "message__conversation", "message", "conversation"


def usage_sums() -> dict[str, Coalesce | CombinedExpression | models.Exists]:
    """Return the annotations of conversations with their usage and cost.

    `reply_count` and `summary_count`; `total_tokens`, `estimated_tokens` (the estimated part of
    the total), `upper_tokens` (the upper bound of that part) and `unknown_replies` (how many
    replies the total leaves out); `total_cost` and `estimated_cost` in nano-dollars, of what had a
    price; and `has_flagged`, whether an upstream's moderation flagged a message. Sums include the
    title and summaries. All are subqueries, so that joins of later filters do not multiply them.
    """
    estimated = models.Q(provenance=Usage.Provenance.ESTIMATED)
    unknown = models.Q(provenance=Usage.Provenance.UNKNOWN)
    flagged = Message.objects.filter(conversation=models.OuterRef("pk"), is_flagged=True)
    return {
        "reply_count": _number(BY_REPLY, models.Count("pk")),
        "summary_count": _number(BY_SUMMARY, models.Count("pk")),
        "total_tokens": _sum("total_tokens"),
        "estimated_tokens": _sum("total_tokens", estimated),
        "upper_tokens": _sum(AT_MOST, estimated),
        "total_cost": _sum("cost"),
        "estimated_cost": _sum("cost", estimated),
        "unknown_replies": _number(BY_REPLY, models.Count("pk"), unknown),
        "has_flagged": models.Exists(flagged),
    }


def _sum(figure: str | Coalesce, only: models.Q = ALL) -> CombinedExpression:
    """Return the sum of a figure over all that was booked for a conversation."""
    replies, title, summaries = (
        _number(by, models.Sum(figure), only) for by in (BY_REPLY, BY_TITLE, BY_SUMMARY)
    )
    return replies + title + summaries


def _number(by: str, number: models.Aggregate, only: models.Q = ALL) -> Coalesce:
    usage = Usage.objects.filter(only, **{by: models.OuterRef("pk")}).order_by()
    return Coalesce(models.Subquery(usage.values(by).annotate(number=number).values("number")), 0)
