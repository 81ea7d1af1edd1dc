"""An administrator's rules for the parameters of chats: each can be fixed or bounded.

Rules are a JSON object by parameter: `{"temperature": {"min": 0, "max": 1}, "seed": {"fixed": 1},
"reasoning_effort": {"allowed": ["low", "medium"]}, "web_search": {"fixed": null}}`. `fixed: null`
means that a chat can't set the parameter at all. `"web_search": {"offered": true}` says that the
composer offers it, whatever the gateway's list says.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from chatapp.upstream.wire.chat_parameters import (
    EFFORTS,
    FORMATS,
    LABELS,
    InvalidParameters,
    as_request,
    find_error,
    plain_name,
    remove_parameters,
)
from chatapp.upstream.wire.spellings import Spelling

Rules = Mapping[str, Mapping[str, object]]  # by parameter

NUMBER_PARAMETERS = frozenset({"temperature", "top_p", "max_output_tokens", "seed", "top_logprobs"})
LIST_PARAMETERS = frozenset({"reasoning_effort", "response_format", "extra"})  # have `allowed`
OFFERABLE_PARAMETERS = frozenset({"web_search"})  # have `offered`
MAX_ALLOWED = 50  # items of a list
# Names in `extra` by which some servers take a parameter; they go with a rule for it.
_OTHER_NAMES = {
    "max_output_tokens": ("n_predict", "num_predict", "max_new_tokens", "options"),
    "reasoning_effort": (
        *("reasoning", "thinking", "thinking_budget", "enable_thinking", "chat_template_kwargs"),
        "include_reasoning",
    ),
    "response_format": ("guided_json", "guided_regex", "guided_choice", "grammar", "json_schema"),
    "web_search": ("plugins", "enable_search", "search_options"),
    "seed": ("random_seed",),
}


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
    errors = {str(name): error for name, rule in value.items() if (error := _error(name, rule))}
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
        reason = f"Your administrator has set rules for {LABELS[name]}."
        _drop_from_extra(_OTHER_NAMES.get(name, ()), reason, sent, changes)
    if sent.get("logprobs") is not True:
        sent.pop("top_logprobs", None)
    return BoundedParameters(sent, tuple(changes))


def without_refused(
    result: BoundedParameters, spelling: Spelling, refused: Collection[str]
) -> BoundedParameters:
    """Leave out what would not be sent because the model refused it."""
    sent = result.parameters
    extra = sent.get("extra")
    names = [
        name for name in sent if name != "extra" and _is_refused(name, sent, spelling, refused)
    ]
    names += [name for name in extra if name in refused] if isinstance(extra, Mapping) else []
    if not names:
        return result
    changes = (
        Change(
            refused_name, _find_requested(refused_name, sent), None, _explain_refusal(refused_name)
        )
        for refused_name in names
    )
    return BoundedParameters(remove_parameters(sent, names), (*result.changes, *changes))


def _is_refused(
    name: str, sent: Mapping[str, object], spelling: Spelling, refused: Collection[str]
) -> bool:
    parameter = {name: sent[name]}
    return bool(as_request(parameter, spelling)) and not as_request(parameter, spelling, refused)


def _find_requested(name: str, sent: Mapping[str, object]) -> object:
    extra = sent.get("extra")
    return sent.get(name, extra.get(name) if isinstance(extra, Mapping) else None)


def _explain_refusal(name: str) -> str:
    return f"This model doesn't accept {LABELS.get(name, f'“{name}”')}, so it isn't sent."


def _apply_rule(
    name: str, rule: Mapping[str, object], sent: dict[str, object], changes: list[Change]
) -> None:
    requested = sent.get(name)
    value = _value(name, requested, rule)
    if value is None:
        sent.pop(name, None)
    else:
        sent[name] = value
    if requested is not None and value != requested:
        changes.append(Change(name, requested, value, _reason(name, rule)))


def _value(name: str, requested: object, rule: Mapping[str, object]) -> object:
    """Return what a rule makes of a value; None if nothing is sent."""
    if "fixed" in rule:
        return rule["fixed"]
    minimum, maximum, allowed = rule.get("min"), rule.get("max"), rule.get("allowed")
    if requested is None:
        # A maximum output bounds what a reply may cost, so it is sent in any case.
        return maximum if name == "max_output_tokens" else None
    if isinstance(requested, int | float) and name in NUMBER_PARAMETERS:
        if isinstance(maximum, int | float) and requested > maximum:
            return maximum
        return minimum if isinstance(minimum, int | float) and requested < minimum else requested
    return (
        requested if not isinstance(allowed, list) else _limit_to_allowed(name, requested, allowed)
    )


def _limit_to_allowed(name: str, requested: object, allowed: Sequence[object]) -> object:
    """Return the nearest value that is allowed, or None."""
    match name, requested:
        case "reasoning_effort", str():
            within = [effort for effort in EFFORTS if effort in allowed]
            below = [
                effort for effort in within if EFFORTS.index(effort) <= EFFORTS.index(requested)
            ]
            return next(iter([*below[::-1], *within]), None)
        case "response_format", Mapping():
            return requested if requested.get("type") in allowed else None
        case "extra", Mapping():
            return {
                extra_name: value
                for extra_name, value in requested.items()
                if extra_name in allowed
            } or None
    return requested


def _drop_from_extra(
    names: Collection[str], reason: str, sent: dict[str, object], changes: list[Change]
) -> None:
    """Leave names out of `extra`, which would set them in another way."""
    extra = sent.get("extra")
    plain = set(map(plain_name, names))
    if not isinstance(extra, Mapping) or plain.isdisjoint(map(plain_name, extra)):
        return
    dropped = [extra_name for extra_name in extra if plain_name(extra_name) in plain]
    changes += [Change(extra_name, extra[extra_name], None, reason) for extra_name in dropped]
    sent["extra"] = {
        extra_name: value for extra_name, value in extra.items() if extra_name not in dropped
    }
    if not sent["extra"]:
        del sent["extra"]


def _reason(name: str, rule: Mapping[str, object]) -> str:
    label = LABELS[name]
    if rule.get("fixed", 0) is None or rule.get("allowed") == []:
        return f"Your administrator doesn't let chats set {label} for this model."
    if "fixed" in rule:
        return f"Your administrator has fixed {label} for this model."
    if "allowed" in rule:
        listed = ", ".join(map(str, rule["allowed"]))  # type: ignore[call-overload]
        return f"For {label}, your administrator allows only: {listed}."
    bounds = [f"at {words} {rule[key]}" for key, words in _BOUNDS.items() if key in rule]
    return f"For {label}, your administrator allows {' and '.join(bounds)}."


_BOUNDS = {"min": "least", "max": "most"}


def _error(name: object, rule: object) -> str:
    if name not in LABELS:
        return f"“{str(name)[:40]}” isn't a parameter of a chat. Known are {', '.join(LABELS)}."
    assert isinstance(name, str)
    keys = {
        "fixed",
        *(_BOUNDS if name in NUMBER_PARAMETERS else ()),
        *(["allowed"] if name in LIST_PARAMETERS else ()),
        *(["offered"] if name in OFFERABLE_PARAMETERS else ()),
    }
    if not isinstance(rule, Mapping) or rule.keys() - keys:
        return f"A rule for {name} has {' or '.join(sorted(keys))}."
    if "fixed" in rule:
        if len(rule) > 1:
            return f"A rule for {name} that has fixed can have nothing else."
        return "" if rule["fixed"] is None else find_error(name, rule["fixed"])
    if rule.get("offered", True) is not True:
        return f"What is offered of {name} must be true."
    return _error_of_bounds(name, rule) or _error_of_allowed(name, rule.get("allowed", []))


def _error_of_bounds(name: str, rule: Mapping[str, object]) -> str:
    bounds = [rule[key] for key in _BOUNDS if key in rule]
    error = next(filter(None, (find_error(name, value) for value in bounds)), "")
    if not error and len(bounds) == 2 and bounds[0] > bounds[1]:  # type: ignore[operator]
        return f"The min of {name} is above its max."
    return error


def _error_of_allowed(name: str, allowed: object) -> str:
    known_values = {"reasoning_effort": EFFORTS, "response_format": FORMATS}.get(name)
    if not isinstance(allowed, list) or len(allowed) > MAX_ALLOWED:
        return f"What is allowed of {name} must be a list of up to {MAX_ALLOWED} texts."
    if known_values and any(entry not in known_values for entry in allowed):
        return f"What is allowed of {name} can be {', '.join(known_values)}."
    if any(not isinstance(entry, str) or find_error("extra", {entry: 0}) for entry in allowed):
        return f"What is allowed of {name} must be names of parameters."
    return ""
