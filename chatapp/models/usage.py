"""The ledger: what replies and titles cost, in tokens and in money, and whom.

A row is kept when the message goes that it was booked for, and the conversation, and the person.
What it cost in money is as certain as its tokens are: reported, or estimated like them.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatapp.models.limits import Limit
from chatapp.models.prices import Price
from chatapp.models.statements import Insert, new
from chatapp.models.upstreams import Upstream
from chatapp.models.users import User
from chatapp.upstream.wire.estimates import Estimate
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending

if TYPE_CHECKING:
    from chatapp.models.messages import Message

AT_ONCE = 1000  # rows, so that a statement has no more parameters than PostgreSQL takes
COUNTS = tuple(TokenUsage.__dataclass_fields__)
REPORTED = {"source": "reported"}  # in place of a price
UPPER = {"upper_prompt_tokens": "prompt_tokens", "upper_completion_tokens": "completion_tokens"}

# Of one reply, as a query counts it; what was estimated before there were upper figures as it is.
AT_MOST = Coalesce(
    models.F("upper_prompt_tokens") + models.F("upper_completion_tokens"),
    "total_tokens",
    output_field=models.BigIntegerField(),
)


class Usage(models.Model):
    """What a reply cost, in tokens, with the counts that the wire formats know.

    Where it is estimated the counts are the likely ones, and `upper_…` what it cost at most, as
    `chatapp.upstream.wire.estimates` has it.

    The key is that of the message, so that a reply is booked once, whoever ends it; or of the
    conversation that was given a title. No constraint holds it, nor what else a row refers to:
    what it names may go, and a process of the version before, which knows nothing of the ledger,
    can delete people and upstreams that stand in it.
    """

    class Kind(models.TextChoices):
        REPLY = "reply"
        TITLE = "title"

    class Provenance(models.TextChoices):
        REPORTED = "reported"
        ESTIMATED = "estimated"
        UNKNOWN = "unknown"

    message = models.OneToOneField(
        "chatapp.Message",
        models.DO_NOTHING,
        primary_key=True,
        db_constraint=False,
        related_name="usage",
    )
    user = models.ForeignKey(
        User,
        models.SET_NULL,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="usage",
    )
    upstream = models.ForeignKey(
        Upstream, models.SET_NULL, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    upstream_name = models.CharField(max_length=100, default="", db_default="")
    model = models.CharField(max_length=200, default="", db_default="")
    kind = models.CharField(max_length=5, choices=Kind, default=Kind.REPLY, db_default=Kind.REPLY)
    # Empty where a process of the version before has booked it; see `chatapp.models.ledger`.
    booked_at = models.DateTimeField(null=True)
    day = models.DateField(null=True)  # of the installation's zone; under it the row is summed up
    ending = models.CharField(
        max_length=14, default="", db_default="", choices=[(one.value, one.value) for one in Ending]
    )
    first_token_ms = models.PositiveBigIntegerField(null=True)
    duration_ms = models.PositiveBigIntegerField(null=True)
    provenance = models.CharField(max_length=9, choices=Provenance)
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)
    total_tokens = models.PositiveBigIntegerField(null=True)
    cached_tokens = models.PositiveBigIntegerField(null=True)
    cache_write_tokens = models.PositiveBigIntegerField(null=True)
    reasoning_tokens = models.PositiveBigIntegerField(null=True)
    prompt_audio_tokens = models.PositiveBigIntegerField(null=True)
    completion_audio_tokens = models.PositiveBigIntegerField(null=True)
    accepted_prediction_tokens = models.PositiveBigIntegerField(null=True)
    rejected_prediction_tokens = models.PositiveBigIntegerField(null=True)
    upper_prompt_tokens = models.PositiveBigIntegerField(null=True)
    upper_completion_tokens = models.PositiveBigIntegerField(null=True)
    # In nano-dollars, as the gateway reported it or by the price that is kept with it; none where
    # neither is known.
    cost = models.PositiveBigIntegerField(null=True)
    price = models.JSONField(null=True, editable=False)  # `Price.as_record`, or `REPORTED`

    class Meta:
        verbose_name_plural = "usage"
        indexes = [
            models.Index(fields=["user", "booked_at"]),
            models.Index(fields=["day"], condition=models.Q(day=None), name="usage_of_no_day"),
        ]

    def __str__(self) -> str:
        return f"{self.total_tokens} tokens ({self.provenance})"

    @classmethod
    def counted(cls, provenance: "Usage.Provenance", tokens: TokenUsage | None) -> Self:
        counts = {name: getattr(tokens, name) for name in COUNTS} if tokens else {}
        return new(cls, provenance=provenance, **counts)

    @classmethod
    def estimated(cls, estimate: Estimate) -> Self:
        usage = cls.counted(cls.Provenance.ESTIMATED, estimate.middle)
        usage.upper_prompt_tokens = estimate.upper.prompt_tokens
        usage.upper_completion_tokens = estimate.upper.completion_tokens
        return usage

    @classmethod
    def nothing(cls) -> Self:
        """Of a reply that ended before its upstream was asked."""
        return cls.estimated(Estimate(TokenUsage(0, 0, 0), TokenUsage(0, 0, 0)))

    def of_reply(self, reply: "Message") -> Self:
        """As what this reply cost, to be booked."""
        self.message = reply
        self.ending = reply.ending
        self.first_token_ms = _milliseconds(reply.time_to_first_token)
        self.duration_ms = _milliseconds(reply.duration)
        self._charge(
            reply.conversation.user_id, reply.upstream, reply.model, asked_at=reply.created_at
        )
        return self

    def of_title(self, conversation: UUID, user: int, upstream: Upstream, model: str) -> Self:
        """As what it cost to give this conversation its title, to be booked."""
        self.message_id, self.kind = conversation, self.Kind.TITLE
        self._charge(user, upstream, model, asked_at=timezone.now())
        return self

    def forget_erased_person(self) -> None:
        """In a transaction: whose it was may have gone with it, or be going just now."""
        person = User.objects.select_for_update().filter(pk__in=[self.user_id]).first()
        self.user_id = person.pk if person else None

    @staticmethod
    def day_of(moment: datetime) -> date:
        """In the installation's zone."""
        return moment.astimezone(Limit.zone()).date()

    def _charge(
        self, user: int, upstream: Upstream | None, model: str, *, asked_at: datetime
    ) -> None:
        self.user_id = user
        self.upstream, self.upstream_name = upstream, upstream.name if upstream else ""
        self.model, self.booked_at = model, timezone.now()
        self.day = self.day_of(self.booked_at)
        if self.has_reported_cost:
            self.price = REPORTED
            return
        self.cost = self.price = None
        price = Price.holding(upstream.pk if upstream else None, model, asked_at)
        if price and self.total_tokens is not None:
            self.cost, self.price = price.cost(self.tokens), price.as_record()

    @property
    def has_reported_cost(self) -> bool:
        """Whether the gateway said what it charged."""
        return self.cost is not None and self.price in (None, REPORTED)

    @classmethod
    def book(cls, usages: Iterable[Self]) -> None:
        """Stores each as the one row of its message, in place of one that may stand there: another
        process may have ended a reply of which its own has more."""
        rows = list(usages)
        for start in range(0, len(rows), AT_ONCE):
            _BOOKED.run_as_one(*rows[start : start + AT_ONCE])

    @classmethod
    def of_rounds(cls, records: Iterable[Mapping[str, Any]]) -> Self:
        """The sum over what a reply asked its upstream: reported where all of it is, unknown where
        none is known, and otherwise estimated, since it leaves something out or guesses at it."""
        records = list(records)
        known = [one for one in records if one["provenance"] != cls.Provenance.UNKNOWN]
        sums = {
            name: sum(one[name] for one in known if one.get(name) is not None)
            for name in COUNTS
            if any(one.get(name) is not None for one in known)
        }
        if any(one.get("cost") is None for one in records):
            sums.pop("cost", None)  # of a part of it, which would be taken for the whole
        if any(one.get(upper) is not None for upper in UPPER for one in known):
            sums |= {upper: sum(_at_most(one, upper) for one in known) for upper in UPPER}
        reported = all(one["provenance"] == cls.Provenance.REPORTED for one in records)
        provenance = cls.Provenance.ESTIMATED if known else cls.Provenance.UNKNOWN
        return cls(provenance=cls.Provenance.REPORTED if reported else provenance, **sums)

    @property
    def tokens(self) -> TokenUsage:
        counts = {name: getattr(self, name) for name in COUNTS}
        main = {name: counts[name] or 0 for name in COUNTS[:3]}
        return TokenUsage(**(counts | main))

    @property
    def upper_total_tokens(self) -> int | None:
        """What it cost at most, where it is estimated."""
        if self.upper_prompt_tokens is None or self.upper_completion_tokens is None:
            return None
        return self.upper_prompt_tokens + self.upper_completion_tokens

    def as_record(self) -> dict[str, Any]:
        """The counts and where they come from, as JSON keeps them for a round."""
        counts = {name: getattr(self, name) for name in COUNTS}
        counts |= {name: getattr(self, name) for name in UPPER if getattr(self, name) is not None}
        return counts | {"provenance": self.provenance}


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(0, round(seconds * 1000))


def _at_most(record: Mapping[str, Any], upper: str) -> int:
    count = record.get(upper)
    return (record[UPPER[upper]] or 0) if count is None else int(count)


_BOOKED = Insert(
    Usage, replacing=[field.name for field in Usage._meta.local_fields if not field.primary_key]
)
