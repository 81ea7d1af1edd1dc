"""Doubtful parameters get a warning, but none is rejected."""

import pytest

from chatapp.parameters.doubts import doubts_about


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"temperature": 0.2, "n": 2, "logprobs": True},
        {"temperature": 1, "max_tokens": 100.0, "stop": "END", "seed": None},
        {"stop": ["END"], "tool_choice": {"type": "function"}, "logit_bias": {"50256": -100}},
        {"chat_template_kwargs": {"enable_thinking": False}, "provider": {"order": ["Groq"]}},
        {"reasoning_effort": "low", "service_tier": "flex", "parallel_tool_calls": False},
    ],
)
def test_known_parameters_of_the_right_type_get_no_warning(
    parameters: dict[str, object],
) -> None:
    assert doubts_about(parameters) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("temperatur", "temperature"),
        ("Temperature", "temperature"),
        ("max_token", "max_tokens"),
        ("topP", "top_p"),
        ("Max-Tokens", "max_tokens"),
        ("freqency_penalty", "frequency_penalty"),
        ("reasoning_efort", "reasoning_effort"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(name: str, meant: str) -> None:
    assert doubts_about({name: 1}) == [
        f"“{name}” is not a known parameter. Did you mean “{meant}”?"
    ]


@pytest.mark.parametrize(
    ("name", "value", "warning"),
    [
        ("temperature", "0.2", "a number, but is the text “0.2”"),
        ("temperature", True, "a number, but is true"),
        ("max_tokens", 0.5, "a whole number, but is the number 0.5"),
        ("logprobs", "true", "true or false, but is the text “true”"),
        ("response_format", "json", "an object, but is the text “json”"),
        ("reasoning_effort", 3, "text, but is the number 3"),
        ("modalities", {}, "a list, but is an object"),
    ],
)
def test_a_value_of_the_wrong_type_gets_a_warning(name: str, value: object, warning: str) -> None:
    assert doubts_about({name: value}) == [f"“{name}” should be {warning}."]


def test_an_unknown_name_is_shortened_and_gets_no_suggestion() -> None:
    assert doubts_about({"zz" * 500: 1}) == ["“" + "zz" * 29 + "z…” is not a known parameter."]


def test_only_the_first_few_warnings_are_returned() -> None:
    doubts = doubts_about({f"zz{number}": 1 for number in range(1000)})
    assert len(doubts) == 6
    assert doubts[-1] == "And 995 more."
