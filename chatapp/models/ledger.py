"""Completes rows of the ledger that say what a reply cost and not whom, or name no day; so each
comes into the sums (`rollup`).

Those from before there was a ledger are completed after `migrate`, a few at a time, since whoever
ends a reply meanwhile must not wait long. Those that a process of the version before books while
an upgrade runs, workers complete later; it can go with the version that follows 0.4.
"""

from contextlib import suppress
from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.core.exceptions import FieldDoesNotExist
from django.db import connections
from django.db.models import BigIntegerField, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, Now
from django.db.models.signals import post_migrate
from django.dispatch import receiver

from chatapp.models import rollup
from chatapp.models.messages import Message
from chatapp.models.usage import Usage

AT_ONCE = 1000


@receiver(post_migrate)
def after_migrating(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
    if sender.name != "chatapp":
        return
    with suppress(LookupError, FieldDoesNotExist):  # it was migrated back to before the sums
        apps.get_model("chatapp", "Usage")._meta.get_field("day")
        rollup.make_triggers(connections[using])
        while complete():
            pass


def complete() -> int:
    """Says of as many rows as may be at once whose they are and how they ended, from their
    messages, and of which day; returns how many there were. One that has lost its message is left
    as nobody's."""
    keys = list(Usage.objects.filter(day=None).values_list("pk", flat=True)[:AT_ONCE])
    if not keys:
        return 0
    lacking = Usage.objects.filter(pk__in=keys, day=None)
    replies = Message.objects.filter(pk=OuterRef("pk")).order_by()
    lacking.filter(booked_at=None).update(
        user=Subquery(replies.values("conversation__user")),
        upstream=Subquery(replies.values("upstream")),
        upstream_name=Coalesce(Subquery(replies.values("upstream__name")), Value("")),
        model=Coalesce(Subquery(replies.values("model")), Value("")),
        booked_at=Coalesce(Subquery(replies.values("created_at")), Now()),
    )
    lacking.filter(Q(ending="") | Q(ending="streaming"), kind=Usage.Kind.REPLY).update(
        ending=Coalesce(Subquery(replies.values("ending")), Value("")),
        first_token_ms=Subquery(_milliseconds(replies, "time_to_first_token")),
        duration_ms=Subquery(_milliseconds(replies, "duration")),
    )
    rollup.name_days(lacking)
    return len(keys)


def _milliseconds(replies: QuerySet[Message], field: str) -> Any:
    return replies.annotate(ms=Cast(F(field) * 1000, BigIntegerField())).values("ms")
