"""Meters: how much of a limit is left, in words and figures for people.

What running replies hold is an upper bound of what they may use, and usually far too high. So no
figure includes it: what they really used is counted when they end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.billing.budget_accounts import BudgetAccount
from chatapp.models.billing.limits import Limit, Measure

WARNING_PERCENT = 20  # percent; with less than this left, a person gets a warning


@dataclass(frozen=True)
class LimitWarning:
    """The warning that a person reads when little is left of a limit."""

    sentence: str
    resets_at: datetime | None


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
        period_account = account or BudgetAccount(limit=limit)
        period_account.limit = limit
        period_account.start_new_period(now)
        resets = None if limit.measure == Measure.A_MINUTE else limit.resets_at(now)
        return cls(
            limit, whose, period_account.spent, period_account.held, period_account.overrun, resets
        )

    @property
    def remaining(self) -> int:
        """The amount that is left; for replies at once, the number that may still start now."""
        used = self.held if self.limit.measure == Measure.AT_ONCE else self.spent
        return max(0, self.limit.cap - used)

    @property
    def percent_left(self) -> int:
        """Percentage of the cap, rounded up so that only nothing is 0."""
        return -(-100 * self.remaining // self.limit.cap) if self.limit.cap else 0

    @property
    def in_words(self) -> str:
        """15,000 of 100,000 tokens left"""
        limit = self.limit
        if limit.measure == Measure.AT_ONCE:
            return f"{self.held:,} of {limit.cap:,} running"
        return f"{limit.number(self.remaining)} of {limit.amount(limit.cap)} left"

    @property
    def sentence(self) -> str:
        """15,000 left of your 100,000 tokens a day."""
        limit, is_own = self.limit, self.whose == "you"
        what = f"{limit.amount(limit.cap)}{limit.per}"
        what += "" if is_own else f" for {limit.people}"
        what += f" with {limit.target}" if limit.target else ""
        if not self.remaining:
            end = "reached" if limit.measure == Measure.AT_ONCE else "used up"
            return f"{'Your' if is_own else 'The'} limit of {what} is {end}."
        return f"{limit.number(self.remaining)} left of {'your' if is_own else 'the'} {what}."


def quota_usages(user: User) -> list[QuotaUsage]:
    """Return a meter for every limit that applies to a person's replies."""
    limits = Limit.for_user(user.pk)
    if not limits:
        return []
    accounts = {
        account.limit_id: account for account in BudgetAccount.objects.for_user(limits, user.pk)
    }
    return [QuotaUsage.of(limit, accounts.get(limit.pk), _name_holder(limit)) for limit in limits]


def warning(meters: Iterable[QuotaUsage]) -> LimitWarning | None:
    """Return a warning about the limit that is closest to being used up, if any is close."""
    counted = (meter for meter in meters if meter.limit.is_of_tokens)
    least = min(counted, key=lambda meter: meter.percent_left, default=None)
    if least is None or least.percent_left > WARNING_PERCENT:
        return None
    return LimitWarning(least.sentence, least.resets_at)


def build_usage(account: BudgetAccount) -> QuotaUsage:
    return QuotaUsage.of(account.limit, account, _name_holder(account.limit))


def _name_holder(limit: Limit) -> str:
    return "you" if limit.user_id or limit.has_each_their_own else "all"
