"""The settings of an upstream for the size of its models' contexts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.db import models, transaction
from django.utils import timezone

MAX_REFUSALS = 1000  # models


@dataclass(frozen=True)
class ContextRefusal:
    """A model's first refusal of a request as too long; `tokens` is None if it said no size."""

    at: datetime
    tokens: int | None


class ContextSettings(models.Model):
    """The part of an `Upstream` that concerns contexts."""

    # By model id: the size in tokens that an administrator entered, and what a refusal said.
    model_contexts = models.JSONField(null=True, editable=False)
    context_refusals = models.JSONField(null=True, editable=False)

    class Meta:
        abstract = True

    def find_context_tokens(self, model: str, listed: int | None) -> int | None:
        """Return the size of a model's context in tokens, or None if nothing is known.

        An administrator's figure counts most. Otherwise it is that of a list or of a refusal,
        whichever is smaller: a server may run a model with less than the model could take.
        """
        if entered := (self.model_contexts or {}).get(model):
            return int(entered)
        refusal = (self.context_refusals or {}).get(model) or {}
        return min((tokens for tokens in (listed, refusal.get("tokens")) if tokens), default=None)

    @property
    def refused_contexts(self) -> Mapping[str, ContextRefusal]:
        """The first refusals of requests that were too long, by model."""
        return {
            model: ContextRefusal(datetime.fromisoformat(refusal["at"]), refusal.get("tokens"))
            for model, refusal in (self.context_refusals or {}).items()
        }

    def learn_context_refusal(self, model: str, tokens: int | None) -> None:
        """Note on this object that a model refused a request as too long."""
        refusals = {**(self.context_refusals or {})}
        if model not in refusals or tokens not in (None, refusals[model].get("tokens")):
            refusals[model] = {"at": timezone.now().isoformat(), "tokens": tokens}
        self.context_refusals = dict(list(refusals.items())[-MAX_REFUSALS:])

    @classmethod
    def forget_context_refusals(cls, pk: int, models: Collection[str]) -> None:
        """Forget that these models have refused requests as too long."""
        with transaction.atomic():
            for upstream in cls._lock_context_refusals(pk):
                refusals = (upstream.context_refusals or {}).items()
                upstream.context_refusals = {
                    model_id: refusal for model_id, refusal in refusals if model_id not in models
                }
                upstream.save(update_fields=["context_refusals"])

    def is_outgrown(self, model: str, prompt_tokens: int | None) -> bool:
        """Whether a model has just taken more tokens than it had refused."""
        refusal = (self.context_refusals or {}).get(model) or {}
        return bool(prompt_tokens and refusal.get("tokens") and prompt_tokens > refusal["tokens"])

    @classmethod
    def _lock_context_refusals(cls, pk: int) -> models.QuerySet[Self]:
        """Return the upstream, locked, if it exists."""
        rows = cls._default_manager.select_for_update().filter(pk=pk)
        return rows.only("context_refusals").order_by()
