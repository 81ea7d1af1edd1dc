"""The health of each upstream: whether it answers now, and its recent replies and failures."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import F, Sum
from django.utils import timezone

from chatapp.catalogue import Offer
from chatapp.models import DailyUsage, Upstream, UpstreamFailure
from chatapp.models.platform.calendar import get_day
from chatapp.upstream.wire.errors.upstream_error import ErrorKind

DAYS = 30
RECENT = 10
KEY_REFUSED_FOR = timedelta(days=1)  # how long the page warns after a key was refused


@dataclass(frozen=True)
class Day:
    """A column of the chart. Heights are in percent of the highest column."""

    day: date
    replies: int
    failure_count: int
    height: float
    failed_height: float


@dataclass(frozen=True)
class Health:
    """The state of an upstream, and its replies and failures of the last `DAYS` days."""

    upstream: Upstream
    offer: Offer | None  # None if it is turned off
    days: Sequence[Day]  # the oldest first
    kinds: Sequence[tuple[str, int]]  # failures in words with counts, most frequent first
    recent: Sequence[UpstreamFailure]  # at most `RECENT`, the newest first
    key_refused: UpstreamFailure | None  # if recent

    @property
    def replies(self) -> int:
        return sum(day.replies for day in self.days)

    @property
    def failure_count(self) -> int:
        return sum(day.failure_count for day in self.days)


def load_health(upstreams: Sequence[Upstream], offers: Sequence[Offer]) -> list[Health]:
    """Return the health of each upstream; `offers` has those that are turned on."""
    by_pk = {offer.upstream.pk: offer for offer in offers}
    failures = defaultdict(list)
    for failure in UpstreamFailure.objects.since(DAYS).order_by("last_at"):
        failures[failure.upstream_id].append(failure)
    return [
        _health(upstream, by_pk.get(upstream.pk), failures[upstream.pk]) for upstream in upstreams
    ]


def _health(upstream: Upstream, offer: Offer | None, failures: list[UpstreamFailure]) -> Health:
    kinds: dict[str, int] = defaultdict(int)
    for failure in failures:
        kinds[failure.words] += failure.count
    refusals = [
        upstream_failure
        for upstream_failure in failures
        if upstream_failure.kind == ErrorKind.UNAUTHORIZED
    ]
    refusal = refusals[-1] if refusals else None
    since = timezone.now() - KEY_REFUSED_FOR
    is_recent = refusal and refusal.last_at > max(since, upstream.connected_at or since)
    return Health(
        upstream,
        offer,
        _days(upstream, failures),
        sorted(kinds.items(), key=lambda kind: -kind[1]),
        failures[: -RECENT - 1 : -1],
        refusal if is_recent else None,
    )


def _days(upstream: Upstream, failures: list[UpstreamFailure]) -> list[Day]:
    today = get_day(timezone.now())
    begins = today - timedelta(days=DAYS - 1)
    used = DailyUsage.objects.filter(upstream_name=upstream.name, day__gte=begins).order_by()
    replies = dict(used.values_list("day").annotate(count=Sum(F("replies") + F("requests"))))
    failed: dict[date, int] = defaultdict(int)
    for failure in failures:
        failed[failure.day] += failure.count
    days = [begins + timedelta(days=number) for number in range(DAYS)]
    # A failed reply is also booked as a reply, unless its process died before booking it.
    counts = {day: max(replies.get(day, 0), failed[day]) for day in days}
    scale = 100 / (max(counts.values()) or 1)
    return [
        Day(
            day,
            counts[day],
            failed[day],
            round(counts[day] * scale, 2),
            round(failed[day] * scale, 2),
        )
        for day in days
    ]
