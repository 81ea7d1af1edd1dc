"""Convert the usage that upstreams report, under all the names they use, to a `TokenUsage`.

Invalid counts are ignored: a bad number must not cost a person the reply. The cost that a gateway
reports is kept with the counts, in nano-dollars, and so is the number of searches and tools that it
ran itself: most gateways charge these besides the tokens.
"""

from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from chatapp.upstream.wire.events import TokenUsage

_MAX_COUNT = 10**12  # tokens; anything higher is not a count
_MAX_COST = 10**18  # nano-dollars
_MAX_AMOUNT = Decimal(_MAX_COST)
_NANO = Decimal(10**9)
_NANO_PER_TICK = Decimal("0.1")  # xAI: a dollar is 10¹⁰ ticks


class PromptDetails(msgspec.Struct, gc=False):
    cached_tokens: Any = None
    cache_read_tokens: Any = None
    cache_write_tokens: Any = None
    cache_creation_tokens: Any = None
    audio_tokens: Any = None


class CompletionDetails(msgspec.Struct, gc=False):
    reasoning_tokens: Any = None
    audio_tokens: Any = None
    accepted_prediction_tokens: Any = None
    rejected_prediction_tokens: Any = None


class Usage(msgspec.Struct, gc=False):
    """The counts under OpenAI's names, and those of Anthropic, DeepSeek, Moonshot and LiteLLM."""

    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    camel_prompt_tokens: Any = msgspec.field(default=None, name="promptTokens")
    camel_completion_tokens: Any = msgspec.field(default=None, name="completionTokens")
    camel_total_tokens: Any = msgspec.field(default=None, name="totalTokens")
    input_tokens: Any = None
    output_tokens: Any = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    input_tokens_details: PromptDetails | None = None
    output_tokens_details: CompletionDetails | None = None
    reasoning_tokens: Any = None
    cached_tokens: Any = None
    prompt_cache_hit_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cost: Any = None
    total_cost: Any = None
    estimated_cost: Any = None
    cost_in_usd_ticks: Any = None
    cost_details: Any = None
    is_byok: Any = None
    num_sources_used: Any = None  # xAI's
    num_search_queries: Any = None  # Perplexity's
    search_context_size: Any = None  # Perplexity's, whose models search in each request
    server_tool_use: Any = None  # Anthropic's and OpenRouter's: `{"web_search_requests": 2}`
    server_tool_use_details: Any = None
    server_side_tool_usage_details: Any = None  # xAI's
    num_server_side_tools_used: Any = None
    plugins: Any = None  # DashScope's: `{"search": {"count": 1}}`

    def sources(self) -> int:
        return _count(self.num_sources_used) or 0

    def count_tokens(self) -> TokenUsage | None:
        """Return the usage, or None if a main count is neither given nor derivable."""
        prompt_details = self.prompt_tokens_details or self.input_tokens_details or PromptDetails()
        details = (
            self.completion_tokens_details or self.output_tokens_details or CompletionDetails()
        )
        cached = _largest(
            *(prompt_details.cached_tokens, prompt_details.cache_read_tokens),
            *(self.cached_tokens, self.prompt_cache_hit_tokens, self.cache_read_input_tokens),
        )
        written = _largest(
            *(prompt_details.cache_write_tokens, prompt_details.cache_creation_tokens),
            self.cache_creation_input_tokens,
        )
        reasoning = _largest(details.reasoning_tokens, self.reasoning_tokens)
        main = self._main(cached or 0, written or 0, reasoning or 0)
        if main is None:
            return None
        prompt, completion, total = main
        return TokenUsage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=total,
            cached_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=reasoning,
            prompt_audio_tokens=_count(prompt_details.audio_tokens),
            completion_audio_tokens=_count(details.audio_tokens),
            accepted_prediction_tokens=_count(details.accepted_prediction_tokens),
            rejected_prediction_tokens=_count(details.rejected_prediction_tokens),
            extra_fees=self._extra_fees(),
            cost=self._cost(),
        )

    def _extra_fees(self) -> int | None:
        """Return how many searches and tools the gateway ran, or None if there were none."""
        numbers = (
            *(self.server_tool_use, self.server_tool_use_details),
            *(self.server_side_tool_usage_details, self.num_server_side_tools_used),
            *(self.num_search_queries, self.num_sources_used, self.plugins),
        )
        return max(map(_calls_in, numbers)) or (1 if self.search_context_size else None)

    def _main(self, cached: int, written: int, reasoning: int) -> tuple[int, int, int] | None:
        """Return the tokens of the prompt, of the completion, and in total.

        Some gateways leave reasoning out of the completion, or cached tokens out of the prompt; the
        total shows it.
        """
        prompt = _first(self.prompt_tokens, self.camel_prompt_tokens)
        completion = _first(self.completion_tokens, self.camel_completion_tokens)
        total = _first(self.total_tokens, self.camel_total_tokens)
        excludes_cache = prompt is None and self.input_tokens is not None
        prompt = _count(self.input_tokens) if prompt is None else prompt
        completion = _count(self.output_tokens) if completion is None else completion
        if prompt is None and completion is not None and total is not None:
            prompt = _count(total - completion)
        if completion is None and prompt is not None and total is not None:
            completion = _count(total - prompt)
        if prompt is None or completion is None:
            return None
        uncounted = None if total is None else total - prompt - completion
        cache_tokens = cached + written
        if cache_tokens and (uncounted == cache_tokens or (uncounted is None and excludes_cache)):
            prompt += cache_tokens  # Anthropic counts cached tokens separately
        elif uncounted and uncounted > 0:
            completion += uncounted
        elif uncounted is None and reasoning > completion:
            completion += reasoning
        return prompt, completion, prompt + completion if total is None else total

    def _cost(self) -> int | None:
        """Return the cost in nano-dollars.

        With a person's own key (BYOK), OpenRouter's `cost` is only its fee; the provider's charge
        is reported separately.
        """
        if (ticks := _money(self.cost_in_usd_ticks)) is not None:
            return _nano(ticks * _NANO_PER_TICK)
        within = self.cost.get("total_cost") if isinstance(self.cost, dict) else self.cost
        costs = [_money(amount) for amount in (within, self.total_cost, self.estimated_cost)]
        cost = next((amount for amount in costs if amount is not None), None)
        if cost is None:
            return None
        details = self.cost_details if isinstance(self.cost_details, dict) else {}
        provider_cost = _money(details.get("upstream_inference_cost")) or Decimal(0)
        is_separate = self.is_byok if isinstance(self.is_byok, bool) else cost < provider_cost
        return _nano((cost + provider_cost if is_separate else cost) * _NANO)


