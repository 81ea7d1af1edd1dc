"""What the staff's page shows of limits and prices."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatapp.models import Allowance, Limit, Price, Upstream, Usage, User
from chatapp.models.limits import Period
from chatapp.models.meters import Meter

MOST_PEOPLE = 10  # of whom a limit for each is shown
MOST_PRICES = 200
USED_LATELY = timedelta(days=31)


@dataclass(frozen=True)
class Shown:
    """A limit with its accounts, the fullest first."""

    limit: Limit
    meters: list[Meter]
    unshown: int  # further people


def limits_shown() -> list[Shown]:
    limits = Limit.objects.select_related("user", "group", "upstream").defer("upstream__api_key")
    return [_shown(limit) for limit in limits]


def _shown(limit: Limit) -> Shown:
    accounts = Allowance.objects.filter(limit=limit)
    if not limit.has_each_their_own:
        return Shown(limit, [Meter.of(limit, accounts.filter(user=None).first())], 0)
    theirs = accounts.exclude(user=None).select_related("user")
    current = theirs.filter(Q(held__gt=0) | Q(since__gte=limit.begins(timezone.now())))
    fullest = current.order_by(-(F("spent") + F("held")), "pk")
    meters = [Meter.of(limit, one, str(one.user)) for one in fullest[:MOST_PEOPLE]]
    return Shown(limit, meters, max(0, current.count() - len(meters)))


@dataclass(frozen=True)
class Spent:
    """What somebody has used since a moment, as it was booked."""

    since: datetime
    tokens: int
    estimated_tokens: int
    money: int
    estimated_money: int
    unpriced: int  # replies whose cost nobody knows


def spent_by(user: User) -> Spent:
    """In this month of the installation's zone."""
    since, _ = Period.MONTH.around(timezone.now())
    booked = Usage.objects.filter(user=user, booked_at__gte=since)
    is_estimated = Q(provenance=Usage.Provenance.ESTIMATED)
    sums = booked.aggregate(
        tokens=Coalesce(Sum("total_tokens"), 0),
        estimated_tokens=Coalesce(Sum("total_tokens", filter=is_estimated), 0),
        money=Coalesce(Sum("cost"), 0),
        estimated_money=Coalesce(Sum("cost", filter=is_estimated), 0),
        unpriced=Count("pk", filter=Q(cost=None)),
    )
    return Spent(since, **sums)


def prices_shown() -> list[Price]:
    """All that an administrator said, and of other sources what holds now."""
    prices = Price.objects.select_related("upstream").defer("upstream__api_key")
    said = prices.filter(source=Price.Source.ADMINISTRATOR)
    newest: Mapping[tuple[int, str, str], Price] = {
        (one.upstream_id, one.model, one.source): one
        for one in prices.exclude(source=Price.Source.ADMINISTRATOR).order_by("holds_from", "pk")
    }
    heard = [one for one in newest.values() if one.is_known]
    shown = [*said, *sorted(heard, key=lambda one: (one.upstream.name, one.model))]
    return shown[:MOST_PRICES]


def models_without_price() -> list[tuple[Upstream, str, int]]:
    """Those that replies were asked of lately, which counted tokens alone, and how many."""
    lately = Usage.objects.filter(booked_at__gt=timezone.now() - USED_LATELY, cost=None)
    counted = lately.exclude(total_tokens=None).exclude(upstream=None).exclude(model="")
    rows = list(
        counted.order_by()
        .values_list("upstream", "model")
        .annotate(replies=Count("pk"))
        .order_by("-replies")[:MOST_PEOPLE]
    )
    upstreams = Upstream.objects.defer("api_key").in_bulk([pk for pk, _, _ in rows])
    return [
        (upstreams[pk], model, replies)
        for pk, model, replies in rows
        if pk in upstreams and Price.holding(pk, model) is None
    ]
