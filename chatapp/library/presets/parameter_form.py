"""The form for a system prompt and request parameters, of a chat or a preset.

What it shows is what it saves: each value that `chat_parameters` permits has a form of its own.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from chatapp.models.library.presets import MAX_SYSTEM_PROMPT_LENGTH
from chatapp.text.multiline import MultilineField
from chatapp.upstream.wire.chat_parameters import (
    EFFORT_NAMES,
    LABELS,
    MAX_JSON,
    NO_EFFORT,
    InvalidParameters,
    clean_parameters,
)
from chatapp.upstream.wire.composer_parameters import NAMES

NOT_SET = ("", "Not set")
FORMATS = [NOT_SET, ("text", "Text"), ("json_object", "JSON"), ("json_schema", "JSON schema")]
MORE = ("seed", "response_format", "schema", "strict", "stop", "logprobs", "top_logprobs", "extra")
NO_JSON = "This isn't valid JSON: {} (line {}, column {})."


class JSONTextField(MultilineField):
    """JSON as a person types it; None if it is empty."""

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

    def __init__(self) -> None:
        super().__init__(required=False, strip=False)

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

    def __init__(self) -> None:
        super().__init__(required=False, choices=[NOT_SET, ("on", "On"), ("off", "Off")])

    def prepare_value(self, value: Any) -> Any:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value

    def clean(self, value: Any) -> Any:
        return {"on": True, "off": False}.get(super().clean(value))


class ParameterForm(forms.Form):
    """A system prompt and parameters. What is empty is not set, and not sent.

    Once valid, `parameters` holds what is set; see `chat_parameters`.
    """

    system_prompt = MultilineField(
        required=False,
        strip=False,
        max_length=MAX_SYSTEM_PROMPT_LENGTH,
        label="System prompt",
        error_messages={
            "max_length": f"A system prompt has at most {MAX_SYSTEM_PROMPT_LENGTH:,} characters."
        },
    )
    temperature = forms.FloatField(required=False)
    top_p = forms.FloatField(required=False)
    max_output_tokens = forms.IntegerField(required=False)
    reasoning_effort = forms.ChoiceField(required=False, choices=[NO_EFFORT, *EFFORT_NAMES.items()])
    stop = StopField()
    seed = forms.IntegerField(required=False)
    response_format = forms.ChoiceField(required=False, choices=FORMATS)
    schema = JSONTextField(required=False, max_length=MAX_JSON)
    strict = SwitchField()
    logprobs = SwitchField()
    top_logprobs = forms.IntegerField(required=False)
    web_search = SwitchField()
    extra = JSONTextField(required=False, max_length=MAX_JSON)

    parameters: Mapping[str, object]

    @property
    def control_values(self) -> dict[str, object]:
        """The values of the composer's controls; None unsets a parameter."""
        return {name: self.parameters.get(name) for name in NAMES if name in self.data}

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
        values = {name: clean.get(name) for name in LABELS}
        if format_type := clean.get("response_format"):
            parts = ("schema", "strict") if format_type == "json_schema" else ()
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
    def has_parameters(self) -> bool:
        """Whether any parameter is set or wrong."""
        return self._has_any(LABELS)

    @property
    def has_more(self) -> bool:
        """Whether something under “More parameters” is set or has an error."""
        return self._has_any(MORE)

    def _has_any(self, names: Iterable[str]) -> bool:
        return any(self[name].value() not in (None, "") or self[name].errors for name in names)
