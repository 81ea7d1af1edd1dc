"""Queries for the pages of limits and prices: meters, previews, known prices."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, F, Q, Sum
from django.utils import timezone

from chatapp.models import BudgetAccount, Limit, Price, Upstream, Usage, User
from chatapp.models.billing.limits import Measure, Period
from chatapp.models.billing.quota_usage import QuotaUsage

MAX_PEOPLE = 10  # shown below a limit that applies to each person separately
MAX_PRICES = 200
MOST_USED = 3  # people named in a preview
USED_LATELY = timedelta(days=31)


@dataclass(frozen=True)
class LimitUsage:
    """A limit with a meter per account, the fullest first."""

    limit: Limit
    meters: list[QuotaUsage]
    unshown: int  # how many more people have used some of it


def load_limits() -> list[LimitUsage]:
    """Return every limit with its meters."""
    limits = Limit.objects.select_related("user", "group", "upstream").defer("upstream__api_key")
    return [_load_limit_usage(limit) for limit in limits]


def _load_limit_usage(limit: Limit) -> LimitUsage:
    accounts = BudgetAccount.objects.filter(limit=limit)
    if not limit.has_each_their_own:
        return LimitUsage(limit, [QuotaUsage.of(limit, accounts.filter(user=None).first())], 0)
    each = accounts.exclude(user=None).select_related("user")
    current = each.filter(Q(held__gt=0) | Q(since__gte=limit.begins(timezone.now())))
    fullest = current.order_by(-(F("spent") + F("held")), "pk")
    meters = [QuotaUsage.of(limit, account, str(account.user)) for account in fullest[:MAX_PEOPLE]]
    return LimitUsage(limit, meters, max(0, current.count() - len(meters)))


def load_prices() -> list[Price]:
    """Return every price an administrator set, and the newest price from each other source."""
    prices = Price.objects.select_related("upstream").defer("upstream__api_key")
    entered = prices.filter(source=Price.Source.ADMINISTRATOR)
    newest: Mapping[tuple[int, str, str], Price] = {
        (price.upstream_id, price.model, price.source): price
        for price in prices.exclude(source=Price.Source.ADMINISTRATOR).order_by("holds_from", "pk")
    }
    known_prices = [price for price in newest.values() if price.is_known]
    listed_prices = [
        *entered,
        *sorted(known_prices, key=lambda price: (price.upstream.name, price.model)),
    ]
    return listed_prices[:MAX_PRICES]


def models_without_price() -> list[tuple[Upstream, str, int]]:
    """Return recently used models without a price, each with its upstream and reply count.

    Only replies with a known token count are included.
    """
    lately = Usage.objects.filter(booked_at__gt=timezone.now() - USED_LATELY, cost=None)
    counted = lately.exclude(total_tokens=None).exclude(upstream=None).exclude(model="")
    rows = list(
        counted.order_by()
        .values_list("upstream", "model")
        .annotate(replies=Count("pk"))
        .order_by("-replies")[:MAX_PEOPLE]
    )
    upstreams = Upstream.objects.defer("api_key").in_bulk([pk for pk, _, _ in rows])
    return [
        (upstreams[pk], model, replies)
        for pk, model, replies in rows
        if pk in upstreams and Price.find(pk, model) is None
    ]


@dataclass(frozen=True)
class LimitPreview:
    """The people whom a limit would concern, and their usage in the previous calendar month."""

    limit: Limit
    people: int
    total: int  # tokens or nano-dollars
    top_people: list[tuple[str, int]]  # usernames with their usage, the highest first

    @property
    def is_of_tokens(self) -> bool:
        return self.limit.is_of_tokens


def load_preview(limit: Limit) -> LimitPreview:
    """Return the preview of a limit that need not be stored."""
    people = User.objects.filter(is_active=True)
    if limit.user_id:
        people = people.filter(pk=limit.user_id)
    elif limit.group_id:
        people = people.filter(groups=limit.group_id)
    ends, _ = Period.MONTH.around(timezone.now())
    begins, _ = Period.MONTH.around(ends - timedelta(days=1))
    used = Usage.objects.filter(user__in=people, booked_at__gte=begins, booked_at__lt=ends)
    if limit.upstream_id:
        used = used.filter(upstream=limit.upstream_id)
    if limit.model:
        used = used.filter(model=limit.model)
    amount = Sum("cost" if limit.measure == Measure.MONEY else "total_tokens")
    by_person = used.order_by().values("user__username").annotate(amount=amount)
    rows = by_person.filter(amount__gt=0).order_by("-amount", "user__username")
    top_people = [(row["user__username"], row["amount"]) for row in rows[:MOST_USED]]
    total = used.aggregate(amount=amount)["amount"] or 0
    return LimitPreview(limit, people.count(), total, top_people)
