"""Limits that administrators set: how much of what, per which period, for whom and which models."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User
from chatapp.models.billing.prices import DOLLAR
from chatapp.models.platform import calendar
from chatapp.models.platform.upstreams import Upstream

EVER_SINCE = datetime(2000, 1, 1, tzinfo=UTC)
MAX_CAP = 10**15  # tokens, or nano-dollars: a million dollars


class Measure(models.TextChoices):
    TOKENS = "tokens", "tokens"
    MONEY = "money", "US dollars"
    A_MINUTE = "a_minute", "replies a minute"
    AT_ONCE = "at_once", "replies at once"


class Period(models.TextChoices):
    DAY = "day", "a day"
    MONTH = "month", "a month"
    EVER = "ever", "in total"

    def around(self, now: datetime) -> tuple[datetime, datetime | None]:
        """Return when the period containing `now` began, and when the next one begins, if ever."""
        return _PERIODS[self](now) if self in _PERIODS else (EVER_SINCE, None)


class Limit(models.Model):
    """A cap on the replies of everybody, a group or a person, for all models or some.

    It applies to all of these people together, or to each person separately.
    """

    measure = models.CharField(max_length=8, choices=Measure)
    cap = models.PositiveBigIntegerField(
        validators=[MinValueValidator(0)], help_text="Money is in nano-dollars."
    )
    period = models.CharField(max_length=5, choices=Period, default=Period.MONTH)
    # No constraints, so that a process of the previous version can delete what these refer to.
    user = models.ForeignKey(
        User, models.CASCADE, null=True, blank=True, db_constraint=False, related_name="limits"
    )
    group = models.ForeignKey(
        Group, models.CASCADE, null=True, blank=True, db_constraint=False, related_name="limits"
    )
    upstream = models.ForeignKey(
        Upstream, models.CASCADE, null=True, blank=True, db_constraint=False, related_name="limits"
    )
    model = models.CharField(max_length=200, blank=True)
    is_each = models.BooleanField("for each person apart", default=False)
    whom_to_ask = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ["measure", "period", "pk"]

    def __str__(self) -> str:
        return f"{self.amount(self.cap)}{self.per} for {self.whose}"

    def clean(self) -> None:
        if self.user_id and self.group_id:
            raise ValidationError({"group": "Choose a person or a group, not both."})
        if self.model and not self.upstream_id:
            raise ValidationError({"upstream": "Choose the upstream that has this model."})

    @staticmethod
    def for_user(user: int) -> "list[Limit]":
        """Return the limits on a person's replies, with whatever model."""
        return _LIMITS_FOR_USER.all(user, user)

    def concerns(self, upstream: int | None, model: str) -> bool:
        return self.upstream_id in (None, upstream) and self.model in ("", model)

    @property
    def counts(self) -> tuple[object, ...]:
        """The measure and scope of counting. If an edit changes them, counting starts from zero."""
        scope = self.user_id, self.group_id, self.upstream_id, self.model
        return self.measure, self.has_each_their_own, *scope

    @property
    def has_each_their_own(self) -> bool:
        return self.is_each and self.user_id is None

    @property
    def is_of_tokens(self) -> bool:
        """Whether a reply uses it up while it is written."""
        return self.measure in (Measure.TOKENS, Measure.MONEY)

    @classmethod
    def in_words(cls, moment: datetime) -> str:
        """Return a moment as people in that time zone write it."""
        local = moment.astimezone(calendar.zone())
        return f"{local.day} {local:%B %Y at %H:%M} ({local.tzname()})"

    @property
    def per(self) -> str:
        """The period as words that follow the amount; "" if it has none."""
        return f" {self.get_period_display()}" if self.is_of_tokens else ""

    @property
    def people(self) -> str:
        people = "everybody"
        if self.user:
            people = str(self.user)
        elif self.group:
            people = f"the group {self.group}"
        if self.has_each_their_own:
            people = "each person" if self.group is None else f"each person of {people}"
        return people

    @property
    def whose(self) -> str:
        """The people, and the models if not all are meant."""
        return f"{self.people}, with {self.target}" if self.target else self.people

    @property
    def target(self) -> str:
        """The model or upstream that the limit applies to; "" if it applies to all."""
        return self.model or (self.upstream.name if self.upstream else "")

    def number(self, value: int) -> str:
        """Return an amount without its unit, unless that is dollars."""
        return dollars(value) if self.measure == Measure.MONEY else f"{value:,}"

    def amount(self, value: int) -> str:
        """Return an amount with its unit, in words."""
        if self.measure == Measure.MONEY:
            return dollars(value)
        words = Measure(self.measure).label
        return f"{value:,} {words.replace('replies', 'reply', 1) if value == 1 else words}"

    def as_record(self) -> dict[str, str | bool | int | None]:
        """Return the fields in words, for the audit log.

        The person is given by the id, and `whom_to_ask` is left out, so that it names nobody.
        """
        return {
            "measure": self.get_measure_display(),
            "cap": self.amount(self.cap),
            "period": self.get_period_display(),
            "user": self.user_id,
            "group": str(self.group) if self.group else None,
            "upstream": self.upstream.name if self.upstream else None,
            "model": self.model,
            "is_each": self.is_each,
        }

    def begins(self, now: datetime) -> datetime:
        """Return when the period containing `now` began."""
        return self._around(now)[0]

    def resets_at(self, now: datetime) -> datetime | None:
        """Return when the next period begins; None if there is none."""
        return self._around(now)[1]

    def _around(self, now: datetime) -> tuple[datetime, datetime | None]:
        if self.measure == Measure.A_MINUTE:
            minute = now.astimezone(UTC).replace(second=0, microsecond=0)
            return minute, minute + timedelta(minutes=1)
        period = Period.EVER if self.measure == Measure.AT_ONCE else Period(self.period)
        return period.around(now)


def dollars(nano: int) -> str:
    """Return nano-dollars as text: `$12.30`.

    Less than a dollar is rounded to a hundredth of a cent, less than a cent to two significant
    digits.
    """
    amount = Decimal(nano) / DOLLAR
    if nano == 0 or nano >= DOLLAR:
        return f"${amount:,.2f}"
    places = 4 if nano >= DOLLAR // 100 else 1 - amount.adjusted()
    text = f"{amount:.{places}f}".rstrip("0")
    return f"${text}{'0' * max(0, 2 - len(text.partition('.')[2]))}"


def _day(now: datetime) -> tuple[datetime, datetime]:
    """Return two midnights in the installation's time zone, in which a day may have 23 hours."""
    today = calendar.get_day(now)
    return _midnight(today), _midnight(today + timedelta(days=1))


def _month(now: datetime) -> tuple[datetime, datetime]:
    first = calendar.get_day(now).replace(day=1)
    return _midnight(first), _midnight((first + timedelta(days=31)).replace(day=1))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), calendar.zone()).astimezone(UTC)


_PERIODS: dict[str, Callable[[datetime], tuple[datetime, datetime]]] = {
    Period.DAY: _day,
    Period.MONTH: _month,
}
# Prepared: saves 0.5 ms of each turn and each chat page.
_LIMITS_FOR_USER = Query(
    lambda user, member: Limit.objects.filter(
        Q(user=None) | Q(user=user),
        Q(group=None) | Q(group__in=Group.objects.filter(user=member).values("pk")),
    ).order_by("pk"),
    User._meta.pk,
    User._meta.pk,
)
