"""The table of parameters, in the order in which forms and pages show them.

A new parameter is a row here, and its spelling in `upstream.wire.requests.spellings` if its name
isn't the field of a request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from chatapp.parameters.kinds import (
    Choice,
    Kind,
    Number,
    OtherParameters,
    ResponseFormat,
    StopSequences,
    Switch,
)
from chatapp.upstream.wire.requests.spellings import EFFORTS, MERGEABLE_FIELDS, get_fields

EXTRA = "extra"
EFFORT_NAMES = dict(
    zip(
        EFFORTS,
        (
            *("No reasoning", "Minimal effort", "Low effort", "Medium effort", "High effort"),
            *("Extra high effort", "Maximum effort"),
        ),
        strict=True,
    )
)
MAX_OUTPUT = 10_000_000  # tokens
MAX_SEED = 2**63 - 1


@dataclass(frozen=True)
class Parameter:
    """A request parameter that a person can set for a chat."""

    name: str
    label: str  # of its field
    phrase: str  # as in “gpt-5 doesn't accept …”
    kind: Kind
    rule_keys: tuple[str, ...] = ()  # of an administrator's rule, see `rules`
    # Names in `extra` by which some servers take it; a rule for the parameter holds for them, too.
    other_names: tuple[str, ...] = ()
    hint: str = ""  # beside its field
    is_common: bool = False  # always shown; the others are under “More parameters”
    is_at_composer: bool = False  # has a control at the message box

    def find_error(self, value: object) -> str:
        """Return a sentence that says what is wrong with a value, or ""."""
        return self.kind.find_error(self.label, value)


_ROWS = (
    Parameter(
        "temperature",
        "Temperature",
        "temperature",
        Number(0, 2),
        rule_keys=("min", "max", "fixed"),
        is_common=True,
    ),
    Parameter(
        "top_p", "Top P", "Top P", Number(0, 1), rule_keys=("min", "max", "fixed"), is_common=True
    ),
    Parameter(
        "max_output_tokens",
        "Maximum output",
        "a maximum output",
        Number(1, MAX_OUTPUT, is_whole=True),
        rule_keys=("max", "fixed"),
        other_names=("n_predict", "num_predict", "max_new_tokens", "options"),
        is_common=True,
    ),
    Parameter(
        "reasoning_effort",
        "Reasoning effort",
        "reasoning effort",
        Choice(EFFORT_NAMES),
        rule_keys=("allowed", "fixed"),
        other_names=(
            *("reasoning", "thinking", "thinking_budget", "enable_thinking"),
            *("chat_template_kwargs", "include_reasoning"),
        ),
        is_common=True,
        is_at_composer=True,
    ),
    Parameter(
        "web_search",
        "Web search",
        "web search",
        Switch(),
        rule_keys=("fixed", "offered"),
        other_names=("plugins", "enable_search", "search_options"),
        is_common=True,
        is_at_composer=True,
    ),
    Parameter(
        "seed",
        "Seed",
        "a seed",
        Number(-MAX_SEED - 1, MAX_SEED, is_whole=True),
        rule_keys=("fixed",),
        other_names=("random_seed",),
    ),
    Parameter(
        "response_format",
        "Response format",
        "a response format",
        ResponseFormat(),
        rule_keys=("allowed",),
        other_names=("guided_json", "guided_regex", "guided_choice", "grammar", "json_schema"),
    ),
    Parameter(
        "stop",
        "Stop sequences",
        "stop sequences",
        StopSequences(),
        hint=r"One per line, four at most. \n is a line break, \\ a backslash.",
    ),
    Parameter("logprobs", "Log probabilities", "log probabilities", Switch(), rule_keys=("fixed",)),
    Parameter(
        "top_logprobs",
        "Alternatives per token",
        "alternatives per token",
        Number(0, 20, is_whole=True),
        rule_keys=("max",),
    ),
)
_OTHER = Parameter(
    EXTRA,
    "Other parameters",
    "other parameters",
    OtherParameters(
        {name for row in _ROWS for name in (row.name, *get_fields(row.name))} - MERGEABLE_FIELDS
    ),
    rule_keys=("allowed",),
    hint='JSON, for example {"top_k": 20}.',
)
PARAMETERS: Mapping[str, Parameter] = MappingProxyType({row.name: row for row in (*_ROWS, _OTHER)})
COMPOSER_PARAMETERS = tuple(row.name for row in _ROWS if row.is_at_composer)


def get_phrase(name: str) -> str:
    """Return a parameter in words, for a sentence; a name in `extra` stays as it is."""
    return PARAMETERS[name].phrase if name in PARAMETERS else name
