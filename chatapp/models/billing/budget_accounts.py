"""Budget accounts: what was spent of each limit in its current period, and what replies reserve.

A row is the account of one limit, or of one person under it. Spent and held amounts together never
exceed the cap at the time of a reservation: that is made only while the row is locked. Rows are
locked in the order of their ids, after those of a turn or a reply, and missing ones are created in
the order of their limits before any is locked, which prevents deadlocks. A new limit need not be
announced to other processes: each prompt reads the limits.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Self
from uuid import uuid4

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chatapp.db.statements import Insert, Parameter, PreparedIn, Query, Update
from chatapp.models.accounts.users import User
from chatapp.models.billing.limits import EVER_SINCE, Limit, Measure
from chatapp.models.billing.usage import Usage

MAX_PREPARED = (
    20  # limits that the prepared statement takes; with more, the ORM builds one each time
)


class BudgetAccountQuerySet(models.QuerySet["BudgetAccount"]):
    def lock_rows(self) -> Self:
        """Lock the rows for the rest of the transaction, in the order of their ids."""
        rows = self.select_related("limit").order_by("pk")
        return rows.select_for_update(of=("self",), no_key=True)

    def remove_limit(self, limit: Limit) -> None:
        """Delete a limit's accounts, within a transaction; running replies continue without it."""
        accounts = self.filter(limit=limit)
        list(accounts.lock_rows())  # in the same order as settling a reply does
        accounts.delete()

    def for_user(self, limits: Collection[Limit], user: int) -> Self:
        """Return the accounts that a person's replies are charged to under these limits."""
        return self.filter(Q(user=user) | Q(user=None), limit__in=limits)


