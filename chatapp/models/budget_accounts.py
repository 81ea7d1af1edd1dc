"""Budget accounts: what was spent of each limit in its current period, and what replies reserve.

A row is the account of one limit, or of one person under it. Spent and held amounts together never
exceed the cap at the time of a reservation: that is made only while the row is locked. Rows are
locked in the order of their ids, after those of a turn or a reply, which prevents deadlocks. A new
limit need not be announced to other processes: each prompt reads the limits.
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

from chatapp.models.limits import EVER_SINCE, Limit, Measure
from chatapp.models.statements import Insert, PreparedIn, Query, Update
from chatapp.models.usage import Usage
from chatapp.models.users import User

MAX_PREPARED = (
    20  # limits that the prepared statement takes; with more, the ORM builds one each time
)


class AllowanceQuerySet(models.QuerySet["Allowance"]):
    def to_be_locked(self) -> Self:
        """Lock the rows for the rest of the transaction, in the order of their ids."""
        rows = self.select_related("limit").order_by("pk")
        return rows.select_for_update(of=("self",), no_key=True)

    def remove_of(self, limit: Limit) -> None:
        """Delete a limit's accounts, within a transaction; running replies continue without it."""
        accounts = self.filter(limit=limit)
        list(accounts.to_be_locked())  # in the same order as settling a reply does
        accounts.delete()

    def of(self, limits: Collection[Limit], user: int) -> Self:
        """Return the accounts that a person's replies are charged to under these limits."""
        return self.filter(Q(user=user) | Q(user=None), limit__in=limits)


class Allowance(models.Model):
    """The account of a limit. Amounts are in the unit that the limit measures.

    For concurrent replies, each running one is held; for replies a minute, each one is spent.
    """

    limit = models.ForeignKey(Limit, models.CASCADE, related_name="allowances")
    user = models.ForeignKey(
        User, models.CASCADE, null=True, db_constraint=False, related_name="allowances"
    )
    since = models.DateTimeField(default=EVER_SINCE, help_text="The period that this is spent in.")
    spent = models.PositiveBigIntegerField(default=0, db_default=0)
    held = models.PositiveBigIntegerField(default=0, db_default=0)
    overrun = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="By how much replies went beyond the cap."
    )

    objects = models.Manager.from_queryset(AllowanceQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["limit", "user"], name="one_allowance_a_person"),
            models.UniqueConstraint(
                fields=["limit"], condition=Q(user=None), name="one_allowance_for_all"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.spent} + {self.held} of {self.limit.cap}"

    @staticmethod
    def make_missing(limits: Iterable[Limit], user: int) -> None:
        """Create the accounts of these limits that this person's replies need and do not exist."""
        accounts = [
            Allowance(limit=one, user_id=user if one.has_each_their_own else None) for one in limits
        ]
        Allowance.objects.bulk_create(accounts, ignore_conflicts=True)

    @staticmethod
    def locked(limits: Collection[Limit], user: int) -> "list[Allowance]":
        """Lock and return a person's accounts under these limits, each in its current period.

        Call it within a transaction.
        """
        keys = [one.pk for one in limits]
        if len(keys) > MAX_PREPARED:
            return _present(Allowance.objects.of(limits, user).to_be_locked())
        return _present(_OF_LIMITS.all(user, *keys, *[keys[-1]] * (MAX_PREPARED - len(keys))))

    @staticmethod
    def locked_again(keys: Collection[int]) -> "list[Allowance]":
        """Lock and return the accounts with these keys that still exist."""
        return _present(_OF_KEYS.all(sorted(keys)))

    def begin_anew(self, now: datetime) -> None:
        """Reset what was spent if a new period has begun.

        A period begun by a host whose clock is slightly ahead continues. One that begins after the
        end of the current period was begun by a wrong clock, and is reset.
        """
        began, ends = self.limit.begins(now), self.limit.begins_anew(now)
        if self.since < began or (ends and self.since > ends):
            self.since, self.spent, self.overrun = began, 0, 0

    @property
    def left(self) -> int:
        """The unspent amount; negative if replies exceeded the cap or the cap was lowered."""
        return self.limit.cap - self.spent - self.held

    def charge(self, spent: int, released: int) -> None:
        """Book an additional cost of a reply, and release what was held for it."""
        self.spent = max(0, self.spent + spent)
        self.held = max(0, self.held - released)
        self.overrun = max(self.overrun, self.spent - self.limit.cap, 0)


