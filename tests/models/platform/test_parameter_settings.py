"""The parameters of a request: the administrator's, those of a chat, and what a model refused."""

from typing import Any

import pytest

from chatapp.models import Upstream
from chatapp.models.platform.lessons import FieldsLesson
from chatapp.models.platform.parameter_settings import MAX_REFUSED, MAX_REFUSING

MODEL = "gpt-5"


def upstream(**fields: Any) -> Upstream:
    return Upstream(base_url="http://gateway.example/v1", **fields)


def test_a_chat_replaces_the_administrators_defaults() -> None:
    team = upstream(parameters={"temperature": 0.2, "top_p": 0.5, "stop": "x", "n": 2})
    chat_parameters = {"temperature": 1, "stop": ["END"], "extra": {"top_k": 5}}
    assert team.parameters_for(MODEL, chat_parameters) == {
        "temperature": 1,
        "top_p": 0.5,
        "stop": ["END"],
        "n": 2,
        "top_k": 5,
    }
    assert team.parameters_for(MODEL, {}) == team.parameters


def test_a_chat_does_not_replace_what_has_no_control_of_its_own() -> None:
    team = upstream(parameters={"provider": {"data_collection": "deny"}})
    chat_parameters = {"extra": {"provider": {"data_collection": "allow"}, "top_k": 5}}
    result = team.bound_parameters(MODEL, chat_parameters)
    assert result.parameters == {"extra": {"top_k": 5}}
    [change] = result.changes
    assert (change.name, change.sent) == ("provider", None)
    assert team.parameters_for(MODEL, chat_parameters) == team.parameters | {"top_k": 5}


@pytest.mark.parametrize(
    ("parameters", "max_output", "fields"),
    [
        ({"max_tokens": 100}, 50, {"max_tokens": 50}),
        ({"max_tokens": 100}, 500, {"max_tokens": 100}),
        ({"max_completion_tokens": 100}, 500, {"max_completion_tokens": 100}),
        ({"max_completion_tokens": 100}, 50, {"max_completion_tokens": 50}),
        ({}, 500, {"max_tokens": 500}),
        ({"max_tokens": "many"}, 50, {"max_tokens": 50}),
    ],
)
def test_an_administrators_maximum_output_bounds_that_of_a_chat(
    parameters: dict[str, object], max_output: int, fields: dict[str, object]
) -> None:
    team = upstream(parameters=parameters)
    assert team.parameters_for(MODEL, {"max_output_tokens": max_output}) == fields


def test_parts_of_an_object_that_the_administrator_set_are_kept() -> None:
    team = upstream(parameters={"reasoning": {"exclude": True}}, dialect="openrouter")
    fields = team.parameters_for(MODEL, {"reasoning_effort": "low"})
    assert fields == {"reasoning": {"exclude": True, "effort": "low"}}


def test_alternatives_are_not_asked_for_if_a_chat_switches_logprobs_off() -> None:
    team = upstream(parameters={"logprobs": True, "top_logprobs": 5})
    assert team.parameters_for(MODEL, {"logprobs": False}) == {"logprobs": False}


def test_rules_hold_for_a_model_over_those_for_all() -> None:
    rules = {
        "": {"temperature": {"max": 1}, "seed": {"fixed": 1}},
        "a": {"temperature": {"max": 2}},
    }
    team = upstream(model_parameters=rules)
    chat_parameters = {"temperature": 2}
    assert team.parameters_for("a", chat_parameters) == {"temperature": 2, "seed": 1}
    assert team.parameters_for("b", chat_parameters) == {"temperature": 1, "seed": 1}


def test_what_a_model_refused_is_left_out_and_said() -> None:
    team = upstream()
    team.learn_refusals(MODEL, ["temperature", "top_k"])
    chat_parameters = {"temperature": 1, "seed": 3, "extra": {"top_k": 5}}
    assert team.parameters_for(MODEL, chat_parameters) == {"seed": 3}
    assert team.parameters_for("other", chat_parameters) == {
        "temperature": 1,
        "seed": 3,
        "top_k": 5,
    }
    reasons = [change.reason for change in team.bound_parameters(MODEL, chat_parameters).changes]
    assert reasons == [
        "This model doesn't accept temperature, so it isn't sent.",
        "This model doesn't accept “top_k”, so it isn't sent.",
    ]


def test_a_refused_name_of_the_output_gives_way_to_the_other() -> None:
    team = upstream(parameters={"max_tokens": 100})
    assert team.output_field_for(MODEL) == "max_tokens"
    team.learn_refusals(MODEL, ["max_tokens"])
    assert team.has_other_names(MODEL, ["max_tokens"])
    assert not team.has_other_names(MODEL, ["max_tokens", "temperature"])
    assert team.output_field_for(MODEL) == "max_completion_tokens"
    assert team.parameters_for(MODEL, {}) == {"max_completion_tokens": 100}
    team.learn_refusals(MODEL, ["max_completion_tokens"])
    assert not team.has_other_names(MODEL, ["max_completion_tokens"])
    assert team.parameters_for(MODEL, {"max_output_tokens": 5}) == team.parameters


def test_an_administrators_own_parameter_is_sent_even_if_it_was_refused() -> None:
    team = upstream(parameters={"temperature": 0.2})
    team.learn_refusals(MODEL, ["temperature"])
    assert team.parameters_for(MODEL, {"temperature": 1}) == {"temperature": 0.2}


@pytest.mark.django_db
def test_refusals_are_remembered_and_forgotten_one_by_one(saved_upstream: Upstream) -> None:
    Upstream.learn(
        saved_upstream.pk,
        "a",
        [
            FieldsLesson(
                (
                    "temperature",
                    "seed",
                )
            )
        ],
    )
    Upstream.learn(saved_upstream.pk, "a", [FieldsLesson(("temperature",))])
    Upstream.learn(saved_upstream.pk, "b", [FieldsLesson(("seed",))])
    saved_upstream.refresh_from_db()
    assert {model: list(at) for model, at in saved_upstream.refused_parameters_at.items()} == {
        "a": ["seed", "temperature"],
        "b": ["seed"],
    }
    Upstream.forget_refusals(saved_upstream.pk, "b", "seed")
    Upstream.forget_refusals(saved_upstream.pk, "a", "seed")
    Upstream.forget_refusals(saved_upstream.pk, "gone", "seed")
    saved_upstream.refresh_from_db()
    assert {model: list(at) for model, at in saved_upstream.refusals.items()} == {
        "a": ["temperature"]
    }


def test_only_so_many_refusals_are_kept() -> None:
    team = upstream()
    team.learn_refusals("m", [f"field{number}" for number in range(MAX_REFUSED + 5)])
    assert len(team.refused_by("m")) == MAX_REFUSED
    assert f"field{MAX_REFUSED + 4}" in team.refused_by("m")
    for number in range(MAX_REFUSING + 1):
        team.learn_refusals(f"m{number}", ["seed"])
    assert len(team.refusals) == MAX_REFUSING
