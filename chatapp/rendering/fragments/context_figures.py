"""Template filters with the figures from which the page's meter estimates the next request."""

from chatapp.models import Message, Upstream, Usage
from chatapp.models.billing.tool_tokens import get_tool_tokens
from chatapp.models.platform.upstreams import UNBOUNDED_OUTPUT
from chatapp.upstream.wire.requests.estimates import BYTES_PER_TOKEN, MIDDLE, UPPER

ENOUGH = 50  # tokens of an answer, to tell how many characters a token has
LEAST, MOST = 0.5, 8.0  # characters per token; other figures mean something else


def context_tokens(usage: Usage, message: Message) -> int | None:
    """Return the tokens of the request and the answer together: of the last one, if tools ran."""
    counts = [usage.prompt_tokens, usage.completion_tokens]
    if None in counts:
        return None
    earlier = [
        record["usage"].get(name) or 0
        for record in message.earlier_rounds
        for name in ("prompt_tokens", "completion_tokens")
    ]
    return max(0, sum(count or 0 for count in counts) - sum(earlier)) or None


def characters_per_token(usage: Usage, message: Message) -> str:
    """Return how many characters a token of the answer has, as its upstream counts; "" if few."""
    if usage.provenance != Usage.Provenance.REPORTED or message.earlier_rounds:
        return ""
    tokens = usage.completion_tokens or 0
    tokens -= 0 if message.reasoning else usage.reasoning_tokens or 0
    characters = len(message.content) + len(message.refusal) + len(message.reasoning)
    share = characters / tokens if tokens >= ENOUGH else 0
    return f"{share:.2f}" if LEAST <= share <= MOST else ""


def tool_tokens(upstream: Upstream) -> int:
    """Return about how many tokens the tools add that are offered to this upstream's models."""
    upper = get_tool_tokens(upstream.pk) if upstream.offers_tools else 0
    return max(0, upper - UPPER.tools) // BYTES_PER_TOKEN + MIDDLE.tools if upper else 0


def answer_bounds(upstream: Upstream, model: str) -> str:
    """Return how many tokens an answer may have if a chat sets no maximum, and the least and the
    most that it can set; "" if all is up to the chat."""
    bounds = upstream.output_bounds_for(model)
    return "" if bounds == UNBOUNDED_OUTPUT else " ".join(map(str, bounds))
