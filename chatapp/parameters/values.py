"""The parameters of a chat as values, checked and changed.

Parameters are a JSON object that has only what is set, and only that is sent:
`{"temperature": 0.2, "extra": {"top_k": 20}}`.
"""

import json
from collections.abc import Iterable, Mapping

from chatapp.parameters.table import EXTRA, PARAMETERS
from chatapp.upstream.wire.requests.spellings import get_parameter

MAX_QUOTED_LENGTH = 40  # characters of a value in a sentence
NO_LOGPROBS = "Switch log probabilities on, or set no alternatives per token."


class InvalidParameters(ValueError):
    """Raised for invalid parameters, with a sentence for each by its name; "" is all of them."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = dict(errors)


def clean_parameters(value: object) -> dict[str, object]:
    """Return parameters with only what is set. Raises `InvalidParameters`.

    None, an empty text, list or object means that a parameter isn't set.
    """
    if not isinstance(value, Mapping):
        raise InvalidParameters({"": "Parameters must be a JSON object."})
    parameters = {name: setting for name, setting in value.items() if _is_set(setting)}
    errors: dict[str, str] = {}
    for name, setting in parameters.items():
        if name not in PARAMETERS:
            errors[""] = f"“{str(name)[:40]}” isn't a parameter of a chat. Put it into “extra”."
        elif error := PARAMETERS[name].find_error(setting):
            errors[name] = error
    if "top_logprobs" in parameters and parameters.get("logprobs") is not True:
        errors.setdefault("top_logprobs", NO_LOGPROBS)
    if errors:
        raise InvalidParameters(errors)
    return {name: parameters[name] for name in PARAMETERS if name in parameters}


def remove_parameters(parameters: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """Leave out parameters, by their names or by names in `extra`."""
    dropped = set(names)
    if not dropped:
        return dict(parameters)
    if "logprobs" in dropped:
        dropped.add("top_logprobs")
    remaining = {name: value for name, value in parameters.items() if name not in dropped}
    if extra := get_extra(remaining):
        remaining[EXTRA] = {name: value for name, value in extra.items() if name not in dropped}
    return {name: value for name, value in remaining.items() if _is_set(value)}


def find_parameter_names(fields: Iterable[str], parameters: Mapping[str, object]) -> list[str]:
    """Return the names of the parameters that became these fields, without others' fields."""
    extra = get_extra(parameters)
    names = (
        get_parameter(field) if get_parameter(field) in parameters else field for field in fields
    )
    return list(dict.fromkeys(name for name in names if name in parameters or name in extra))


def quote_value(name: str, parameters: Mapping[str, object]) -> str:
    """Return the value of a parameter, or of a name in `extra`, in a few characters."""
    value = get_setting(name, parameters)
    if name == "response_format" and isinstance(value, Mapping):
        value = value.get("type")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_QUOTED_LENGTH else text[: MAX_QUOTED_LENGTH - 1] + "…"


def get_setting(name: str, parameters: Mapping[str, object]) -> object:
    """Return the value of a parameter, or of a name in `extra`; None if it isn't set."""
    return parameters.get(name, get_extra(parameters).get(name))


def get_extra(parameters: Mapping[str, object]) -> Mapping[str, object]:
    extra = parameters.get(EXTRA)
    return extra if isinstance(extra, Mapping) else {}


def _is_set(value: object) -> bool:
    return value is not None and value != "" and value != [] and value != {}
