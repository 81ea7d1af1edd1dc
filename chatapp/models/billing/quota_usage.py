"""Meters: how much of a limit is used, in words and figures for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.billing.budget_accounts import BudgetAccount
from chatapp.models.billing.limits import Limit, Measure

NEAR = 80  # percent, from which on a person gets a warning


@dataclass(frozen=True)
class QuotaUsage:
    """One account of a limit, in its present period."""

    limit: Limit
    whose: str
    spent: int
    held: int
    overrun: int
    resets_at: datetime | None

    @classmethod
    def of(cls, limit: Limit, account: BudgetAccount | None, whose: str = "") -> "QuotaUsage":
        now = timezone.now()
        shown = account or BudgetAccount(limit=limit)
        shown.limit = limit
        shown.start_new_period(now)
        resets = None if limit.measure == Measure.A_MINUTE else limit.resets_at(now)
        return cls(limit, whose, shown.spent, shown.held, shown.overrun, resets)

    @property
    def percent(self) -> int:
        """Percentage of the cap that is used or held; 100 if the cap is 0."""
        used = self.spent + self.held
        return min(100, 100 * used // self.limit.cap) if self.limit.cap else 100

    @property
    def percent_spent(self) -> int:
        return min(100, 100 * self.spent // self.limit.cap) if self.limit.cap else 100

    @property
    def sentence(self) -> str:
        """85% of your 100,000 tokens a day is used."""
        limit = self.limit
        whose = "your" if self.whose == "you" else "the"
        shared = "" if self.whose == "you" else f" that {limit.whose} share"
        what = f"{limit.amount(limit.cap)}{limit.per}"
        return f"{self.percent_spent}% of {whose} {what}{shared} is used."


def quota_usages(user: User) -> list[QuotaUsage]:
    """Return a meter for every limit that applies to a person's replies."""
    limits = Limit.concerning(user.pk)
    if not limits:
        return []
    accounts = {one.limit_id: one for one in BudgetAccount.objects.of(limits, user.pk)}
    return [QuotaUsage.of(limit, accounts.get(limit.pk), _who(limit)) for limit in limits]


def nearest(meters: Iterable[QuotaUsage]) -> QuotaUsage | None:
    """Return the most used meter that a person should be warned about, or None."""
    counted = (meter for meter in meters if meter.limit.is_of_tokens)
    found = max(counted, key=lambda one: one.percent_spent, default=None)
    return found if found and found.percent_spent >= NEAR else None


def nearest_of(accounts: Iterable[BudgetAccount]) -> QuotaUsage | None:
    return nearest(
        QuotaUsage.of(account.limit, account, _who(account.limit)) for account in accounts
    )


def _who(limit: Limit) -> str:
    return "you" if limit.user_id or limit.has_each_their_own else "all"
