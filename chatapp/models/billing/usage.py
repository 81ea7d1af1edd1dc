"""The ledger: what replies, titles and summaries cost in tokens and money, and who asked for them.

A row outlives the message it was booked for, its conversation and its person. The cost in money is
as certain as the tokens: reported, or estimated as they are.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatapp.db.statements import Insert, build
from chatapp.models.accounts.users import User
from chatapp.models.billing.prices import Price
from chatapp.models.platform.calendar import get_day
from chatapp.models.platform.upstreams import Upstream
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.estimates import Estimate

AT_ONCE = 1000  # rows, to stay below PostgreSQL's maximum number of parameters
COUNTS = tuple(TokenUsage.__dataclass_fields__)
REPORTED = {"source": "reported"}  # in place of a price
UPPER = {"upper_prompt_tokens": "prompt_tokens", "upper_completion_tokens": "completion_tokens"}
RARE_FIELDS = (*UPPER, "extra_fees")  # kept for a round only if they are known

# Upper bound of a reply's tokens in a query; for rows older than the upper figures, the total.
AT_MOST = Coalesce(
    models.F("upper_prompt_tokens") + models.F("upper_completion_tokens"),
    "total_tokens",
    output_field=models.BigIntegerField(),
)


class Usage(models.Model):
    """The cost of a reply, a title or a summary, with the counts that the wire formats define.

    If it is estimated, the counts are the likely ones and `upper_…` the upper bounds, see
    `chatapp.upstream.wire.requests.estimates`.

    The key is that of the message, so that a reply is booked once, whichever process ends it; or
    that of the conversation that got a title; or a new one, for a summary. There are no foreign key
    constraints: what a row names may be deleted, and a process of the previous version, which does
    not know the ledger, can delete people and upstreams that appear in it.
    """

    class Kind(models.TextChoices):
        REPLY = "reply"
        TITLE = "title"
        SUMMARY = "recap", "summary"
        API = "api", "request over the API"

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
    # Empty if a process of the previous version booked it; see `conversations.ledger`.
    booked_at = models.DateTimeField(null=True)
    day = models.DateField(null=True)  # in the installation's time zone; the sums are by day
    ending = models.CharField(
        max_length=14,
        default="",
        db_default="",
        choices=[(member.value, member.value) for member in Ending],
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
    # Searches and tools that the gateway charges besides the tokens, if `cost` leaves them out.
    extra_fees = models.PositiveBigIntegerField(null=True)
    # In nano-dollars, as the gateway reported it or computed from `price`; None if neither is
    # known.
    cost = models.PositiveBigIntegerField(null=True)
    price = models.JSONField(null=True, editable=False)  # `Price.as_record`, or `REPORTED`
    preset = models.UUIDField(null=True, editable=False)  # its key, kept when it is deleted
    conversation = models.UUIDField(null=True, editable=False)  # that a summary was written of

    class Meta:
        verbose_name_plural = "usage"
        indexes = [
            models.Index(fields=["user", "booked_at"]),
            models.Index(fields=["day"], condition=models.Q(day=None), name="usage_of_no_day"),
            models.Index(
                fields=["day", "preset"],
                condition=models.Q(preset__isnull=False),
                name="usage_of_presets",
            ),
            models.Index(
                fields=["conversation"],
                condition=models.Q(conversation__isnull=False),
                name="usage_of_summaries",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.total_tokens} tokens ({self.provenance})"

    @classmethod
    def from_tokens(cls, provenance: "Usage.Provenance", tokens: TokenUsage | None) -> Self:
        counts = {name: getattr(tokens, name) for name in COUNTS} if tokens else {}
        return build(cls, provenance=provenance, **counts)

    @classmethod
    def from_estimate(cls, estimate: Estimate) -> Self:
        usage = cls.from_tokens(cls.Provenance.ESTIMATED, estimate.middle)
        usage.upper_prompt_tokens = estimate.upper.prompt_tokens
        usage.upper_completion_tokens = estimate.upper.completion_tokens
        return usage

    @classmethod
    def context_tokens(cls, user: User, message: UUID | None) -> int:
        """Return the tokens of a branch that ends with this message, as its last reply has them.

        The message is a reply, or a prompt whose replies stand side by side.
        """
        if message is None:
            return 0
        is_branch_end = models.Q(message=message) | models.Q(message__parent=message)
        replies = cls.objects.filter(
            is_branch_end, user=user, kind__in=(cls.Kind.REPLY, cls.Kind.API)
        )
        tokens = models.F("prompt_tokens") + models.F("completion_tokens")
        return replies.aggregate(most=models.Max(tokens))["most"] or 0

    @classmethod
    def empty(cls) -> Self:
        """Return the usage of a reply that ended before its upstream was asked."""
        return cls.from_estimate(Estimate(TokenUsage(0, 0, 0), TokenUsage(0, 0, 0)))

    def charge_title(self, conversation: UUID, user: int, upstream: Upstream, model: str) -> Self:
        """Fill in the conversation that got its title for this cost, for booking; return self."""
        self.message_id, self.kind = conversation, self.Kind.TITLE
        self.charge(user, upstream, model, asked_at=timezone.now())
        return self

    def charge_summary(
        self, key: UUID, conversation: UUID, user: int, upstream: Upstream, model: str
    ) -> Self:
        """Fill in the conversation whose summary had this cost, for booking; return self."""
        self.message_id, self.kind, self.conversation = key, self.Kind.SUMMARY, conversation
        self.charge(user, upstream, model, asked_at=timezone.now())
        return self

    def charge_request(self, key: UUID, user: int, upstream: Upstream, model: str) -> Self:
        """Fill in whose request over the API had this cost, for booking; return self."""
        self.message_id, self.kind = key, self.Kind.API
        self.charge(user, upstream, model, asked_at=timezone.now())
        return self

    def forget_erased_person(self) -> None:
        """Clear the person if they have been erased. Call it in a transaction, which locks them."""
        person = User.objects.select_for_update().filter(pk__in=[self.user_id]).first()
        self.user_id = person.pk if person else None

    def charge(
        self, user: int, upstream: Upstream | None, model: str, *, asked_at: datetime
    ) -> None:
        """Fill in the person, the model, and the cost at the price of the moment `asked_at`."""
        self.user_id = user
        self.upstream, self.upstream_name = upstream, upstream.name if upstream else ""
        self.model, self.booked_at = model, timezone.now()
        self.day = get_day(self.booked_at)
        if self.has_reported_cost:
            self.price, self.extra_fees = REPORTED, None
            return
        self.cost = self.price = None
        price = Price.find(upstream.pk if upstream else None, model, asked_at)
        if price and self.total_tokens is not None:
            self.cost, self.price = price.cost(self.tokens), price.as_record()

    @property
    def has_reported_cost(self) -> bool:
        """Whether the gateway reported what it charged."""
        return self.cost is not None and self.price in (None, REPORTED)

    @property
    def has_partial_cost(self) -> bool:
        """Whether the cost is that of the tokens, and the gateway charges more than these."""
        return bool(self.cost is not None and self.extra_fees and not self.has_reported_cost)

    @classmethod
    def book(cls, usages: Iterable[Self]) -> None:
        """Store each as the only row of its message, replacing one that exists: another process may
        have ended a reply that its own process knows more of."""
        rows = list(usages)
        for start in range(0, len(rows), AT_ONCE):
            _INSERT_USAGE.run_as_one(*rows[start : start + AT_ONCE])

    @classmethod
    def sum_rounds(cls, records: Iterable[Mapping[str, Any]]) -> Self:
        """Return the sum over a reply's requests.

        It is reported if all are, unknown if none is known, and otherwise estimated, since it
        leaves something out or contains guesses.
        """
        records = list(records)
        known_records = [
            record for record in records if record["provenance"] != cls.Provenance.UNKNOWN
        ]
        sums = {
            name: sum(record[name] for record in known_records if record.get(name) is not None)
            for name in COUNTS
            if any(record.get(name) is not None for record in known_records)
        }
        if any(record.get("cost") is None for record in records):
            sums.pop("cost", None)  # a partial cost would be taken for the whole
        if any(record.get(upper) is not None for upper in UPPER for record in known_records):
            sums |= {
                upper: sum(_read_upper(record, upper) for record in known_records)
                for upper in UPPER
            }
        reported = all(record["provenance"] == cls.Provenance.REPORTED for record in records)
        provenance = cls.Provenance.ESTIMATED if known_records else cls.Provenance.UNKNOWN
        return cls(provenance=cls.Provenance.REPORTED if reported else provenance, **sums)

    @property
    def tokens(self) -> TokenUsage:
        counts = {name: getattr(self, name) for name in COUNTS}
        main = {name: counts[name] or 0 for name in COUNTS[:3]}
        return TokenUsage(**(counts | main))

    @property
    def upper_total_tokens(self) -> int | None:
        """Upper bound of the tokens if the usage is estimated, else None."""
        if self.upper_prompt_tokens is None or self.upper_completion_tokens is None:
            return None
        return self.upper_prompt_tokens + self.upper_completion_tokens

    def as_record(self) -> dict[str, Any]:
        """Return the counts and their provenance as JSON, to be kept for a round."""
        counts = {name: getattr(self, name) for name in COUNTS if name not in RARE_FIELDS}
        counts |= {
            name: getattr(self, name) for name in RARE_FIELDS if getattr(self, name) is not None
        }
        return counts | {"provenance": self.provenance}


def milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(0, round(seconds * 1000))


def _read_upper(record: Mapping[str, Any], upper: str) -> int:
    count = record.get(upper)
    return (record[UPPER[upper]] or 0) if count is None else int(count)


_INSERT_USAGE = Insert(
    Usage, replacing=[field.name for field in Usage._meta.local_fields if not field.primary_key]
)
