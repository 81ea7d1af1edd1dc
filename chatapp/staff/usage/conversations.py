"""What one conversation cost, all its branches: from the ledger, since no sums are kept of one."""

from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, Q, QuerySet, Sum
from django.db.models.expressions import RawSQL

from chatapp.models import Conversation, Message, Usage
from chatapp.models.daily_usage import SUMS
from chatapp.staff.usage.figures import Figures, added

_SUMS: dict[str, Any] = {
    f"sum_{name}": Sum(
        RawSQL(one.format(row=Usage._meta.db_table), (), BigIntegerField())  # noqa: S611 - our own
    )
    for name, one in SUMS.items()
}
_FIRST_CHOICE = Q(choice=None) | Q(choice=0)  # for which all choices of a response are booked


@dataclass(frozen=True)
class Spent:
    """`total` has what was deleted as long as it can be brought back. The row of what is deleted
    for good stays in the ledger too, but says no more where it was written."""

    total: Figures
    being_written: int  # replies, which are booked once they end
    copied: int  # replies, which are booked where they were written


def spent(conversation: Conversation) -> Spent:
    replies = _figures(Usage.objects.filter(message__conversation=conversation))
    title = _figures(Usage.objects.filter(pk=conversation.pk))
    streaming = conversation.messages.streaming()
    unbooked = conversation.messages.filter(_FIRST_CHOICE, role=Message.Role.ASSISTANT, usage=None)
    copied = unbooked.exclude(ending=Message.STREAMING)
    return Spent(added([replies, title], SUMS), streaming.count(), copied.count())


def _figures(rows: QuerySet[Usage]) -> Figures:
    sums = rows.order_by().aggregate(**_SUMS)
    return Figures("", {name: int(sums[f"sum_{name}"] or 0) for name in SUMS})
