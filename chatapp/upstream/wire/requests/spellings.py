"""The fields of a request that parameters become, in the spelling of each gateway.

Sources, read in November 2026: OpenAI refuses `max_tokens` for its reasoning models, while Mistral
(422), Ollama and LM Studio don't know `max_completion_tokens`; OpenRouter's `reasoning`
(https://openrouter.ai/docs/use-cases/reasoning-tokens) and its server tool for searches
(https://openrouter.ai/docs/guides/features/server-tools), which replaces its plugin; Mistral's
`random_seed` (https://docs.mistral.ai/api/); DashScope's `enable_search`. DeepSeek, Moonshot and
MiniMax switch thinking off by `thinking.type`
(https://api-docs.deepseek.com/guides/thinking_mode).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")  # from the least
NO_REASONING = EFFORTS[0]


@dataclass(frozen=True, slots=True)
class Spelling:
    """The fields of a request by which one upstream takes a parameter."""

    # In the order in which they are tried: the next one is used if a model refused the first.
    output: tuple[str, ...] = (MAX_TOKENS, MAX_COMPLETION_TOKENS)
    effort: tuple[str, ...] = ("reasoning_effort",)  # a path: ("reasoning", "effort")
    no_effort: Mapping[str, object] | None = None  # in place of the effort "none"
    seed: str = "seed"
    web_search: Mapping[str, object] = field(default_factory=lambda: {"web_search_options": {}})
    searches_with_tools: bool = False  # every model that calls tools can search

    def build_fields(
        self, parameters: Mapping[str, object], refused: Collection[str] = ()
    ) -> dict[str, object]:
        """Return the fields of a request for checked parameters, without refused ones."""
        fields: dict[str, object] = {}
        for name, value in parameters.items():
            match name:
                case "extra":
                    continue
                case "max_output_tokens":
                    taken = [output for output in self.output if output not in refused]
                    fields |= dict.fromkeys(taken[:1], value)
                case "reasoning_effort" if value == NO_REASONING and self.no_effort:
                    fields |= self.no_effort
                case "reasoning_effort":
                    outer, *inner = self.effort
                    fields[outer] = {inner[0]: value} if inner else value
                case "seed":
                    fields[self.seed] = value
                case "response_format":
                    fields[name] = _build_response_format(value)
                case "web_search":
                    fields |= self.web_search if value else {}
                case _:
                    fields[name] = value
        extra = parameters.get("extra")
        if isinstance(extra, Mapping):
            fields = merge_fields(extra, fields)
        return {name: value for name, value in fields.items() if name not in refused}


COMMON_SPELLING = Spelling()
OPENAI_SPELLING = Spelling(output=(MAX_COMPLETION_TOKENS, MAX_TOKENS))
OPENROUTER_SPELLING = Spelling(
    effort=("reasoning", "effort"),
    web_search={"tools": [{"type": "openrouter:web_search"}]},
    searches_with_tools=True,
)
MISTRAL_SPELLING = Spelling(output=(MAX_TOKENS,), seed="random_seed")
THINKING_TYPE_SPELLING = Spelling(no_effort={"thinking": {"type": "disabled"}})
DASHSCOPE_SPELLING = Spelling(web_search={"enable_search": True})

_SPELLINGS = (
    *(COMMON_SPELLING, OPENAI_SPELLING, OPENROUTER_SPELLING, MISTRAL_SPELLING),
    *(THINKING_TYPE_SPELLING, DASHSCOPE_SPELLING),
)
# The fields that a parameter can become in any of these, if it isn't one by its own name.
_FIELDS: Mapping[str, Collection[str]] = {
    "max_output_tokens": {name: None for each in _SPELLINGS for name in each.output},
    "reasoning_effort": {
        name: None for each in _SPELLINGS for name in (each.effort[0], *(each.no_effort or ()))
    },
    "seed": {each.seed: None for each in _SPELLINGS},
    "web_search": {name: None for each in _SPELLINGS for name in each.web_search},
    "extra": (),  # each of its names is a field
}
_PARAMETERS_BY_FIELD = {
    field: parameter for parameter, fields in _FIELDS.items() for field in fields
}
OUTPUT_FIELDS = _FIELDS["max_output_tokens"]
# Fields with more than one part: others may be in `extra` or set by an administrator.
MERGEABLE_FIELDS = frozenset({"reasoning", "thinking", "tools"})


def get_fields(parameter: str) -> Collection[str]:
    """Return the fields of a request that a parameter can become, in any spelling."""
    return _FIELDS.get(parameter, (parameter,))


def get_parameter(field: str) -> str:
    """Return the parameter that becomes this field of a request: it, or else a name in `extra`."""
    return _PARAMETERS_BY_FIELD.get(field, field)


def merge_fields(others: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    """Add fields to others; objects and lists that both have are merged."""
    result = dict(others)
    for name, value in fields.items():
        match result.get(name), value:
            case Mapping() as other, Mapping():
                result[name] = {**other, **value}
            case list() as others_of_list, list():
                result[name] = [*others_of_list, *value]
            case _:
                result[name] = value
    return result


def find_output_limit(fields: Mapping[str, object]) -> int | None:
    """Return the maximum output that the fields of a request name, in tokens."""
    limits = (fields.get(name) for name in OUTPUT_FIELDS)
    return next((limit for limit in limits if type(limit) is int and limit > 0), None)


def _build_response_format(value: object) -> object:
    if not isinstance(value, Mapping) or value.get("type") != "json_schema":
        return value
    schema = value["schema"]
    title = schema.get("title")
    # https://platform.openai.com/docs/api-reference/chat/create: letters, digits, _ and -, up to 64
    is_name = isinstance(title, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", title)
    described = {"name": title if is_name else "answer", "schema": schema}
    if "strict" in value:
        described["strict"] = value["strict"]
    return {"type": "json_schema", "json_schema": described}
