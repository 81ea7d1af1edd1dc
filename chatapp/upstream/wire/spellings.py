"""How upstreams spell the parameters for which there is no common form: one `Spelling` value each.

Sources, read in November 2026: OpenAI refuses `max_tokens` for its reasoning models, while Mistral
(422), Ollama and LM Studio don't know `max_completion_tokens`; OpenRouter's `reasoning` and
`plugins` (https://openrouter.ai/docs/use-cases/reasoning-tokens); Mistral's `random_seed`
(https://docs.mistral.ai/api/); DashScope's `enable_search`.
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
    seed: str = "seed"
    web_search: Mapping[str, object] = field(default_factory=lambda: {"web_search_options": {}})
    searches_with_any_model: bool = False


COMMON = Spelling()
OF_OPENAI = Spelling(output=(MAX_COMPLETION_TOKENS, MAX_TOKENS))
OF_OPENROUTER = Spelling(
    effort=("reasoning", "effort"),
    web_search={"plugins": [{"id": "web"}]},
    # https://openrouter.ai/docs/features/web-search
    searches_with_any_model=True,
)
OF_MISTRAL = Spelling(output=(MAX_TOKENS,), seed="random_seed")
OF_DASHSCOPE = Spelling(web_search={"enable_search": True})
