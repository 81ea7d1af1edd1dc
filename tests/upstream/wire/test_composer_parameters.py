"""Which controls the composer has for a model."""

from typing import Any

import pytest

from chatapp.upstream.wire.composer_parameters import Controls, controls_for
from chatapp.upstream.wire.model_list import Ability, ListedModel
from chatapp.upstream.wire.spellings import COMMON, OF_DASHSCOPE, OF_OPENROUTER, Spelling

PLAIN = ListedModel("plain")
ABLE = ListedModel(
    "able",
    abilities=frozenset({Ability.REASONING, Ability.WEB_SEARCH}),
    efforts=("low", "medium", "high"),
)


def found(
    model: ListedModel,
    common: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
    spelling: Spelling = COMMON,
    refused: tuple[str, ...] = (),
    given: tuple[str, ...] = (),
) -> Controls:
    return controls_for(model, common or {}, own or {}, spelling, refused, given)


def test_a_model_has_the_controls_that_its_gateway_lists() -> None:
    assert found(ABLE) == Controls(("low", "medium", "high"), has_web_search=True)
    assert found(PLAIN) == Controls()


def test_openrouter_searches_with_any_model_that_calls_tools() -> None:
    calling = ListedModel("calling", abilities=frozenset({Ability.TOOLS}))
    assert found(calling, spelling=OF_OPENROUTER) == Controls(has_web_search=True)
    assert found(PLAIN, spelling=OF_OPENROUTER) == Controls()
    assert found(calling) == Controls()
    assert found(PLAIN, spelling=OF_DASHSCOPE) == Controls()


def test_an_administrator_lets_all_requests_search() -> None:
    by_default = Controls(has_web_search=True, searches_by_default=True)
    assert found(PLAIN, given=("web_search_options",)) == by_default
    assert not found(PLAIN, given=("tools",)).has_web_search


def test_what_a_model_has_refused_is_not_offered() -> None:
    assert not found(ABLE, refused=("reasoning_effort",)).efforts
    assert found(ABLE, refused=("reasoning_effort",)).has_web_search
    assert not found(ABLE, refused=("web_search_options",)).has_web_search
    assert not found(ABLE, spelling=OF_OPENROUTER, refused=("reasoning",)).efforts


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
    assert found(ABLE, *rules).efforts == efforts
    # A list for one model says that it has them; one for all models does not.
    assert found(PLAIN, *rules).efforts == (efforts if own else ())


def test_an_administrator_says_that_a_model_searches() -> None:
    offered = {"web_search": {"offered": True}}
    assert found(PLAIN, offered).has_web_search
    assert found(PLAIN, {"web_search": {"fixed": None}}, offered).has_web_search
    assert not found(ABLE, offered, {"web_search": {"fixed": None}}).has_web_search
    assert not found(ABLE, {"web_search": {"fixed": False}}).has_web_search


def test_what_an_administrator_has_fixed_is_shown() -> None:
    rules = {"reasoning_effort": {"fixed": "high"}, "web_search": {"fixed": True}}
    fixed = Controls(("high",), True, True, False, True)
    assert found(PLAIN, rules) == found(ABLE, rules) == fixed
