"""What an upstream's models were learned not to take, so that requests do without it."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.upstream.wire.concessions import Concession

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
        known = frozenset(Concession)
        return {
            model: {
                Concession(one): datetime.fromisoformat(at)
                for one, at in made.items()
                if one in known
            }
            for model, made in sorted(self.stored_concessions.items())
        }

    def learn_concession(self, model: str, concession: Concession) -> None:
        """Make a concession from now on; `remember_concessions` stores it."""
        before = self.stored_concessions
        made = {concession: timezone.now().isoformat(), **before.get(model, {})}
        others = {one: each for one, each in before.items() if one != model}
        self.model_concessions = dict(list({**others, model: made}.items())[-MAX_CONCEDED:])

    @classmethod
    def remember_concessions(cls, pk: int, model: str, concessions: Iterable[Concession]) -> None:
        """Store what was learned of a model, for all processes."""
        with transaction.atomic():
            for upstream in cls._with_concessions(pk):
                for concession in concessions:
                    upstream.learn_concession(model, concession)
                upstream.save(update_fields=["model_concessions"])

    @classmethod
    def forget_concession(cls, pk: int, model: str, concession: str) -> None:
        """Forget one concession, so that the model is sent a usual request again."""
        with transaction.atomic():
            for upstream in cls._with_concessions(pk):
                left = {one: dict(made) for one, made in upstream.stored_concessions.items()}
                left.get(model, {}).pop(concession, None)
                upstream.model_concessions = {one: made for one, made in left.items() if made}
                upstream.save(update_fields=["model_concessions"])

    @classmethod
    def _with_concessions(cls, pk: int) -> models.QuerySet[Self]:
        """Return the upstream, locked, if it exists."""
        found = cls._default_manager.select_for_update().filter(pk=pk)
        return found.only("model_concessions").order_by()