def merge_usage(before: TokenUsage | None, now: TokenUsage) -> TokenUsage:
    """Merge a report into an earlier one; a zero or missing count keeps the earlier count."""
    if before is None:
        return now
    names = TokenUsage.__dataclass_fields__
    counts = {name: getattr(now, name) or getattr(before, name) for name in names}
    if not (now.prompt_tokens and now.completion_tokens):
        counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return TokenUsage(**counts)


def _count(value: object) -> int | None:
    """Return a count, even if written as a float or a string."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None


def _first(value: object, otherwise: object) -> int | None:
    return _count(otherwise if value is None else value)


def _calls_in(value: object, depth: int = 2) -> int:
    """Return a count, or the sum of the counts in an object of them."""
    if isinstance(value, dict) and depth:
        return min(sum(_calls_in(member, depth - 1) for member in value.values()), _MAX_COUNT)
    return _count(value) or 0


def _largest(*values: object) -> int | None:
    """Return the largest value of a count that has several names; some may be zero or missing."""
    return max(
        (count for candidate in values if (count := _count(candidate)) is not None), default=None
    )


def _money(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    try:
        amount = Decimal(text) if len(text) <= 40 else None
    except InvalidOperation:
        return None
    return (
        amount if amount is not None and amount.is_finite() and 0 <= amount <= _MAX_AMOUNT else None
    )


def _nano(amount: Decimal) -> int | None:
    rounded = int(amount.to_integral_value()) if amount <= _MAX_COST else _MAX_COST + 1
    return rounded if rounded <= _MAX_COST else None
