"""The known request parameters and their types, and warnings about doubtful ones.

The names are those of chat completions (https://platform.openai.com/docs/api-reference/chat/create)
and of well-known gateways: vLLM, llama.cpp, Ollama, OpenRouter, LiteLLM, Mistral, Groq, Together,
Perplexity, xAI, DeepSeek, Qwen. An upstream may accept others, so nothing is rejected here: the
administrator who set a doubtful parameter only gets a warning.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import Enum
from types import MappingProxyType


class Kind(Enum):
    """The type of a parameter; the values are shown to people."""

    NUMBER = "a number"
    INTEGER = "a whole number"
    BOOLEAN = "true or false"
    TEXT = "text"
    OBJECT = "an object"
    LIST = "a list"
    ANY = "anything"


_NAMES = {
    Kind.NUMBER: """
        dynatemp_exponent dynatemp_range frequency_penalty length_penalty min_p mirostat_eta
        mirostat_tau presence_penalty repeat_penalty repetition_penalty request_timeout temperature
        timeout top_a top_p typical_p xtc_probability xtc_threshold
    """,
    Kind.INTEGER: """
        best_of max_completion_tokens max_tokens min_tokens mirostat n n_keep n_predict n_probs
        num_ctx num_predict num_retries prompt_logprobs random_seed repeat_last_n seed
        thinking_budget top_k top_logprobs truncate_prompt_tokens
    """,
    Kind.BOOLEAN: """
        add_generation_prompt cache_prompt echo enable_search enable_thinking ignore_eos
        include_reasoning include_stop_str_in_output logprobs parallel_tool_calls raw_mode
        return_citations return_images return_progress return_related_questions safe_prompt
        skip_special_tokens spaces_between_special_tokens store use_beam_search
    """,
    Kind.TEXT: """
        chat_template citation_options grammar guided_grammar guided_regex prompt_cache_key
        prompt_cache_retention prompt_mode reasoning_effort reasoning_format route
        safety_identifier safety_model search_mode search_recency_filter service_tier user verbosity
    """,
    Kind.OBJECT: """
        audio chat_template_kwargs compound_custom extra_body guided_json json_schema
        logit_bias metadata mm_processor_kwargs options prediction provider reasoning
        response_format search_options stream_options structured_outputs
        thinking usage vllm_xargs web_search_options
    """,
    Kind.LIST: """
        bad_words documents fallbacks functions guardrails guided_choice logits_processors messages
        modalities models plugins samplers search_domain_filter stop_token_ids tags tools transforms
    """,
    Kind.ANY: "format function_call guided_decoding_backend keep_alive stop tool_choice",
}
PARAMETERS: Mapping[str, Kind] = MappingProxyType(
    {name: kind for kind, names in _NAMES.items() for name in names.split()}
)

_MAX_DOUBTS = 5
_MAX_LENGTH = 60  # of a quoted name or value


def doubts_about(parameters: Mapping[str, object]) -> list[str]:
    """Return a sentence for each parameter that is probably a mistake; at most the first few."""
    doubts = [doubt for name, value in parameters.items() if (doubt := _doubt(name, value))]
    left = len(doubts) - _MAX_DOUBTS
    return doubts[:_MAX_DOUBTS] + ([f"And {left} more."] if left > 0 else [])


def _doubt(name: str, value: object) -> str:
    kind = PARAMETERS.get(name)
    if kind is None:
        near = get_close_matches(_snake(name[:_MAX_LENGTH]), PARAMETERS, n=1, cutoff=0.7)
        suggestion = f" Did you mean “{near[0]}”?" if near else ""
        return f"“{_short(name)}” is not a known parameter.{suggestion}"
    if value is None or kind in _find_kinds(value):
        return ""
    return f"“{name}” should be {kind.value}, but is {_describe_value(value)}."


def _snake(name: str) -> str:
    """Spell a name like a parameter: maxTokens, Max-Tokens and max tokens become max_tokens."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", name).lower()


def _find_kinds(value: object) -> Iterator[Kind]:
    yield Kind.ANY
    match value:
        case bool():
            yield Kind.BOOLEAN
        case int():
            yield from (Kind.INTEGER, Kind.NUMBER)
        case float():
            yield Kind.NUMBER
            if value.is_integer():
                yield Kind.INTEGER
        case str():
            yield Kind.TEXT
        case dict():
            yield Kind.OBJECT
        case list():
            yield Kind.LIST


def _describe_value(value: object) -> str:
    match value:
        case str():
            return f"the text “{_short(value)}”"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {_short(str(value))}"
    return "a list" if isinstance(value, list) else "an object"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"
