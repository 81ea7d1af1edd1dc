"""An administrator's rules for the parameters of chats: each can be fixed or bounded.

Rules are a JSON object by parameter: `{"temperature": {"min": 0, "max": 1}, "seed": {"fixed": 1},
"reasoning_effort": {"allowed": ["low", "medium"]}, "web_search": {"fixed": null}}`. `fixed: null`
means that a chat can't set the parameter at all. `"web_search": {"offered": true}` says that the
composer offers it, whatever the gateway's list says.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from chatapp.parameters.kinds import OtherParameters, Rule, plain_name
from chatapp.parameters.table import EXTRA, PARAMETERS, Parameter, get_phrase
from chatapp.parameters.values import (
    InvalidParameters,
    get_extra,
    get_setting,
    remove_parameters,
)
from chatapp.upstream.wire.requests.spellings import Spelling

Rules = Mapping[str, Rule]  # by parameter

MAX_ALLOWED = 50  # items of a list
_BOUNDS = {"min": "least", "max": "most"}


@dataclass(frozen=True, slots=True)
class Change:
    """A change by a rule to a parameter that a chat set."""

    name: str
    requested: object
    sent: object  # None if it is left out
    reason: str


@dataclass(frozen=True, slots=True)
class BoundedParameters:
    """The parameters to send for a chat, and the changes by its administrator's rules."""

    parameters: dict[str, object]
    changes: tuple[Change, ...] = ()


def clean_rules(value: object) -> dict[str, dict[str, object]]:
    """Return rules without empty ones. Raises `InvalidParameters`."""
    if not isinstance(value, Mapping):
        raise InvalidParameters({"": 'Rules must be a JSON object: {"temperature": {"max": 1}}.'})
    errors = {
        str(name): error for name, rule in value.items() if (error := _find_error(name, rule))
    }
    if errors:
        raise InvalidParameters(errors)
    return {name: dict(rule) for name, rule in value.items() if rule}


def merge_rules(*rule_sets: Rules) -> dict[str, Mapping[str, object]]:
    """Return the rules that hold where later ones replace earlier ones for a parameter."""
    return {name: rule for rules in rule_sets for name, rule in rules.items()}


def apply_rules(
    parameters: Mapping[str, object], rules: Rules, common_parameters: Collection[str] = ()
) -> BoundedParameters:
    """Apply rules to checked parameters.

    `common_parameters` are those that the administrator sets for all requests; names in `extra`
    don't replace them.
    """
    sent = dict(parameters)
    changes: list[Change] = []
    _drop_from_extra(
        common_parameters, "Your administrator sets this for all chats.", sent, changes
    )
    for name, rule in rules.items():
        _apply_rule(name, rule, sent, changes)
        parameter = PARAMETERS[name]
        reason = f"Your administrator has set rules for {parameter.phrase}."
        _drop_from_extra(parameter.other_names, reason, sent, changes)
    if sent.get("logprobs") is not True:
        sent.pop("top_logprobs", None)
    return BoundedParameters(sent, tuple(changes))


def without_refused(
    result: BoundedParameters, spelling: Spelling, refused: Collection[str]
) -> BoundedParameters:
    """Leave out what would not be sent because the model refused it."""
    sent = result.parameters
    names = [name for name in sent if name != EXTRA and _is_refused(name, sent, spelling, refused)]
    names += [name for name in get_extra(sent) if name in refused]
    if not names:
        return result
    changes = (
        Change(refused_name, get_setting(refused_name, sent), None, _explain_refusal(refused_name))
        for refused_name in names
    )
    return BoundedParameters(remove_parameters(sent, names), (*result.changes, *changes))


def _is_refused(
    name: str, sent: Mapping[str, object], spelling: Spelling, refused: Collection[str]
) -> bool:
    parameter = {name: sent[name]}
    return bool(spelling.build_fields(parameter)) and not spelling.build_fields(parameter, refused)


def _explain_refusal(name: str) -> str:
    accepted = get_phrase(name) if name in PARAMETERS else f"“{name}”"
    return f"This model doesn't accept {accepted}, so it isn't sent."


