"""The usage of one conversation, across all its branches.

Read from the ledger, as sums are not stored per conversation.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, Q, QuerySet, Sum
from django.db.models.expressions import RawSQL

from chatapp.models import Conversation, Message, Usage
from chatapp.models.billing.daily_usage import SUMS
from chatapp.staff.usage.figures import Figures, add_figures

_SUMS: dict[str, Any] = {
    f"sum_{name}": Sum(
        RawSQL(sum_sql.format(row=Usage._meta.db_table), (), BigIntegerField())  # noqa: S611 - our own
    )
    for name, sum_sql in SUMS.items()
}
_FIRST_CHOICE = Q(choice=None) | Q(choice=0)  # all choices of a response are booked for this one


@dataclass(frozen=True)
class ConversationUsage:
    """The usage of a conversation.

    `total` includes deleted messages while they can be restored. The ledger keeps the rows of
    purged messages too, but no longer their conversation.
    """

    total: Figures
    summaries: int
    being_written: int  # replies, booked when they end
    copied: int  # replies, booked in the conversation they were written in


def load_conversation_usage(conversation: Conversation) -> ConversationUsage:
    """Return the usage of a conversation's replies, its title and its summaries."""
    replies = _figures(Usage.objects.filter(message__conversation=conversation))
    title = _figures(Usage.objects.filter(pk=conversation.pk))
    summaries = _figures(Usage.objects.filter(conversation=conversation.pk))
    streaming = conversation.messages.streaming()
    unbooked = conversation.messages.filter(_FIRST_CHOICE, role=Message.Role.ASSISTANT, usage=None)
    copied = unbooked.exclude(ending=Message.STREAMING)
    total = add_figures([replies, title, summaries], SUMS)
    return ConversationUsage(total, summaries["booked"], streaming.count(), copied.count())


def _figures(rows: QuerySet[Usage]) -> Figures:
    sums = rows.order_by().aggregate(**_SUMS)
    return Figures("", {name: int(sums[f"sum_{name}"] or 0) for name in SUMS})
