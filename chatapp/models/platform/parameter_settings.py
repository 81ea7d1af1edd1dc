"""The settings of an upstream for the parameters that people set for their chats."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.parameters.rules import Rules, merge_rules

MAX_REFUSING = 1000  # models
MAX_REFUSED = 50  # fields of a model


class ParameterSettings(models.Model):
    """The part of an `Upstream` that concerns the parameters of chats."""

    # An administrator's rules by the id of a model; those of "" hold for all models.
    model_parameters = models.JSONField(null=True, editable=False)
    # The fields of a request that a model refused, each with the time of its first refusal.
    parameter_refusals = models.JSONField(null=True, editable=False)

    class Meta:
        abstract = True

    def rules_for(self, model: str) -> Rules:
        """Return the rules of a model, over those of all models."""
        return merge_rules(self._rules.get("", {}), self._rules.get(model, {}))

    @property
    def _rules(self) -> Mapping[str, Rules]:
        return self.model_parameters or {}

    @property
    def refusals(self) -> Mapping[str, Mapping[str, str]]:
        """When models first refused fields of a request, in ISO format by model and field."""
        return self.parameter_refusals or {}

    @property
    def refused_parameters_at(self) -> Mapping[str, Mapping[str, datetime]]:
        """When models first refused fields of a request, by model and field."""
        return {
            model: {field: datetime.fromisoformat(at) for field, at in sorted(fields.items())}
            for model, fields in sorted(self.refusals.items())
        }

    def refused_by(self, model: str) -> Collection[str]:
        """Return the fields of a request that the model refused."""
        return self.refusals.get(model, {})

    def learn_refusals(self, model: str, fields: Collection[str]) -> None:
        """Note on this object that a model refused fields."""
        before = self.refusals.get(model, {})
        now = timezone.now().isoformat()
        times_by_field = {**before, **{field: now for field in fields if field not in before}}
        others = {
            model_id: refused for model_id, refused in self.refusals.items() if model_id != model
        }
        changed = {**others, model: dict(list(times_by_field.items())[-MAX_REFUSED:])}
        self.parameter_refusals = dict(list(changed.items())[-MAX_REFUSING:])

    @classmethod
    def forget_refusals(cls, pk: int, model: str, field: str) -> None:
        """Forget that a model has refused a field."""
        with transaction.atomic():
            for upstream in cls._lock_parameter_refusals(pk):
                remaining = {
                    model_id: {
                        name: at
                        for name, at in fields.items()
                        if (model_id, name) != (model, field)
                    }
                    for model_id, fields in upstream.refusals.items()
                }
                upstream.parameter_refusals = {
                    model_id: fields for model_id, fields in remaining.items() if fields
                }
                upstream.save(update_fields=["parameter_refusals"])

    @classmethod
    def _lock_parameter_refusals(cls, pk: int) -> models.QuerySet[Self]:
        """Return the upstream, locked, if it exists."""
        rows = cls._default_manager.select_for_update().filter(pk=pk)
        return rows.only("parameter_refusals").order_by()
