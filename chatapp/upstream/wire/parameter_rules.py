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
    error_of,
    plain_name,
    without,
)
from chatapp.upstream.wire.spellings import Spelling

Rules = Mapping[str, Mapping[str, object]]  # by parameter

NUMBERS = frozenset({"temperature", "top_p", "max_output_tokens", "seed", "top_logprobs"})
LISTED = frozenset({"reasoning_effort", "response_format", "extra"})  # have `allowed`
OFFERED = frozenset({"web_search"})  # have `offered`
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
    """What a rule changed about a parameter that a chat set."""

    name: str
    wanted: object
    sent: object  # None if it is left out
    reason: str


@dataclass(frozen=True, slots=True)
class Bounded:
    """What is sent of a chat's parameters, and what its administrator's rules changed."""

    parameters: dict[str, object]
    changes: tuple[Change, ...] = ()


def checked_rules(value: object) -> dict[str, dict[str, object]]:
    """Return rules without empty ones. Raises `InvalidParameters`."""
    if not isinstance(value, Mapping):
        raise InvalidParameters({"": 'Rules must be a JSON object: {"temperature": {"max": 1}}.'})
    errors = {str(name): error for name, rule in value.items() if (error := _error(name, rule))}
    if errors:
        raise InvalidParameters(errors)
    return {name: dict(rule) for name, rule in value.items() if rule}


def merged_rules(*given: Rules) -> dict[str, Mapping[str, object]]:
    """Return the rules that hold where later ones replace earlier ones for a parameter."""
    return {name: rule for rules in given for name, rule in rules.items()}


def bounded(parameters: Mapping[str, object], rules: Rules, given: Collection[str] = ()) -> Bounded:
    """Apply rules to checked parameters.

    `given` are parameters that the administrator sets for all requests; names in `extra` don't
    replace them.
    """
    sent = dict(parameters)
    changes: list[Change] = []
    _drop(given, "Your administrator sets this for all chats.", sent, changes)
    for name, rule in rules.items():
        _apply(name, rule, sent, changes)
        reason = f"Your administrator has set rules for {LABELS[name]}."
        _drop(_OTHER_NAMES.get(name, ()), reason, sent, changes)
    if sent.get("logprobs") is not True:
        sent.pop("top_logprobs", None)
    return Bounded(sent, tuple(changes))


def without_refused(result: Bounded, spelling: Spelling, refused: Collection[str]) -> Bounded:
    """Leave out what would not be sent because the model refused it."""
    sent = result.parameters
    extra = sent.get("extra")
    names = [
        name for name in sent if name != "extra" and _is_refused(name, sent, spelling, refused)
    ]
    names += [name for name in extra if name in refused] if isinstance(extra, Mapping) else []
    if not names:
        return result
    changes = (Change(one, _wanted(one, sent), None, _refusal_of(one)) for one in names)
    return Bounded(without(sent, names), (*result.changes, *changes))


def _is_refused(
    name: str, sent: Mapping[str, object], spelling: Spelling, refused: Collection[str]
) -> bool:
    parameter = {name: sent[name]}
    return bool(as_request(parameter, spelling)) and not as_request(parameter, spelling, refused)


def _wanted(name: str, sent: Mapping[str, object]) -> object:
    extra = sent.get("extra")
    return sent.get(name, extra.get(name) if isinstance(extra, Mapping) else None)


def _refusal_of(name: str) -> str:
    return f"This model doesn't accept {LABELS.get(name, f'“{name}”')}, so it isn't sent."


def _apply(
    name: str, rule: Mapping[str, object], sent: dict[str, object], changes: list[Change]
) -> None:
    wanted = sent.get(name)
    value = _value(name, wanted, rule)
    if value is None:
        sent.pop(name, None)
    else:
        sent[name] = value
    if wanted is not None and value != wanted:
        changes.append(Change(name, wanted, value, _reason(name, rule)))


def _value(name: str, wanted: object, rule: Mapping[str, object]) -> object:
    """Return what a rule makes of a value; None if nothing is sent."""
    if "fixed" in rule:
        return rule["fixed"]
    least, most, allowed = rule.get("min"), rule.get("max"), rule.get("allowed")
    if wanted is None:
        # A maximum output bounds what a reply may cost, so it is sent in any case.
        return most if name == "max_output_tokens" else None
    if isinstance(wanted, int | float) and name in NUMBERS:
        if isinstance(most, int | float) and wanted > most:
            return most
        return least if isinstance(least, int | float) and wanted < least else wanted
    return wanted if not isinstance(allowed, list) else _allowed(name, wanted, allowed)


def _allowed(name: str, wanted: object, allowed: Sequence[object]) -> object:
    """Return the nearest value that is allowed, or None."""
    match name, wanted:
        case "reasoning_effort", str():
            within = [effort for effort in EFFORTS if effort in allowed]
            below = [one for one in within if EFFORTS.index(one) <= EFFORTS.index(wanted)]
            return next(iter([*below[::-1], *within]), None)
        case "response_format", Mapping():
            return wanted if wanted.get("type") in allowed else None
        case "extra", Mapping():
            return {one: value for one, value in wanted.items() if one in allowed} or None
    return wanted


def _drop(
    names: Collection[str], reason: str, sent: dict[str, object], changes: list[Change]
) -> None:
    """Leave names out of `extra`, which would set them in another way."""
    extra = sent.get("extra")
    plain = set(map(plain_name, names))
    if not isinstance(extra, Mapping) or plain.isdisjoint(map(plain_name, extra)):
        return
    dropped = [one for one in extra if plain_name(one) in plain]
    changes += [Change(one, extra[one], None, reason) for one in dropped]
    sent["extra"] = {one: value for one, value in extra.items() if one not in dropped}
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
        *(_BOUNDS if name in NUMBERS else ()),
        *(["allowed"] if name in LISTED else ()),
        *(["offered"] if name in OFFERED else ()),
    }
    if not isinstance(rule, Mapping) or rule.keys() - keys:
        return f"A rule for {name} has {' or '.join(sorted(keys))}."
    if "fixed" in rule:
        if len(rule) > 1:
            return f"A rule for {name} that has fixed can have nothing else."
        return "" if rule["fixed"] is None else error_of(name, rule["fixed"])
    if rule.get("offered", True) is not True:
        return f"What is offered of {name} must be true."
    return _error_of_bounds(name, rule) or _error_of_allowed(name, rule.get("allowed", []))


def _error_of_bounds(name: str, rule: Mapping[str, object]) -> str:
    given = [rule[key] for key in _BOUNDS if key in rule]
    error = next(filter(None, (error_of(name, value) for value in given)), "")
    if not error and len(given) == 2 and given[0] > given[1]:  # type: ignore[operator]
        return f"The min of {name} is above its max."
    return error


def _error_of_allowed(name: str, allowed: object) -> str:
    known = {"reasoning_effort": EFFORTS, "response_format": FORMATS}.get(name)
    if not isinstance(allowed, list) or len(allowed) > MAX_ALLOWED:
        return f"What is allowed of {name} must be a list of up to {MAX_ALLOWED} texts."
    if known and any(one not in known for one in allowed):
        return f"What is allowed of {name} can be {', '.join(known)}."
    if any(not isinstance(one, str) or error_of("extra", {one: 0}) for one in allowed):
        return f"What is allowed of {name} must be names of parameters."
    return ""
