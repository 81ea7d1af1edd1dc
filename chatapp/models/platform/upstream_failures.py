"""Counts of upstream failures by day and kind, shown on the page of upstreams."""

from collections.abc import Mapping
from datetime import timedelta

from django.db import models
from django.utils import timezone

from chatapp.models.platform.calendar import get_day
from chatapp.models.platform.upstreams import Upstream
from chatapp.upstream.wire.errors.upstream_error import NOT_OF_UPSTREAM, ErrorKind
from chatapp.upstream.wire.reply import Ending

FAILURES = frozenset({Ending.FAILED, Ending.CUT_OFF, Ending.TIMED_OUT})  # caused by the upstream

FAILING_FOR = timedelta(hours=1)  # how long the staff pages show a failure
OUTAGES = (  # kinds that don't depend on the request
    ErrorKind.UNAUTHORIZED,
    ErrorKind.UNREACHABLE,
    ErrorKind.SERVER_ERROR,
    ErrorKind.TIMED_OUT,
)


class UpstreamFailureQuerySet(models.QuerySet["UpstreamFailure"]):
    def since(self, days: int) -> "UpstreamFailureQuerySet":
        """Return the failures of the last `days` days, including today."""
        today = get_day(timezone.now())
        return self.filter(day__gt=today - timedelta(days=days))

    def find_current(self) -> "list[UpstreamFailure]":
        """The latest failure of each enabled upstream that probably can't serve anybody now."""
        since = timezone.now() - FAILING_FOR
        outages = self.filter(last_at__gt=since, kind__in=OUTAGES, upstream__enabled=True).exclude(
            upstream__connected_at__gt=models.F("last_at")
        )
        with_names = outages.select_related("upstream").defer("upstream__api_key")
        latest = {failure.upstream_id: failure for failure in with_names.order_by("last_at")}
        return list(latest.values())


class UpstreamFailure(models.Model):
    """The failures of one kind on one day in the installation's time zone."""

    # No constraint: a process of the previous version can delete an upstream that has rows here.
    upstream = models.ForeignKey(
        Upstream, models.CASCADE, db_constraint=False, related_name="failures"
    )
    day = models.DateField()
    kind = models.CharField(
        max_length=20, help_text="The kind of the error, or the ending if there was none."
    )
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()

    objects = models.Manager.from_queryset(UpstreamFailureQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["upstream", "day", "kind"], name="one_count_a_day_and_kind"
            )
        ]

    def __str__(self) -> str:
        return f"{self.count} times {self.kind} on {self.day}"

    @classmethod
    def count_failure(cls, upstream: int, kind: str) -> None:
        """Count a reply that failed now, unless the upstream was not the cause.

        Call it in the transaction that saves the reply.
        """
        if kind in NOT_OF_UPSTREAM:
            return
        now = timezone.now()
        key = {"upstream_id": upstream, "day": get_day(now), "kind": kind}
        cls.objects.get_or_create(**key, defaults={"last_at": now})
        cls.objects.filter(**key).update(count=models.F("count") + 1, last_at=now)

    @property
    def words(self) -> str:
        return WORDS.get(self.kind, "sent a response that the app can't read")


WORDS: Mapping[str, str] = {
    ErrorKind.UNAUTHORIZED: "refused its key",
    ErrorKind.RATE_LIMITED: "was over its rate limit",
    ErrorKind.UNREACHABLE: "was unreachable",
    ErrorKind.SERVER_ERROR: "had a server error",
    ErrorKind.BAD_REQUEST: "rejected the request",
    ErrorKind.NOT_FOUND: "did not know the model or the address",
    ErrorKind.STREAM_ERROR: "failed in the middle of an answer",
    ErrorKind.TIMED_OUT: "took too long",
    Ending.CUT_OFF: "ended a reply too early",
}
