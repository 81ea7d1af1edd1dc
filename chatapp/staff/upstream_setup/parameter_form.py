"""The form for the rules by which an administrator fixes or bounds the parameters of chats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField

from chatapp.parameters.kinds import Choice, Number, Switch
from chatapp.parameters.rules import Rules, clean_rules
from chatapp.parameters.table import PARAMETERS, Parameter
from chatapp.parameters.values import InvalidParameters

PARTS = {
    "min": "At least",
    "max": "At most",
    "allowed": "Only these",
    "fixed": "Fixed at",
    "off": "Can't be set",
    "offered": "Offered at the message box",
}
_ON_OR_OFF = {"on": True, "off": False}
_SWITCHED = [("on", "On"), ("off", "Off")]


@dataclass(frozen=True)
class Row:
    """The fields of one parameter."""

    name: str
    fields: list[BoundField]

    @property
    def label(self) -> str:
        return PARAMETERS[self.name].label


class RulesForm(forms.Form):
    """A row of fields for each parameter. Once valid, `rules` holds what was entered."""

    rules: Mapping[str, dict[str, object]]

    def __init__(self, data: Any, rules: Rules) -> None:
        super().__init__(data, initial=_initial(rules))
        for name, parameter in PARAMETERS.items():
            for part in PARTS:
                if part == "off" or part in parameter.rule_keys:
                    field = self.fields[f"{name}-{part}"] = _build_field(parameter, part)
                    field.label = PARTS[part]

    def clean(self) -> None:
        entered = {name: rule for name in PARAMETERS if (rule := self._rule(name))}
        try:
            self.rules = clean_rules(entered)
        except InvalidParameters as invalid:
            for name, sentence in invalid.errors.items():
                part = next(
                    candidate for candidate in PARTS if f"{name}-{candidate}" in self.fields
                )
                self.add_error(f"{name}-{part}", sentence)

    @property
    def rows(self) -> Iterator[Row]:
        for name in PARAMETERS:
            yield Row(
                name,
                [
                    self[field_name]
                    for field_name in self.fields
                    if field_name.partition("-")[0] == name
                ],
            )

    def _rule(self, name: str) -> dict[str, object]:
        entries = {part: self.cleaned_data.get(f"{name}-{part}") for part in PARTS}
        if entries["off"]:
            return {"fixed": None}
        entries["offered"] = entries["offered"] or None
        if isinstance(PARAMETERS[name].kind, Switch):
            entries["fixed"] = _ON_OR_OFF.get(str(entries["fixed"]))
        if isinstance(allowed := entries["allowed"], str):
            entries["allowed"] = allowed.replace(",", " ").split()
        return {
            part: value
            for part, value in entries.items()
            if part != "off" and value not in (None, "", [])
        }


def _build_field(parameter: Parameter, part: str) -> forms.Field:
    kind = parameter.kind
    if part in ("off", "offered"):
        return forms.BooleanField(required=False)
    if part == "allowed":
        placeholder = ", ".join(kind.allowed_values or ("top_k", "min_p"))
        attributes = {"autocomplete": "off", "placeholder": placeholder, "class": "names"}
        widget = forms.TextInput(attributes)
        return forms.CharField(required=False, max_length=5000, widget=widget)
    if isinstance(kind, Number):
        step = "1" if kind.is_whole else "any"
        number = forms.IntegerField if kind.is_whole else forms.FloatField
        return number(
            required=False, widget=forms.NumberInput({"step": step, "autocomplete": "off"})
        )
    choices = [(value, value) for value in kind.names] if isinstance(kind, Choice) else _SWITCHED
    return forms.ChoiceField(required=False, choices=[("", "Not fixed"), *choices])


def _initial(rules: Rules) -> dict[str, object]:
    initial: dict[str, object] = {}
    for name, rule in rules.items():
        for part, value in rule.items():
            if part == "fixed" and value is None:
                initial[f"{name}-off"] = True
            elif part == "allowed" and isinstance(value, list):
                initial[f"{name}-allowed"] = ", ".join(map(str, value))
                initial[f"{name}-off"] = not value
            elif part == "offered":
                initial[f"{name}-{part}"] = value
            elif isinstance(PARAMETERS[name].kind, Switch):
                initial[f"{name}-{part}"] = "on" if value else "off"
            else:
                initial[f"{name}-{part}"] = value
    return initial
