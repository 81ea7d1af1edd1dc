"""The form for a system prompt and request parameters, of a chat or a preset.

It has a field for each row of `parameters.table`, and shows whatever it saves.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.forms import BoundField

from chatapp.models.library.presets import MAX_SYSTEM_PROMPT_LENGTH
from chatapp.parameters.kinds import (
    FORMATS,
    MAX_JSON,
    Choice,
    Number,
    ResponseFormat,
    StopSequences,
    Switch,
)
from chatapp.parameters.table import COMPOSER_PARAMETERS, PARAMETERS, Parameter
from chatapp.parameters.values import InvalidParameters, clean_parameters
from chatapp.text.multiline import MultilineField

NOT_SET = ("", "Not set")
SCHEMA_PARTS = ("strict", "schema")  # of a response format, with fields of their own
NO_JSON = "This isn't valid JSON: {} (line {}, column {})."


class JSONTextField(MultilineField):
    """JSON as a person types it; None if it is empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, max_length=MAX_JSON, **options)

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        indented = json.dumps(value, ensure_ascii=False, indent=2)
        return indented if len(indented) <= MAX_JSON else json.dumps(value, ensure_ascii=False)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text.strip():
            return None
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            problem = NO_JSON.format(error.msg, error.lineno, error.colno)
            raise forms.ValidationError(problem) from None
        except (ValueError, RecursionError):  # a number with thousands of digits, or deep nesting
            raise forms.ValidationError("This JSON can't be read.") from None


class StopField(forms.CharField):
    r"""Stop sequences, one per line, in which `\n`, `\r`, `\t` and `\\` are escapes."""

    ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\\\": "\\"}
    ESCAPE_TABLE = {ord(character): escape for escape, character in ESCAPES.items()}
    widget = forms.Textarea

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, strip=False, **options)

    def prepare_value(self, value: Any) -> Any:
        is_list = isinstance(value, list)
        return (
            "\n".join(sequence.translate(self.ESCAPE_TABLE) for sequence in value)
            if is_list
            else value
        )

    def clean(self, value: Any) -> Any:
        lines = re.split(r"[\r\n]+", super().clean(value))
        return [re.sub(r"\\[nrt\\]", self._unescape, line) for line in lines if line]

    def _unescape(self, escape: re.Match[str]) -> str:
        return self.ESCAPES[escape[0]]


class SwitchField(forms.ChoiceField):
    """True, False, or None for what is not set."""

    def __init__(self, **options: Any) -> None:
        choices = [NOT_SET, ("on", "On"), ("off", "Off")]
        super().__init__(required=False, choices=choices, **options)

    def prepare_value(self, value: Any) -> Any:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value

    def clean(self, value: Any) -> Any:
        return {"on": True, "off": False}.get(super().clean(value))


def _build_field(parameter: Parameter) -> forms.Field:
    options: dict[str, Any] = {"label": parameter.label, "help_text": parameter.hint}
    match parameter.kind:
        case Number(minimum, maximum, is_whole):
            bounds = {"min": minimum, "max": maximum, "step": "1" if is_whole else "any"}
            number = forms.IntegerField if is_whole else forms.FloatField
            return number(required=False, widget=forms.NumberInput(bounds), **options)
        case Choice(names):
            return forms.ChoiceField(required=False, choices=[NOT_SET, *names.items()], **options)
        case ResponseFormat():
            choices = [NOT_SET, *FORMATS.items()]
            return forms.ChoiceField(required=False, choices=choices, **options)
        case Switch():
            return SwitchField(**options)
        case StopSequences():
            return StopField(**options)
    return JSONTextField(**options)


_ParameterFields: Any = type(
    "_ParameterFields",
    (forms.Form,),
    {name: _build_field(parameter) for name, parameter in PARAMETERS.items()},
)


class ParameterForm(_ParameterFields):  # type: ignore[misc]
    """A system prompt and parameters. What is empty is not set, and not sent.

    Once valid, `parameters` holds what is set; see `parameters.values`.
    """

    system_prompt = MultilineField(
        required=False,
        strip=False,
        max_length=MAX_SYSTEM_PROMPT_LENGTH,
        label="System prompt",
        help_text="Sent first in every request.",
        error_messages={
            "max_length": f"A system prompt has at most {MAX_SYSTEM_PROMPT_LENGTH:,} characters."
        },
    )
    strict = SwitchField(label="Strict schema")
    schema = JSONTextField(label="JSON schema")

    parameters: Mapping[str, object]

    @property
    def control_values(self) -> dict[str, object]:
        """The values of the composer's controls; None unsets a parameter."""
        return {
            name: self.parameters.get(name) for name in COMPOSER_PARAMETERS if name in self.data
        }

    @classmethod
    def of(cls, system_prompt: str, parameters: Mapping[str, object]) -> "ParameterForm":
        """Return a form that shows these."""
        return cls(initial=cls.build_initial(system_prompt, parameters))

    @staticmethod
    def build_initial(system_prompt: str, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return the initial values that show these."""
        initial_values = {"system_prompt": system_prompt, **parameters}
        response_format = parameters.get("response_format")
        if isinstance(response_format, Mapping):
            initial_values |= {**response_format, "response_format": response_format["type"]}
        return initial_values

    def clean(self) -> None:
        clean = self.cleaned_data
        values = {name: clean.get(name) for name in PARAMETERS}
        if format_type := clean.get("response_format"):
            parts = SCHEMA_PARTS if format_type == "json_schema" else ()
            format_parts = {name: clean[name] for name in parts if clean.get(name) is not None}
            values["response_format"] = {"type": format_type, **format_parts}
        try:
            self.parameters = clean_parameters(values)
        except InvalidParameters as invalid:
            for name, sentence in invalid.errors.items():
                field_name = (
                    "schema" if "schema" in sentence and name == "response_format" else name
                )
                if field_name not in self.errors:
                    self.add_error(field_name or None, sentence)

    @property
    def common_fields(self) -> list[BoundField]:
        return [self[name] for name, parameter in PARAMETERS.items() if parameter.is_common]

    @property
    def more_fields(self) -> list[BoundField]:
        """The fields under “More parameters”."""
        names = [name for name, parameter in PARAMETERS.items() if not parameter.is_common]
        after_format = names.index("response_format") + 1
        names[after_format:after_format] = SCHEMA_PARTS
        return [self[name] for name in names]

    @property
    def has_parameters(self) -> bool:
        """Whether any parameter is set or wrong."""
        return _has_any([*self.common_fields, *self.more_fields])

    @property
    def has_more(self) -> bool:
        """Whether something under “More parameters” is set or wrong."""
        return _has_any(self.more_fields)


def _has_any(fields: Iterable[BoundField]) -> bool:
    return any(field.value() not in (None, "") or field.errors for field in fields)
