"""The settings of an upstream for the parameters that people set for their chats."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Self
from urllib.parse import urlsplit

from django.db import models, transaction
from django.utils import timezone
from django.utils.functional import cached_property

from chatapp.parameters.controls import Controls, controls_for
from chatapp.parameters.rules import (
    BoundedParameters,
    Rules,
    apply_rules,
    merge_rules,
    without_refused,
)
from chatapp.parameters.table import MAX_OUTPUT
from chatapp.upstream.wire.model_list import ListedModel
from chatapp.upstream.wire.requests.dialects import RequestOptions, find_spelling
from chatapp.upstream.wire.requests.spellings import (
    MERGEABLE_FIELDS,
    Spelling,
    find_output_limit,
    get_fields,
    get_parameter,
    merge_fields,
)

MAX_REFUSING = 1000  # models
MAX_REFUSED = 50  # fields of a model


class ParameterSettings(models.Model):
    """The part of an `Upstream` that concerns the parameters of chats."""

    # An administrator's rules by the id of a model; those of "" hold for all models.
    model_parameters = models.JSONField(null=True, editable=False)
    # The fields of a request that a model refused, each with the time of its first refusal.
    parameter_refusals = models.JSONField(null=True, editable=False)

    # Fields of `Upstream`.
    base_url: str
    dialect: str
    parameters: Any

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

    def bound_parameters(
        self, model: str, chat_parameters: Mapping[str, object]
    ) -> BoundedParameters:
        """Return what is sent to a model of the parameters that a chat sets, and why it differs.

        What an administrator sets for all requests is a default for people, except a maximum
        output, which bounds theirs, and parameters that have no control of their own.
        """
        max_output = find_output_limit(self.parameters)
        rules = merge_rules(
            {"max_output_tokens": {"max": max_output}} if max_output else {}, self.rules_for(model)
        )
        result = apply_rules(chat_parameters, rules, common_parameters=self.parameters)
        return without_refused(result, self._spelling, self.refused_by(model))

    def parameters_for(
        self, model: str, chat_parameters: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the parameters of a request to a model, for the parameters that a chat sets.

        What the model is known to refuse is left out, or spelled in another way.
        """
        sent_parameters = self.bound_parameters(model, chat_parameters).parameters
        fields = self._spelling.build_fields(sent_parameters, self.refused_by(model))
        replaced = {
            field for name in sent_parameters for field in get_fields(name)
        } - MERGEABLE_FIELDS
        if sent_parameters.get("logprobs") is False:
            replaced.add("top_logprobs")
        own_parameters = {
            name: value for name, value in self.parameters.items() if name not in replaced
        }
        return merge_fields(own_parameters, fields)

    def controls_for(self, model: ListedModel) -> Controls:
        """Return which parameters the composer has controls for with this model."""
        common, own = self._rules.get("", {}), self._rules.get(model.id, {})
        spelling = _find_spelling(self.base_url, self.dialect)
        refused = self.refused_by(model.id)
        return controls_for(model, common, own, spelling, refused, self.parameters)

    def output_limit_for(self, model: str, chat_parameters: Mapping[str, object]) -> int | None:
        """Return how many tokens a request lets a model write over all choices, if it says so."""
        options = RequestOptions(parameters=self.parameters_for(model, chat_parameters))
        max_output = find_output_limit(options.parameters)
        return max_output * options.choices if max_output else None

    def output_bounds_for(self, model: str) -> tuple[int, int, int]:
        """Return the maximum output of an answer if a chat sets none, and the least and the most
        that it can set, in tokens. 0 if none is sent."""
        is_known = model in self.refusals or model in (self.model_parameters or {})
        return self._compute_output_bounds(model) if is_known else self._common_output_bounds

    @cached_property
    def _common_output_bounds(self) -> tuple[int, int, int]:
        """The bounds of models about which nothing else is known. Lists have hundreds of them."""
        return self._compute_output_bounds("")

    def _compute_output_bounds(self, model: str) -> tuple[int, int, int]:
        usual, least, max_output = (
            find_output_limit(self.parameters_for(model, chat_parameters)) or 0
            for chat_parameters in ({}, {"max_output_tokens": 1}, {"max_output_tokens": MAX_OUTPUT})
        )
        return usual, least, max_output

    def output_field_for(self, model: str) -> str:
        """Return the field that limits the output of a model."""
        names = self._spelling.output
        return next((name for name in names if name not in self.refused_by(model)), names[0])

    def has_other_names(self, model: str, fields: Collection[str]) -> bool:
        """Whether all these fields, which the model refused, can be sent by another name."""
        left = set(self._spelling.output) - set(self.refused_by(model))
        return bool(left) and all(get_parameter(field) == "max_output_tokens" for field in fields)

    @property
    def _spelling(self) -> Spelling:
        """The spelling of its parameters; the name that an administrator uses comes first."""
        spelling = _find_spelling(self.base_url, self.dialect)
        used = [name for name in spelling.output if name in self.parameters]
        return replace(spelling, output=tuple(dict.fromkeys((*used, *spelling.output))))


@lru_cache(maxsize=64)  # each chat page asks once per model
def _find_spelling(base_url: str, dialect: str) -> Spelling:
    return find_spelling(dialect, urlsplit(base_url).hostname or "")
