"""Complete rows of the ledger that lack the person or the day, so that the sums (`rollup`) count
them.

Rows from before there was a ledger are completed after `migrate`, a few at a time, because replies
that end meanwhile must not wait long. Rows that a process of the previous version books during an
upgrade are completed by workers later. This can be removed in the version after 0.4.
"""

from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigIntegerField, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, Now

from chatapp.db.sql_files import after_migrate
from chatapp.models.billing.rollup import name_days
from chatapp.models.billing.usage import Usage
from chatapp.models.conversations.messages.messages import Message

AT_ONCE = 1000


@after_migrate("DailyUsage", "with_fees")  # the last column of the sums
def after_migrating(connection: BaseDatabaseWrapper) -> None:
    """Complete all rows once the migrations are committed, because others wait for a writer."""
    transaction.on_commit(complete_all, connection.alias)


def complete_all() -> None:
    while complete():
        pass


def complete() -> int:
    """Complete one batch of rows from their messages; return how many there were.

    Fills in the person, the ending and the day. A row without a message gets no person.
    """
    keys = list(Usage.objects.filter(day=None).values_list("pk", flat=True)[:AT_ONCE])
    if not keys:
        return 0
    incomplete = Usage.objects.filter(pk__in=keys, day=None)
    replies = Message.objects.filter(pk=OuterRef("pk")).order_by()
    incomplete.filter(booked_at=None).update(
        user=Subquery(replies.values("conversation__user")),
        upstream=Subquery(replies.values("upstream")),
        upstream_name=Coalesce(Subquery(replies.values("upstream__name")), Value("")),
        model=Coalesce(Subquery(replies.values("model")), Value("")),
        booked_at=Coalesce(Subquery(replies.values("created_at")), Now()),
    )
    incomplete.filter(Q(ending="") | Q(ending="streaming"), kind=Usage.Kind.REPLY).update(
        ending=Coalesce(Subquery(replies.values("ending")), Value("")),
        first_token_ms=Subquery(_milliseconds(replies, "time_to_first_token")),
        duration_ms=Subquery(_milliseconds(replies, "duration")),
    )
    name_days(incomplete)
    return len(keys)


def _milliseconds(replies: QuerySet[Message], field: str) -> Any:
    return replies.annotate(ms=Cast(F(field) * 1000, BigIntegerField())).values("ms")
