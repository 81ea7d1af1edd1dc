"""Release budget holds that no process will settle any more, and delete old settled ones."""

from datetime import datetime

from django.db import models, transaction

from chatapp.models.billing.budget_accounts import BudgetHold, settle
from chatapp.models.billing.usage import Usage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.platform.processes import Process

AT_ONCE = 100


@transaction.atomic
def release_lost_holds() -> int:
    """Settle the holds of replies that were deleted while they streamed in a process that died;
    return the number of replies."""
    alive = Process.objects.filter(pk=models.OuterRef("process"))
    streaming = Message.objects.streaming().filter(pk=models.OuterRef("message"))
    lost = BudgetHold.objects.filter(
        ~models.Exists(alive), ~models.Exists(streaming), settled_at=None
    )
    replies = set(lost.values_list("message", flat=True)[:AT_ONCE])
    booked = {usage.pk: usage for usage in Usage.objects.filter(pk__in=replies)}
    settle(booked.get(reply) or Usage(message_id=reply) for reply in replies)
    return len(replies)


def delete_settled_holds(before: datetime) -> int:
    """Delete holds that were settled before this moment, a portion at a time; return the number.

    Choose a moment so old that no process saves those replies again.
    """
    old = BudgetHold.objects.filter(settled_at__lt=before).values_list("pk", flat=True)[:AT_ONCE]
    return BudgetHold.objects.filter(pk__in=list(old)).delete()[0]
