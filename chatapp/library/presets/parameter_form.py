"""The form for a system prompt and request parameters, of a chat or a preset."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms

from chatapp.models.library.presets import MAX_SYSTEM_PROMPT_LENGTH
from chatapp.text.multiline import MultilineField
from chatapp.upstream.wire.chat_parameters import (
    EFFORTS,
    MAX_JSON,
    InvalidParameters,
    checked,
)

NOT_SET = ("", "Not set")
FORMATS = [NOT_SET, ("text", "Text"), ("json_object", "JSON"), ("json_schema", "JSON schema")]
NO_JSON = "This isn't valid JSON: {} (line {}, column {})."


class JSONTextField(MultilineField):
    """JSON as a person types it; None if it is empty."""

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
    reasoning_effort = forms.ChoiceField(
        required=False, choices=[NOT_SET, *((one, one) for one in EFFORTS)]
    )
    stop = MultilineField(required=False, strip=False)
    seed = forms.IntegerField(required=False)
    response_format = forms.ChoiceField(required=False, choices=FORMATS)
    schema = JSONTextField(required=False, max_length=MAX_JSON)
    logprobs = forms.BooleanField(required=False)
    top_logprobs = forms.IntegerField(required=False)
    web_search = forms.BooleanField(required=False)
    extra = JSONTextField(required=False, max_length=MAX_JSON)

    parameters: Mapping[str, object]

    @classmethod
    def of(cls, system_prompt: str, parameters: Mapping[str, object]) -> "ParameterForm":
        """Return a form that shows these."""
        return cls(initial=cls.shown(system_prompt, parameters))

    @staticmethod
    def shown(system_prompt: str, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return the initial values that show these."""
        shown = {"system_prompt": system_prompt, **parameters}
        stop, wanted = parameters.get("stop"), parameters.get("response_format")
        if isinstance(stop, list):
            shown["stop"] = "\n".join(map(repr_of_stop, stop))
        if isinstance(wanted, Mapping):
            shown["response_format"] = wanted["type"]
            shown["schema"] = _as_text(wanted.get("schema"))
        shown["extra"] = _as_text(parameters.get("extra"))
        return shown

    def clean(self) -> None:
        clean = self.cleaned_data
        wanted = {name: clean.get(name) for name in self._plain}
        wanted |= {name: True for name in ("logprobs", "web_search") if clean.get(name)}
        wanted["stop"] = [stop_of(line) for line in (clean.get("stop") or "").split("\n") if line]
        if chosen := clean.get("response_format"):
            schema = {"schema": clean.get("schema")} if chosen == "json_schema" else {}
            wanted["response_format"] = {"type": chosen, **schema}
        try:
            self.parameters = checked(wanted)
        except InvalidParameters as invalid:
            for name, sentence in invalid.errors.items():
                shown = "schema" if "schema" in sentence and name == "response_format" else name
                if shown not in self.errors:
                    self.add_error(shown or None, sentence)

    _plain = (
        "temperature",
        "top_p",
        "max_output_tokens",
        "reasoning_effort",
        "seed",
        "top_logprobs",
        "extra",
    )


def stop_of(line: str) -> str:
    r"""Return the stop sequence that a line stands for: `\n` and `\t` are escapes."""
    return line.replace("\\n", "\n").replace("\\t", "\t")


def repr_of_stop(stop: str) -> str:
    """Return the line that stands for a stop sequence."""
    return stop.replace("\n", "\\n").replace("\t", "\\t")


def _as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) if value else ""
