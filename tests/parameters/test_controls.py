"""The controls that the composer has for a model."""

from typing import Any

import pytest

from chatapp.parameters.controls import Controls, controls_for
from chatapp.upstream.wire.model_list import Ability, ListedModel
from chatapp.upstream.wire.requests.spellings import (
    COMMON_SPELLING,
    DASHSCOPE_SPELLING,
    OPENROUTER_SPELLING,
    Spelling,
)

PLAIN = ListedModel("plain")
ABLE = ListedModel(
    "able",
    abilities=frozenset({Ability.REASONING, Ability.WEB_SEARCH}),
    efforts=("low", "medium", "high"),
)


def find_controls(
    model: ListedModel,
    common: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
    spelling: Spelling = COMMON_SPELLING,
    refused: tuple[str, ...] = (),
    default_fields: tuple[str, ...] = (),
) -> Controls:
    return controls_for(model, common or {}, own or {}, spelling, refused, default_fields)


def test_a_model_has_the_controls_that_its_gateway_lists() -> None:
    assert find_controls(ABLE) == Controls(("low", "medium", "high"), has_web_search=True)
    assert find_controls(PLAIN) == Controls()


def test_openrouter_searches_with_any_model_that_calls_tools() -> None:
    calling = ListedModel("calling", abilities=frozenset({Ability.TOOLS}))
    assert find_controls(calling, spelling=OPENROUTER_SPELLING) == Controls(has_web_search=True)
    assert find_controls(PLAIN, spelling=OPENROUTER_SPELLING) == Controls()
    assert find_controls(calling) == Controls()
    assert find_controls(PLAIN, spelling=DASHSCOPE_SPELLING) == Controls()


def test_an_administrator_lets_all_requests_search() -> None:
    by_default = Controls(has_web_search=True, searches_by_default=True)
    assert find_controls(PLAIN, default_fields=("web_search_options",)) == by_default
    assert not find_controls(PLAIN, default_fields=("tools",)).has_web_search


def test_what_a_model_has_refused_is_not_offered() -> None:
    assert not find_controls(ABLE, refused=("reasoning_effort",)).efforts
    assert find_controls(ABLE, refused=("reasoning_effort",)).has_web_search
    assert not find_controls(ABLE, refused=("web_search_options",)).has_web_search
    assert not find_controls(ABLE, spelling=OPENROUTER_SPELLING, refused=("reasoning",)).efforts


@pytest.mark.parametrize(
    ("common", "own", "efforts"),
    [
        ({"allowed": ["high", "low"]}, {}, ("low", "high")),
        ({"allowed": ["max"]}, {}, ()),
        ({"allowed": ["low"]}, {"allowed": ["max", "none"]}, ("none", "max")),
        ({"allowed": []}, {}, ()),
        ({"fixed": None}, {}, ()),
        ({"fixed": None}, {"allowed": ["low"]}, ("low",)),
    ],
)
def test_an_administrator_bounds_the_efforts(
    common: dict[str, Any], own: dict[str, Any], efforts: tuple[str, ...]
) -> None:
    rules = ({"reasoning_effort": common}, {"reasoning_effort": own} if own else {})
    assert find_controls(ABLE, *rules).efforts == efforts
    # A list for one model says that it has them; one for all models does not.
    assert find_controls(PLAIN, *rules).efforts == (efforts if own else ())


def test_an_administrator_says_that_a_model_searches() -> None:
    offered = {"web_search": {"offered": True}}
    assert find_controls(PLAIN, offered).has_web_search
    assert find_controls(PLAIN, {"web_search": {"fixed": None}}, offered).has_web_search
    assert not find_controls(ABLE, offered, {"web_search": {"fixed": None}}).has_web_search
    assert not find_controls(ABLE, {"web_search": {"fixed": False}}).has_web_search


def test_what_an_administrator_has_fixed_is_shown() -> None:
    rules = {"reasoning_effort": {"fixed": "high"}, "web_search": {"fixed": True}}
    fixed = Controls(("high",), True, True, False, True)
    assert find_controls(PLAIN, rules) == find_controls(ABLE, rules) == fixed
