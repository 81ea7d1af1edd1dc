"""The usage of one person in the current month."""

from dataclasses import dataclass
from typing import Self

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.billing.limits import Period
from chatapp.models.billing.usage import Usage


@dataclass(frozen=True)
class PersonUsage:
    """A person's booked usage. Money is in nano-dollars."""

    tokens: int
    estimated_tokens: int
    money: int
    estimated_money: int
    unpriced: int  # replies, titles and summaries of unknown cost
    with_fees: int  # those whose cost leaves out fees for searches or tools

    @classmethod
    def this_month(cls, user: User) -> Self:
        """Return a person's usage in the current month of the installation's time zone."""
        since, _ = Period.MONTH.around(timezone.now())
        booked = Usage.objects.filter(user=user, booked_at__gte=since)
        is_estimated = Q(provenance=Usage.Provenance.ESTIMATED)
        sums = booked.aggregate(
            tokens=Coalesce(Sum("total_tokens"), 0),
            estimated_tokens=Coalesce(Sum("total_tokens", filter=is_estimated), 0),
            money=Coalesce(Sum("cost"), 0),
            estimated_money=Coalesce(Sum("cost", filter=is_estimated), 0),
            unpriced=Count("pk", filter=Q(cost=None)),
            with_fees=Count("pk", filter=Q(cost__isnull=False, extra_fees__gt=0)),
        )
        return cls(**sums)
