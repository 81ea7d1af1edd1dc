"""Spellings of the parameters for which there is no common form: one `Spelling` per upstream.

Sources, read in November 2026: OpenAI refuses `max_tokens` for its reasoning models, while Mistral
(422), Ollama and LM Studio don't know `max_completion_tokens`; OpenRouter's `reasoning`
(https://openrouter.ai/docs/use-cases/reasoning-tokens) and its server tool for searches
(https://openrouter.ai/docs/guides/features/server-tools), which replaces its plugin; Mistral's
`random_seed` (https://docs.mistral.ai/api/); DashScope's `enable_search`. DeepSeek, Moonshot and
MiniMax switch thinking off by `thinking.type`
(https://api-docs.deepseek.com/guides/thinking_mode).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"


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
