"""Fallbacks: the models that may answer for a model whose upstream fails, in order."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db import models, transaction

from chatapp.models.accounts.access_rules import MAX_MODEL_LENGTH
from chatapp.models.platform.upstreams import ModelChoice, Upstream

MAX_FALLBACKS = 3  # of one model


class FallbackQuerySet(models.QuerySet["Fallback"]):
    def choices(self, upstream: int, model: str) -> list[ModelChoice]:
        """Return the models that may answer for this one."""
        fallbacks = self.filter(upstream=upstream, model=model).order_by("position")
        return [ModelChoice(*row) for row in fallbacks.values_list("to_upstream", "to_model")]

    def by_model(self, upstream: Upstream) -> "Mapping[str, Sequence[Fallback]]":
        """Return the fallbacks of an upstream's models, with the upstreams that they name."""
        fallbacks = self.filter(upstream=upstream).select_related("to_upstream")
        fallbacks_by_model = defaultdict(list)
        for fallback in fallbacks.defer("to_upstream__api_key").order_by("model", "position"):
            fallbacks_by_model[fallback.model].append(fallback)
        return dict(fallbacks_by_model)


class Fallback(models.Model):
    """A model that may answer for another one."""

    # No constraints: a process of the previous version can delete an upstream that has rows here.
    upstream = models.ForeignKey(
        Upstream, models.CASCADE, db_constraint=False, related_name="fallbacks"
    )
    model = models.CharField(max_length=MAX_MODEL_LENGTH)
    position = models.PositiveSmallIntegerField()
    to_upstream = models.ForeignKey(
        Upstream, models.CASCADE, db_constraint=False, related_name="fallback_for"
    )
    to_model = models.CharField(max_length=MAX_MODEL_LENGTH)

    objects = models.Manager.from_queryset(FallbackQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["upstream", "model", "position"], name="one_fallback_a_position"
            )
        ]

    def __str__(self) -> str:
        return f"{self.to_model} of {self.to_upstream}"

    @staticmethod
    def replace(upstream: Upstream, model: str, choices: Sequence[ModelChoice]) -> None:
        """Let these models, and no others, answer for this one."""
        rows = [
            Fallback(
                upstream=upstream,
                model=model,
                position=position,
                to_upstream_id=choice.upstream,
                to_model=choice.name,
            )
            for position, choice in enumerate(choices)
        ]
        with transaction.atomic():
            Fallback.objects.filter(upstream=upstream, model=model).delete()
            Fallback.objects.bulk_create(rows)
