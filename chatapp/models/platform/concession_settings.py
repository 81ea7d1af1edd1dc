"""The request features that an upstream's models were found to refuse; requests omit them."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.upstream.wire.requests.concessions import Concession

MAX_CONCEDED = 1000  # models

ConcessionsByModel = Mapping[str, Mapping[Concession, datetime]]


class ConcessionSettings(models.Model):
    """The part of an `Upstream` that says what is conceded to its models."""

    # By model id: each concession with the time of the refusal that it was learned from.
    model_concessions = models.JSONField(null=True, editable=False)

    class Meta:
        abstract = True

    def concessions_to(self, model: str) -> Collection[str]:
        """Return the concessions that are made to a model."""
        return self.stored_concessions.get(model, ())

    @property
    def stored_concessions(self) -> Mapping[str, Mapping[str, str]]:
        """When concessions were learned, in ISO format by model and concession."""
        return self.model_concessions or {}

    @property
    def concessions_at(self) -> ConcessionsByModel:
        """When concessions were learned, by model; without those of a newer version."""
        known_concessions = frozenset(Concession)
        return {
            model: {
                Concession(concession): datetime.fromisoformat(at)
                for concession, at in times.items()
                if concession in known_concessions
            }
            for model, times in sorted(self.stored_concessions.items())
        }

    def learn_concession(self, model: str, concession: Concession) -> None:
        """Make a concession to the model from now on, on this object."""
        before = self.stored_concessions
        times = {concession: timezone.now().isoformat(), **before.get(model, {})}
        others = {
            other_model: other_times
            for other_model, other_times in before.items()
            if other_model != model
        }
        self.model_concessions = dict(list({**others, model: times}.items())[-MAX_CONCEDED:])

    @classmethod
    def forget_concession(cls, pk: int, model: str, concession: str) -> None:
        """Forget one concession, so that the model is sent a usual request again."""
        with transaction.atomic():
            for upstream in cls._lock_concessions(pk):
                remaining = {
                    model_id: dict(times) for model_id, times in upstream.stored_concessions.items()
                }
                remaining.get(model, {}).pop(concession, None)
                upstream.model_concessions = {
                    model_id: times for model_id, times in remaining.items() if times
                }
                upstream.save(update_fields=["model_concessions"])

    @classmethod
    def _lock_concessions(cls, pk: int) -> models.QuerySet[Self]:
        """Return the upstream, locked, if it exists."""
        rows = cls._default_manager.select_for_update().filter(pk=pk)
        return rows.only("model_concessions").order_by()
