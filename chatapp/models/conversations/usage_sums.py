"""What conversations cost: sums over the usage of their replies and titles."""

from django.db import models
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

from chatapp.models.billing.usage import AT_MOST, Usage
from chatapp.models.conversations.messages import Message


def usage_sums() -> dict[str, Coalesce | CombinedExpression | models.Exists]:
    """Return the annotations of conversations with the usage and cost of replies and title.

    `reply_count`, `total_tokens`, `estimated_tokens` (the estimated part of the total),
    `upper_tokens` (the upper bound of that part) and `unknown_replies` (how many replies the total
    leaves out); `total_cost` and `estimated_cost` in nano-dollars, of replies that had a price; and
    `has_flagged`, whether an upstream's moderation flagged a message. All are subqueries, so that
    joins of later filters do not multiply the sums.
    """
    usage = Usage.objects.filter(message__conversation=models.OuterRef("pk"))
    estimated = usage.filter(provenance=Usage.Provenance.ESTIMATED)
    unknown = usage.filter(provenance=Usage.Provenance.UNKNOWN)
    titles = Usage.objects.filter(pk=models.OuterRef("pk"), kind=Usage.Kind.TITLE)
    guessed = titles.filter(provenance=Usage.Provenance.ESTIMATED)
    flagged = Message.objects.filter(conversation=models.OuterRef("pk"), is_flagged=True)
    return {
        "reply_count": _of_conversation(usage, models.Count("pk")),
        "total_tokens": _of_conversation(usage, models.Sum("total_tokens"))
        + _of_title(titles, "total_tokens"),
        "estimated_tokens": _of_conversation(estimated, models.Sum("total_tokens"))
        + _of_title(guessed, "total_tokens"),
        "upper_tokens": _of_conversation(estimated, models.Sum(AT_MOST))
        + _of_title(guessed, AT_MOST),
        "total_cost": _of_conversation(usage, models.Sum("cost"))
        + Coalesce(_of_title(titles, "cost"), 0),
        "estimated_cost": _of_conversation(estimated, models.Sum("cost"))
        + Coalesce(_of_title(guessed, "cost"), 0),
        "unknown_replies": _of_conversation(unknown, models.Count("pk")),
        "has_flagged": models.Exists(flagged),
    }


def _of_conversation(usage: "models.QuerySet[Usage]", number: models.Aggregate) -> Coalesce:
    group = usage.order_by().values("message__conversation")
    return Coalesce(models.Subquery(group.annotate(number=number).values("number")), 0)


def _of_title(usage: "models.QuerySet[Usage]", tokens: str | Coalesce) -> Coalesce:
    return Coalesce(models.Subquery(usage.values_list(tokens)), 0)