def _apply_rule(name: str, rule: Rule, sent: dict[str, object], changes: list[Change]) -> None:
    parameter, requested = PARAMETERS[name], sent.get(name)
    value = _limit(parameter, requested, rule)
    if value is None:
        sent.pop(name, None)
    else:
        sent[name] = value
    if requested is not None and value != requested:
        changes.append(Change(name, requested, value, _explain_rule(parameter, rule)))


def _limit(parameter: Parameter, requested: object, rule: Rule) -> object:
    """Return what a rule makes of a value; None if nothing is sent."""
    if "fixed" in rule:
        return rule["fixed"]
    if requested is None:
        # A maximum output bounds what a reply may cost, so it is sent in any case.
        return rule.get("max") if parameter.name == "max_output_tokens" else None
    return parameter.kind.limit(requested, rule)


def _drop_from_extra(
    names: Collection[str], reason: str, sent: dict[str, object], changes: list[Change]
) -> None:
    """Leave names out of `extra`, which would set them in another way."""
    extra, plain = get_extra(sent), set(map(plain_name, names))
    if plain.isdisjoint(map(plain_name, extra)):
        return
    dropped = [extra_name for extra_name in extra if plain_name(extra_name) in plain]
    changes += [Change(extra_name, extra[extra_name], None, reason) for extra_name in dropped]
    sent.pop(EXTRA)
    if left := {name: value for name, value in extra.items() if name not in dropped}:
        sent[EXTRA] = left


def _explain_rule(parameter: Parameter, rule: Rule) -> str:
    phrase = parameter.phrase
    if rule.get("fixed", 0) is None or rule.get("allowed") == []:
        return f"Your administrator doesn't let chats set {phrase} for this model."
    if "fixed" in rule:
        return f"Your administrator has fixed {phrase} for this model."
    if "allowed" in rule:
        listed = ", ".join(map(str, rule["allowed"]))  # type: ignore[call-overload]
        return f"For {phrase}, your administrator allows only: {listed}."
    bounds = [f"at {words} {rule[key]}" for key, words in _BOUNDS.items() if key in rule]
    return f"For {phrase}, your administrator allows {' and '.join(bounds)}."


def _find_error(name: object, rule: object) -> str:
    if name not in PARAMETERS:
        return f"“{str(name)[:40]}” isn't a parameter of a chat. Known are {', '.join(PARAMETERS)}."
    assert isinstance(name, str)
    parameter = PARAMETERS[name]
    keys = {"fixed", *parameter.rule_keys}
    if not isinstance(rule, Mapping) or rule.keys() - keys:
        return f"A rule for {name} has {' or '.join(sorted(keys))}."
    if "fixed" in rule:
        if len(rule) > 1:
            return f"A rule for {name} that has fixed can have nothing else."
        return "" if rule["fixed"] is None else parameter.find_error(rule["fixed"])
    if rule.get("offered", True) is not True:
        return f"What is offered of {name} must be true."
    return _find_bounds_error(parameter, rule) or _find_allowed_error(parameter, rule)


def _find_bounds_error(parameter: Parameter, rule: Rule) -> str:
    bounds = [rule[key] for key in _BOUNDS if key in rule]
    error = next(filter(None, map(parameter.find_error, bounds)), "")
    if not error and len(bounds) == 2 and bounds[0] > bounds[1]:  # type: ignore[operator]
        return f"The min of {parameter.name} is above its max."
    return error


def _find_allowed_error(parameter: Parameter, rule: Rule) -> str:
    allowed, kind = rule.get("allowed", []), parameter.kind
    allowed_of = f"What is allowed of {parameter.name}"
    if not isinstance(allowed, list) or len(allowed) > MAX_ALLOWED:
        return f"{allowed_of} must be a list of up to {MAX_ALLOWED} texts."
    if isinstance(kind, OtherParameters):
        are_names = all(
            isinstance(entry, str) and not kind.find_name_error(entry) for entry in allowed
        )
        return "" if are_names else f"{allowed_of} must be names of parameters."
    is_known = all(entry in kind.allowed_values for entry in allowed)
    return "" if is_known else f"{allowed_of} can be {', '.join(kind.allowed_values)}."