class Share(models.Model):
    """What a reply holds of an allowance, and what was charged when it ended.

    The message is not a foreign key: the charge outlives it.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    message = models.UUIDField()
    allowance = models.ForeignKey(Allowance, models.CASCADE, related_name="shares")
    process = models.UUIDField(help_text="In which the reply streams.")
    held = models.PositiveBigIntegerField(default=0)
    spent = models.PositiveBigIntegerField(default=0)
    since = models.DateTimeField(default=EVER_SINCE, help_text="The period it was charged to.")
    overrun = models.PositiveBigIntegerField(
        default=0, help_text="By how much it cost more than was held for it."
    )
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["message", "allowance"], name="one_share_a_reply")
        ]
        indexes = [
            models.Index(fields=["process"], condition=Q(settled_at=None), name="shares_held")
        ]

    def __str__(self) -> str:
        return f"{self.held} held, {self.spent} spent"

    def settle(self, allowance: Allowance, cost: int) -> None:
        """Charge the reply's total cost, or the difference to what was charged before."""
        if self.settled_at is None:
            self.overrun = max(0, cost - self.held)
        in_this_period = self.since == allowance.since
        more = cost - self.spent
        allowance.charge(more if in_this_period else max(0, more), self.held)
        self.held, self.spent = 0, cost
        self.since, self.settled_at = allowance.since, timezone.now()


def settle(usages: Iterable[Usage]) -> None:
    """Charge each reply's cost to its accounts and release what was held for it.

    Call it in the transaction that books the usage. Calling it again charges only the difference.
    """
    by_reply = {usage.message_id: usage for usage in usages}
    shares = _OF_REPLIES.all(by_reply)
    keys = {share.allowance_id for share in shares}
    if not (by_allowance := {one.pk: one for one in Allowance.locked_again(keys)}):
        return
    # Read them again under the lock: another process may have just settled them.
    unique = {share.pk: share for share in _OF_REPLIES.all(by_reply)}.values()
    shares = [share for share in unique if share.allowance_id in by_allowance]
    for share in shares:
        allowance = by_allowance[share.allowance_id]
        share.settle(allowance, charged(allowance.limit, by_reply[share.message]))
    SETTLED.run(*shares)
    KEPT.run(*by_allowance.values())


def charged(limit: Limit, usage: Usage) -> int:
    """Return the amount that a reply is charged: its known or estimated usage, else 0."""
    if limit.measure == Measure.MONEY:
        return usage.cost or 0
    return (usage.total_tokens or 0) if limit.measure == Measure.TOKENS else 0


def _present(allowances: Iterable[Allowance]) -> list[Allowance]:
    """Return each account once, reset if a new period has begun."""
    now = timezone.now()
    found = list({one.pk: one for one in allowances}.values())
    for allowance in found:
        allowance.begin_anew(now)
    return found


KEPT = Update(Allowance, ["since", "spent", "held", "overrun"])
HELD = Update(Share, ["held"])
TAKEN = Insert(Share)
SETTLED = Update(Share, ["held", "spent", "since", "overrun", "settled_at"])
_OF_LIMITS = Query(
    lambda user, *limits: Allowance.objects.filter(
        Q(user=user) | Q(user=None), reduce(or_, [Q(limit=one) for one in limits])
    ).to_be_locked(),
    User._meta.pk,
    *[Limit._meta.pk] * MAX_PREPARED,
)
_OF_KEYS = PreparedIn(
    lambda *keys: Allowance.objects.filter(pk__in=keys).to_be_locked(), Allowance._meta.pk
)
_OF_REPLIES = PreparedIn(
    lambda *replies: Share.objects.filter(message__in=replies).order_by(),
    Share._meta.get_field("message"),
)
