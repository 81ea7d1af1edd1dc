"""The composer's controls for parameters, by model: reasoning effort and web search.

A model has one if the gateway's list says so (`model_list`), or an administrator's rules do. What
the model has refused isn't offered. What an administrator fixed is shown, but can't be changed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from chatapp.parameters.rules import Rules, merge_rules
from chatapp.upstream.wire.model_list import Ability, ListedModel
from chatapp.upstream.wire.requests.spellings import (
    EFFORTS,
    MERGEABLE_FIELDS,
    NO_REASONING,
    Spelling,
)


@dataclass(frozen=True, slots=True)
class Controls:
    """The controls for one model."""

    efforts: tuple[str, ...] = ()  # empty: no control
    effort_is_fixed: bool = False
    has_web_search: bool = False
    searches_by_default: bool = False
    web_search_is_fixed: bool = False  # on


def controls_for(
    model: ListedModel,
    common_rules: Rules,
    model_rules: Rules,
    spelling: Spelling,
    refused: Collection[str],
    default_fields: Collection[str],
) -> Controls:
    """Return the controls for a model, given the rules of all models and its own.

    `default_fields` are the fields that the administrator sends with all requests.
    """
    rules = merge_rules(common_rules, model_rules)
    effort, search = rules.get("reasoning_effort", {}), rules.get("web_search", {})
    searches_by_default = any(
        field in default_fields for field in spelling.web_search if field not in MERGEABLE_FIELDS
    )
    searches = (
        searches_by_default
        or (spelling.searches_with_tools and Ability.TOOLS in model.abilities)
        or Ability.WEB_SEARCH in model.abilities
        or search.get("offered")
    )
    efforts = _efforts(model, common_rules, model_rules)
    return Controls(
        () if _is_refused({"reasoning_effort": NO_REASONING}, spelling, refused) else efforts,
        "fixed" in effort,
        bool(search.get("fixed", searches))
        and not _is_refused({"web_search": True}, spelling, refused),
        searches_by_default,
        "fixed" in search,
    )


def _is_refused(
    parameter: Mapping[str, object], spelling: Spelling, refused: Collection[str]
) -> bool:
    return bool(refused) and not spelling.build_fields(parameter, refused)


def _efforts(model: ListedModel, common_rules: Rules, model_rules: Rules) -> tuple[str, ...]:
    """Return the efforts to choose from, in order. A list of its own says that a model has them."""
    own, common = (rules.get("reasoning_effort", {}) for rules in (model_rules, common_rules))
    rule = own or common
    if "fixed" in rule:
        return (str(rule["fixed"]),) if rule["fixed"] else ()
    allowed = rule.get("allowed")
    if not isinstance(allowed, list):
        return model.efforts
    known_efforts = EFFORTS if own else model.efforts
    return tuple(effort for effort in known_efforts if effort in allowed)
