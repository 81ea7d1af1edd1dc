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

NEAR = 20  # percent; with less than this left, a person gets a warning


@dataclass(frozen=True)
class LimitWarning:
    """What a person reads when little is left of a limit."""

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
        shown = account or BudgetAccount(limit=limit)
        shown.limit = limit
        shown.start_new_period(now)
        resets = None if limit.measure == Measure.A_MINUTE else limit.resets_at(now)
        return cls(limit, whose, shown.spent, shown.held, shown.overrun, resets)

    @property
    def left(self) -> int:
        """What is left; of replies at once, how many more may run now."""
        used = self.held if self.limit.measure == Measure.AT_ONCE else self.spent
        return max(0, self.limit.cap - used)

    @property
    def percent_left(self) -> int:
        """Percentage of the cap, rounded up so that only nothing is 0."""
        return -(-100 * self.left // self.limit.cap) if self.limit.cap else 0

    @property
    def in_words(self) -> str:
        """15,000 of 100,000 tokens left"""
        limit = self.limit
        if limit.measure == Measure.AT_ONCE:
            return f"{self.held:,} of {limit.cap:,} running"
        return f"{limit.number(self.left)} of {limit.amount(limit.cap)} left"

    @property
    def sentence(self) -> str:
        """15,000 left of your 100,000 tokens a day."""
        limit, is_own = self.limit, self.whose == "you"
        what = f"{limit.amount(limit.cap)}{limit.per}"
        what += "" if is_own else f" for {limit.people}"
        what += f" with {limit.target}" if limit.target else ""
        if not self.left:
            end = "reached" if limit.measure == Measure.AT_ONCE else "used up"
            return f"{'Your' if is_own else 'The'} limit of {what} is {end}."
        return f"{limit.number(self.left)} left of {'your' if is_own else 'the'} {what}."


def quota_usages(user: User) -> list[QuotaUsage]:
    """Return a meter for every limit that applies to a person's replies."""
    limits = Limit.concerning(user.pk)
    if not limits:
        return []
    accounts = {one.limit_id: one for one in BudgetAccount.objects.of(limits, user.pk)}
    return [QuotaUsage.of(limit, accounts.get(limit.pk), _who(limit)) for limit in limits]


def warning(meters: Iterable[QuotaUsage]) -> LimitWarning | None:
    """Return a warning about the limit that is closest to being used up, if any is close."""
    counted = (meter for meter in meters if meter.limit.is_of_tokens)
    least = min(counted, key=lambda one: one.percent_left, default=None)
    if least is None or least.percent_left > NEAR:
        return None
    return LimitWarning(least.sentence, least.resets_at)


def usage_of(account: BudgetAccount) -> QuotaUsage:
    return QuotaUsage.of(account.limit, account, _who(account.limit))


def _who(limit: Limit) -> str:
    return "you" if limit.user_id or limit.has_each_their_own else "all"