class BudgetAccount(models.Model):
    """The account of a limit. Amounts are in the unit that the limit measures.

    For concurrent replies, each running one is held; for replies a minute, each one is spent.
    """

    limit = models.ForeignKey(Limit, models.CASCADE, related_name="accounts")
    user = models.ForeignKey(
        User, models.CASCADE, null=True, db_constraint=False, related_name="budget_accounts"
    )
    since = models.DateTimeField(default=EVER_SINCE, help_text="The start of the period.")
    spent = models.PositiveBigIntegerField(default=0, db_default=0)
    held = models.PositiveBigIntegerField(default=0, db_default=0)
    overrun = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="By how much replies exceeded the cap."
    )

    objects = models.Manager.from_queryset(BudgetAccountQuerySet)()

    class Meta:
        db_table = "chatapp_allowance"
        constraints = [
            models.UniqueConstraint(fields=["limit", "user"], name="one_allowance_a_person"),
            models.UniqueConstraint(
                fields=["limit"], condition=Q(user=None), name="one_allowance_for_all"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.spent} + {self.held} of {self.limit.cap}"

    @staticmethod
    def create_missing(limits: Iterable[Limit], user: int) -> None:
        """Create the accounts of these limits that this person's replies need and do not exist."""
        accounts = [
            BudgetAccount(limit=limit, user_id=user if limit.has_each_their_own else None)
            for limit in sorted(limits, key=lambda limit: limit.pk)
        ]
        BudgetAccount.objects.bulk_create(accounts, ignore_conflicts=True)

    @staticmethod
    def lock_accounts(limits: Collection[Limit], user: int) -> "list[BudgetAccount]":
        """Lock and return a person's accounts under these limits, each in its current period.

        Those that are missing are created. Call it within a transaction.
        """
        keys = [limit.pk for limit in limits]
        is_prepared = len(keys) <= MAX_PREPARED
        values = (user, *keys, *[keys[-1]] * (MAX_PREPARED - len(keys)))
        accounts = BudgetAccount.objects.for_user(limits, user)
        # Creating an account waits for other transactions that create it: nothing is locked yet.
        if (_ACCOUNTS_OF_LIMITS.count(*values) if is_prepared else accounts.count()) < len(keys):
            BudgetAccount.create_missing(limits, user)
        return _start_periods(
            _LOCKED_ACCOUNTS.all(*values) if is_prepared else accounts.lock_rows()
        )

    @staticmethod
    def lock_existing(keys: Collection[int]) -> "list[BudgetAccount]":
        """Lock and return the accounts with these keys that still exist."""
        return _start_periods(_ACCOUNTS_BY_KEY.all(sorted(keys)))

    def start_new_period(self, now: datetime) -> None:
        """Reset what was spent if a new period has begun.

        A period begun by a host whose clock is slightly ahead continues. One that begins after the
        end of the current period was begun by a wrong clock, and is reset.
        """
        began, ends = self.limit.begins(now), self.limit.resets_at(now)
        if self.since < began or (ends and self.since > ends):
            self.since, self.spent, self.overrun = began, 0, 0

    @property
    def remaining(self) -> int:
        """The unspent amount; negative if replies exceeded the cap or the cap was lowered."""
        return self.limit.cap - self.spent - self.held

    def charge(self, spent: int, released: int) -> None:
        """Book an additional cost of a reply, and release what was held for it."""
        self.spent = max(0, self.spent + spent)
        self.held = max(0, self.held - released)
        self.overrun = max(self.overrun, self.spent - self.limit.cap, 0)


class BudgetHold(models.Model):
    """The amount that a reply holds in an account, and the amount charged when it ended.

    The message is not a foreign key: the charge outlives it.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    message = models.UUIDField()
    account = models.ForeignKey(
        BudgetAccount, models.CASCADE, db_column="allowance_id", related_name="holds"
    )
    process = models.UUIDField(help_text="The process that runs the reply.")
    held = models.PositiveBigIntegerField(default=0)
    spent = models.PositiveBigIntegerField(default=0)
    since = models.DateTimeField(
        default=EVER_SINCE, help_text="The start of the period that was charged."
    )
    overrun = models.PositiveBigIntegerField(
        default=0, help_text="By how much the cost exceeded what was held."
    )
    settled_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "chatapp_share"
        constraints = [
            models.UniqueConstraint(fields=["message", "account"], name="one_share_a_reply")
        ]
        indexes = [
            models.Index(fields=["process"], condition=Q(settled_at=None), name="shares_held")
        ]

    def __str__(self) -> str:
        return f"{self.held} held, {self.spent} spent"

    def settle(self, account: BudgetAccount, cost: int) -> None:
        """Charge the reply's total cost, or the difference to what was charged before."""
        if self.settled_at is None:
            self.overrun = max(0, cost - self.held)
        in_this_period = self.since == account.since
        more = cost - self.spent
        account.charge(more if in_this_period else max(0, more), self.held)
        self.held, self.spent = 0, cost
        self.since, self.settled_at = account.since, timezone.now()


def settle(usages: Iterable[Usage]) -> None:
    """Charge each reply's cost to its accounts and release what was held for it.

    Call it in the transaction that books the usage. Calling it again charges only the difference.
    """
    by_reply = {usage.message_id: usage for usage in usages}
    holds = _HOLDS_OF_REPLIES.all(by_reply)
    keys = {hold.account_id for hold in holds}
    if not (by_account := {account.pk: account for account in BudgetAccount.lock_existing(keys)}):
        return
    # Read them again under the lock: another process may have just settled them.
    unique = {hold.pk: hold for hold in _HOLDS_OF_REPLIES.all(by_reply)}.values()
    holds = [hold for hold in unique if hold.account_id in by_account]
    for hold in holds:
        account = by_account[hold.account_id]
        hold.settle(account, compute_charge(account.limit, by_reply[hold.message]))
    UPDATE_SETTLED.run(*holds)
    UPDATE_ACCOUNTS.run(*by_account.values())


def compute_charge(limit: Limit, usage: Usage) -> int:
    """Return the amount that a reply is charged: its known or estimated usage, else 0."""
    if limit.measure == Measure.MONEY:
        return usage.cost or 0
    return (usage.total_tokens or 0) if limit.measure == Measure.TOKENS else 0


def _start_periods(accounts: Iterable[BudgetAccount]) -> list[BudgetAccount]:
    """Return each account once, reset if a new period has begun."""
    now = timezone.now()
    unique_accounts = list({account.pk: account for account in accounts}.values())
    for account in unique_accounts:
        account.start_new_period(now)
    return unique_accounts


def _filter_by_limits(user: Parameter, limits: Iterable[Parameter]) -> BudgetAccountQuerySet:
    return BudgetAccount.objects.filter(
        Q(user=user) | Q(user=None), reduce(or_, [Q(limit=limit) for limit in limits])
    )


UPDATE_ACCOUNTS = Update(BudgetAccount, ["since", "spent", "held", "overrun"])
UPDATE_HELD = Update(BudgetHold, ["held"])
INSERT_HOLDS = Insert(BudgetHold)
UPDATE_SETTLED = Update(BudgetHold, ["held", "spent", "since", "overrun", "settled_at"])
_KEYS = (User._meta.pk, *[Limit._meta.pk] * MAX_PREPARED)
_ACCOUNTS_OF_LIMITS = Query(
    lambda user, *limits: _filter_by_limits(user, limits).order_by(), *_KEYS
)
_LOCKED_ACCOUNTS = Query(lambda user, *limits: _filter_by_limits(user, limits).lock_rows(), *_KEYS)
_ACCOUNTS_BY_KEY = PreparedIn(
    lambda *keys: BudgetAccount.objects.filter(pk__in=keys).lock_rows(), BudgetAccount._meta.pk
)
_HOLDS_OF_REPLIES = PreparedIn(
    lambda *replies: BudgetHold.objects.filter(message__in=replies).order_by(),
    BudgetHold._meta.get_field("message"),
)
