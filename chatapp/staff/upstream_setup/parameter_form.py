"""The form for the rules by which an administrator fixes or bounds the parameters of chats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField

from chatapp.upstream.wire.chat_parameters import (
    EFFORTS,
    FORMATS,
    LABELS,
    PARAMETER_NAMES,
    InvalidParameters,
)
from chatapp.upstream.wire.parameter_rules import (
    LIST_PARAMETERS,
    OFFERABLE_PARAMETERS,
    Rules,
    clean_rules,
)

PARTS = {
    "min": "At least",
    "max": "At most",
    "allowed": "Only these",
    "fixed": "Fixed at",
    "off": "Can't be set",
    "offered": "Offered at the message box",
}
_BOUNDS = {
    "temperature": ("min", "max", "fixed"),
    "top_p": ("min", "max", "fixed"),
    "max_output_tokens": ("max", "fixed"),
    "seed": ("fixed",),
    "top_logprobs": ("max",),
}
_WHOLE = frozenset({"max_output_tokens", "seed", "top_logprobs"})
_SWITCHES = frozenset({"logprobs", "web_search"})
_ON_OR_OFF = {"on": True, "off": False}
_KNOWN = {"reasoning_effort": EFFORTS, "response_format": FORMATS}


@dataclass(frozen=True)
class Row:
    """The fields of one parameter."""

    name: str
    fields: list[BoundField]

    @property
    def label(self) -> str:
        return PARAMETER_NAMES[self.name]


class RulesForm(forms.Form):
    """A row of fields for each parameter. Once valid, `rules` holds what was entered."""

    rules: Mapping[str, dict[str, object]]

    def __init__(self, data: Any, rules: Rules) -> None:
        super().__init__(data, initial=_initial(rules))
        for name, part, field in _fields():
            field.label = PARTS[part]
            self.fields[f"{name}-{part}"] = field

    def clean(self) -> None:
        entered = {name: rule for name in LABELS if (rule := self._rule(name))}
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
        for name in LABELS:
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
        if name in _SWITCHES:
            entries["fixed"] = _ON_OR_OFF.get(str(entries["fixed"]))
        if isinstance(allowed := entries["allowed"], str):
            entries["allowed"] = allowed.replace(",", " ").split()
        return {
            part: value
            for part, value in entries.items()
            if part != "off" and value not in (None, "", [])
        }


def _fields() -> Iterator[tuple[str, str, forms.Field]]:
    """Yield the name of a parameter, a part of its rule, and the field for it."""
    for name in LABELS:
        number = forms.IntegerField if name in _WHOLE else forms.FloatField
        for part in _BOUNDS.get(name, ()):
            yield name, part, number(required=False, widget=_number(name))
        if name in LIST_PARAMETERS:
            placeholder = ", ".join(_KNOWN.get(name, ("top_k", "min_p")))
            widget = forms.TextInput(
                {"autocomplete": "off", "placeholder": placeholder, "class": "names"}
            )
            yield name, "allowed", forms.CharField(required=False, max_length=5000, widget=widget)
        if name in _SWITCHES:
            choices = [("", "Not fixed"), ("on", "On"), ("off", "Off")]
            yield name, "fixed", forms.ChoiceField(required=False, choices=choices)
        if name == "reasoning_effort":
            choices = [("", "Not fixed"), *((effort, effort) for effort in EFFORTS)]
            yield name, "fixed", forms.ChoiceField(required=False, choices=choices)
        yield name, "off", forms.BooleanField(required=False)
        if name in OFFERABLE_PARAMETERS:
            yield name, "offered", forms.BooleanField(required=False)


def _number(name: str) -> forms.NumberInput:
    return forms.NumberInput({"step": "1" if name in _WHOLE else "any", "autocomplete": "off"})


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
            elif name in _SWITCHES:
                initial[f"{name}-{part}"] = "on" if value else "off"
            else:
                initial[f"{name}-{part}"] = value
    return initial
