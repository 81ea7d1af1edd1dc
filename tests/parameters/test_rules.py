"""An administrator's rules for the parameters of chats."""

from typing import Any

import pytest

from chatapp.parameters.rules import apply_rules, clean_rules, merge_rules
from chatapp.parameters.values import InvalidParameters


def only_change(parameters: dict[str, object], rules: dict[str, Any]) -> tuple[object, str]:
    result = apply_rules(parameters, clean_rules(rules))
    [change] = result.changes
    assert change.requested == parameters[change.name]
    assert result.parameters.get(change.name) == change.sent
    return change.sent, change.reason


@pytest.mark.parametrize(
    ("name", "requested", "rule", "sent", "reason"),
    [
        (
            "temperature",
            1.7,
            {"max": 1},
            1,
            "For temperature, your administrator allows at most 1.",
        ),
        ("temperature", 0, {"min": 0.2, "max": 1}, 0.2, "allows at least 0.2 and at most 1."),
        ("max_output_tokens", 9000, {"max": 4096}, 4096, "at most 4096"),
        ("seed", 7, {"fixed": 1}, 1, "Your administrator has fixed a seed for this model."),
        ("seed", 7, {"fixed": None}, None, "doesn't let chats set a seed for this model."),
        ("web_search", True, {"fixed": False}, False, "has fixed web search"),
        ("reasoning_effort", "max", {"allowed": ["low", "high"]}, "high", "only: low, high."),
        ("reasoning_effort", "none", {"allowed": ["high", "low"]}, "low", "only: high, low."),
        ("reasoning_effort", "low", {"allowed": []}, None, "doesn't let chats set"),
        ("response_format", {"type": "json_object"}, {"allowed": ["text"]}, None, "only: text."),
        ("extra", {"top_k": 1, "x": 2}, {"allowed": ["top_k"]}, {"top_k": 1}, "only: top_k."),
        ("extra", {"x": 2}, {"allowed": []}, None, "doesn't let chats set other parameters"),
    ],
)
def test_a_rule_changes_what_a_chat_set_and_says_why(
    name: str, requested: object, rule: dict[str, object], sent: object, reason: str
) -> None:
    changed_value, why = only_change({name: requested}, {name: rule})
    assert changed_value == sent
    assert reason in why


@pytest.mark.parametrize(
    "parameters",
    [
        {"temperature": 0.5},
        {"reasoning_effort": "low"},
        {"extra": {"top_k": 1}},
        {},
        {"web_search": True},
    ],
)
def test_what_is_within_the_rules_is_sent_as_it_is(parameters: dict[str, object]) -> None:
    rules = clean_rules(
        {
            "temperature": {"min": 0, "max": 1},
            "reasoning_effort": {"allowed": ["low"]},
            "extra": {"allowed": ["top_k"]},
            "web_search": {"offered": True},
        }
    )
    result = apply_rules(parameters, rules)
    assert result.parameters == parameters
    assert not result.changes


def test_what_is_fixed_is_sent_even_if_the_chat_does_not_set_it() -> None:
    result = apply_rules({}, {"seed": {"fixed": 1}, "temperature": {"max": 1}})
    assert result.parameters == {"seed": 1}
    assert not result.changes


def test_a_maximum_output_is_sent_even_if_the_chat_sets_none() -> None:
    assert apply_rules({}, {"max_output_tokens": {"max": 100}}).parameters == {
        "max_output_tokens": 100
    }


def test_other_names_do_not_evade_a_rule() -> None:
    extra = {"Reasoning": {"effort": "high"}, "nPredict": 10**6, "top_k": 1}
    rules: dict[str, dict[str, object]] = {
        "reasoning_effort": {"allowed": ["low"]},
        "max_output_tokens": {"max": 100},
    }
    result = apply_rules({"extra": extra}, clean_rules(rules))
    assert result.parameters == {"max_output_tokens": 100, "extra": {"top_k": 1}}
    assert [change.name for change in result.changes] == ["Reasoning", "nPredict"]
    assert "rules for reasoning effort" in result.changes[0].reason
    assert apply_rules({"extra": {"n_predict": 1}}, rules).parameters == {"max_output_tokens": 100}


def test_no_alternatives_are_asked_for_without_logprobs() -> None:
    parameters = {"logprobs": True, "top_logprobs": 2}
    assert apply_rules(parameters, {"logprobs": {"fixed": None}}).parameters == {}


def test_the_rule_of_a_model_replaces_that_of_all_models() -> None:
    everywhere = {"temperature": {"max": 1}, "seed": {"fixed": 1}}
    assert merge_rules(everywhere, {"temperature": {"max": 2}}) == {
        "temperature": {"max": 2},
        "seed": {"fixed": 1},
    }


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ([], "Rules must be a JSON object"),
        ({"top_k": {"max": 1}}, "“top_k” isn't a parameter of a chat."),
        ({"temperature": 1}, "A rule for temperature has fixed or max or min."),
        ({"temperature": {"most": 1}}, "A rule for temperature has fixed or max or min."),
        ({"temperature": {"max": 3}}, "Temperature must be a number from 0 to 2."),
        ({"temperature": {"min": 1, "max": 0}}, "The min of temperature is above its max."),
        ({"temperature": {"fixed": 1, "max": 1}}, "can have nothing else"),
        ({"temperature": {"fixed": "hot"}}, "Temperature must be a number from 0 to 2."),
        ({"web_search": {"max": 1}}, "A rule for web_search has fixed or offered."),
        ({"reasoning_effort": {"allowed": ["huge"]}}, "can be none, minimal, low"),
        ({"reasoning_effort": {"allowed": "low"}}, "must be a list"),
        ({"extra": {"allowed": ["model"]}}, "must be names of parameters"),
        ({"extra": {"allowed": [1]}}, "must be names of parameters"),
        ({"extra": {"allowed": ["x"] * 51}}, "a list of up to 50"),
    ],
)
def test_a_wrong_rule_is_refused_in_words(rules: Any, sentence: str) -> None:
    with pytest.raises(InvalidParameters) as raised:
        clean_rules(rules)
    assert sentence in str(raised.value)


def test_empty_rules_are_dropped() -> None:
    assert clean_rules({"temperature": {}, "seed": {"fixed": None}}) == {"seed": {"fixed": None}}
