"""What replies cost, in tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Self

from django.db import models
from django.db.models.functions import Coalesce

from chatapp.models.statements import Insert
from chatapp.upstream.wire.estimates import Estimate
from chatapp.upstream.wire.events import TokenUsage

COUNTS = tuple(TokenUsage.__dataclass_fields__)
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
    """

    class Provenance(models.TextChoices):
        REPORTED = "reported"
        ESTIMATED = "estimated"
        UNKNOWN = "unknown"

    message = models.OneToOneField(
        "chatapp.Message", models.CASCADE, primary_key=True, related_name="usage"
    )
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

    class Meta:
        verbose_name_plural = "usage"

    def __str__(self) -> str:
        return f"{self.total_tokens} tokens ({self.provenance})"

    @classmethod
    def counted(cls, provenance: "Usage.Provenance", tokens: TokenUsage | None) -> Self:
        return cls(provenance=provenance, **(asdict(tokens) if tokens else {}))

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

    @classmethod
    def book(cls, usages: Iterable[Self]) -> None:
        """Stores each as the one row of its message, in place of one that may stand there: another
        process may have ended a reply of which its own has more."""
        _BOOKED.run(*usages)

    @classmethod
    def of_rounds(cls, records: Iterable[Mapping[str, Any]]) -> Self:
        """The sum over what a reply asked its upstream: reported where all of it is, unknown where
        none is known, and otherwise estimated, since it leaves something out or guesses at it."""
        records = list(records)
        known = [one for one in records if one["provenance"] != cls.Provenance.UNKNOWN]
        sums = {
            name: sum(one[name] for one in known if one[name] is not None)
            for name in COUNTS
            if any(one[name] is not None for one in known)
        }
        if any(one.get(upper) is not None for upper in UPPER for one in known):
            sums |= {upper: sum(_at_most(one, upper) for one in known) for upper in UPPER}
        reported = all(one["provenance"] == cls.Provenance.REPORTED for one in records)
        provenance = cls.Provenance.ESTIMATED if known else cls.Provenance.UNKNOWN
        return cls(provenance=cls.Provenance.REPORTED if reported else provenance, **sums)

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


def _at_most(record: Mapping[str, Any], upper: str) -> int:
    count = record.get(upper)
    return (record[UPPER[upper]] or 0) if count is None else int(count)


_BOOKED = Insert(Usage, replacing=("provenance", *COUNTS, *UPPER))
