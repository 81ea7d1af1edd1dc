"""Checking the parameters of a chat."""

from typing import Any

import pytest

from chatapp.parameters.kinds import FORBIDDEN
from chatapp.parameters.table import EFFORT_NAMES
from chatapp.parameters.values import InvalidParameters, clean_parameters, remove_parameters

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
EVERYTHING = {
    "temperature": 0.2,
    "top_p": 1,
    "max_output_tokens": 1000,
    "reasoning_effort": "low",
    "stop": ["\n\n", "END"],
    "seed": 42,
    "response_format": {"type": "json_schema", "schema": SCHEMA, "strict": True},
    "logprobs": True,
    "top_logprobs": 5,
    "web_search": True,
    "extra": {"top_k": 20},
}


def find_errors(value: object) -> dict[str, str]:
    with pytest.raises(InvalidParameters) as raised:
        clean_parameters(value)
    return raised.value.errors


def nest_objects(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_all_parameters_can_be_set() -> None:
    assert clean_parameters(EVERYTHING) == EVERYTHING


def test_only_what_is_set_is_kept_and_false_is_set() -> None:
    empty: dict[str, object] = {
        "temperature": None,
        "stop": [],
        "reasoning_effort": "",
        "extra": {},
    }
    assert clean_parameters({**empty, "web_search": False, "seed": 0}) == {
        "web_search": False,
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 2),
        ("temperature", 0),
        ("top_p", 0.0),
        ("max_output_tokens", 1),
        ("seed", -(2**63)),
        ("response_format", {"type": "text"}),
        ("response_format", {"type": "json_object"}),
        ("extra", {"reasoning": {"exclude": True}}),
        ("extra", {"pattern": r"[\u0000-\u001f]"}),  # a backslash, not the character itself
        ("extra", {"deep": nest_objects(19)}),
        ("extra", {"long": "x" * 19_900}),
        *(("reasoning_effort", effort) for effort in EFFORT_NAMES),
    ],
)
def test_values_within_the_bounds_are_accepted(name: str, value: object) -> None:
    assert clean_parameters({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("temperature", 2.1, "Temperature must be a number from 0 to 2."),
        ("temperature", True, "Temperature must be a number from 0 to 2."),
        ("temperature", "0.2", "Temperature must be a number from 0 to 2."),
        ("temperature", float("nan"), "Temperature must be a number from 0 to 2."),
        ("temperature", 10**400, "Temperature must be a number from 0 to 2."),
        ("top_p", -0.1, "Top P must be a number from 0 to 1."),
        ("max_output_tokens", 0, "a whole number from 1 to 10,000,000."),
        ("max_output_tokens", 1.5, "a whole number from 1 to 10,000,000."),
        ("seed", 2**63, "Seed must be a whole number"),
        ("reasoning_effort", "enormous", "must be one of none, minimal, low"),
        ("reasoning_effort", ["low"], "must be one of none, minimal, low"),
        ("logprobs", 1, "Log probabilities must be on or off."),
        ("web_search", "yes", "Web search must be on or off."),
        ("top_logprobs", 21, "a whole number from 0 to 20."),
        ("stop", "END", "Stop sequences must be texts."),
        ("stop", ["a", ""], "Stop sequences must be texts."),
        ("stop", ["a"] * 5, "4 stop sequences at most"),
        ("stop", ["x" * 201], "200 characters at most"),
        ("stop", ["\0"], "U+0000"),
        ("response_format", "json", "must be one of text, json_object, json_schema."),
        ("response_format", {"type": "xml"}, "must be one of text, json_object, json_schema."),
        ("response_format", {"type": "text", "schema": {}}, "doesn't know"),
        ("response_format", {"type": "json_schema"}, "The schema must be a JSON object"),
        ("response_format", {"type": "json_schema", "schema": nest_objects(21)}, "20 levels deep"),
        ("response_format", {"type": "json_schema", "schema": {"a": "x" * 20_000}}, "20,000"),
        ("extra", [1], "must be a JSON object"),
        ("extra", {"a": nest_objects(20)}, "20 levels deep"),
        ("extra", {"a": "x" * 20_000}, "20,000 characters at most"),
        ("extra", {"a": float("inf")}, "can't be sent as JSON"),
        ("extra", {"a": 10**5000}, "can't be sent as JSON"),
        ("extra", {"a": "\ud800"}, "can't be sent as JSON"),
        ("extra", {"a\0": 1}, "U+0000"),
        ("extra", {"x" * 101: 1}, "1 to 100 characters"),
        ("extra", {"": 1}, "1 to 100 characters"),
        ("extra", {"top k": 1}, "1 to 100 characters without spaces"),
        ("extra", {"a\u2028": 1}, "1 to 100 characters without spaces"),
        ("extra", {"temperature": 1}, "“temperature” has a field of its own."),
        ("extra", {"max_tokens": 1}, "“max_tokens” has a field of its own."),
        ("extra", {"maxTokens": 1}, "“maxTokens” has a field of its own."),
        ("extra", {"Temperature": 1}, "“Temperature” has a field of its own."),
        ("extra", {"MODEL": "b"}, "A chat can't set “MODEL”."),
        ("extra", {"toolChoice": "b"}, "A chat can't set “toolChoice”."),
        *(("extra", {name: 1}, f"A chat can't set “{name}”.") for name in sorted(FORBIDDEN)),
    ],
)
def test_each_wrong_value_has_a_sentence(name: str, value: object, sentence: str) -> None:
    errors = find_errors({name: value, **({"logprobs": True} if name == "top_logprobs" else {})})
    assert list(errors) == [name]
    assert sentence in errors[name]


def test_each_wrong_parameter_is_named() -> None:
    assert find_errors({"temperature": 3, "top_p": 3}).keys() == {"temperature", "top_p"}
    assert "“top_k” isn't a parameter of a chat" in find_errors({"top_k": 20})[""]
    assert find_errors([]) == {"": "Parameters must be a JSON object."}


@pytest.mark.parametrize("logprobs", [{}, {"logprobs": False}])
def test_alternatives_need_logprobs(logprobs: dict[str, bool]) -> None:
    assert (
        "Switch log probabilities on"
        in find_errors({"top_logprobs": 2, **logprobs})["top_logprobs"]
    )


def test_parameters_can_be_left_out_for_one_request() -> None:
    assert remove_parameters(EVERYTHING, ["logprobs", "top_k"]).keys() == EVERYTHING.keys() - {
        "logprobs",
        "top_logprobs",
        "extra",
    }
    assert remove_parameters({"extra": {"top_k": 1, "min_p": 1}}, ["top_k"]) == {
        "extra": {"min_p": 1}
    }
