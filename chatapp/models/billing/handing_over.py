"""Moves a reply's budget from a model that failed to the one that is asked in its place."""

from uuid import UUID

from django.db.models import F

from chatapp.models.billing.budget_accounts import BudgetAccount, BudgetHold, settle
from chatapp.models.billing.limits import Limit, Measure
from chatapp.models.billing.usage import Usage


def release(reply: UUID, usage: Usage, user: int, upstream: int, model: str) -> None:
    """Charge what the model that failed cost, and release what the reply holds for it.

    `usage` has a key of its own, and is booked if anything was used. Call this in the transaction
    that then admits the reply for `model`. A reply counts once for a limit on replies per minute
    that concerns both models.
    """
    limits = [limit for limit in Limit.for_user(user) if limit.concerns(upstream, model)]
    holds = BudgetHold.objects.filter(message=reply)
    held_accounts = set(holds.values_list("account", flat=True))
    if limits or held_accounts:
        # The accounts of both models are locked together, because all lock them in one order.
        BudgetAccount.create_missing(limits, user)
        needed = BudgetAccount.objects.for_user(limits, user).values_list("pk", flat=True)
        BudgetAccount.lock_existing({*held_accounts, *needed})
        holds.update(message=usage.message_id)
        settle([usage])
        both = BudgetAccount.objects.filter(pk__in=held_accounts, limit__in=limits, spent__gt=0)
        both.filter(limit__measure=Measure.A_MINUTE).update(spent=F("spent") - 1)
    if usage.total_tokens:
        Usage.book([usage])
