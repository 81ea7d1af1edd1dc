"""What replies cost, in tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Self

from django.db import models

from chatapp.upstream.events import TokenUsage

COUNTS = tuple(TokenUsage.__dataclass_fields__)


class Usage(models.Model):
    """What a reply cost, in tokens, with the counts that the wire formats know."""

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

    class Meta:
        verbose_name_plural = "usage"

    def __str__(self) -> str:
        return f"{self.total_tokens} tokens ({self.provenance})"

    @classmethod
    def counted(cls, provenance: "Usage.Provenance", tokens: TokenUsage | None) -> Self:
        return cls(provenance=provenance, **(asdict(tokens) if tokens else {}))

    @classmethod
    def of_rounds(cls, records: Iterable[Mapping[str, Any]]) -> Self:
        """The sum over a reply's rounds: reported where all of them are, unknown where none is
        known, and otherwise estimated, since it leaves something out or guesses at it."""
        records = list(records)
        known = [one for one in records if one["provenance"] != cls.Provenance.UNKNOWN]
        sums = {
            name: sum(one[name] for one in known if one[name] is not None)
            for name in COUNTS
            if any(one[name] is not None for one in known)
        }
        reported = all(one["provenance"] == cls.Provenance.REPORTED for one in records)
        provenance = cls.Provenance.ESTIMATED if known else cls.Provenance.UNKNOWN
        return cls(provenance=cls.Provenance.REPORTED if reported else provenance, **sums)

    def as_record(self) -> dict[str, Any]:
        """The counts and where they come from, as JSON keeps them for a round."""
        return {name: getattr(self, name) for name in COUNTS} | {"provenance": self.provenance}
