"""What upstreams say of why a reply finished, by what it means.

`stop`, `length`, `tool_calls`, `content_filter` and `function_call` are OpenAI's. A word that
stands nowhere here is a failure: that half an answer is shown as a whole one is worse than the
other way round.
"""

WHOLE = frozenset(
    {
        *("stop", "tool_calls", "function_call"),
        *("end_turn", "stop_sequence", "tool_use"),  # Anthropic, through gateways
        *("eos", "eos_token"),  # Together, text-generation-inference
        "complete",  # Cohere
    }
)
LENGTH = frozenset(
    {
        "length",
        "model_length",  # Mistral
        "max_tokens",  # Anthropic, Gemini, Cohere
        "model_context_window_exceeded",  # Anthropic, Zhipu
    }
)
FILTERED = frozenset(
    {
        "content_filter",
        *("safety", "recitation", "blocklist", "prohibited_content", "spii"),  # Gemini
        "sensitive",  # Zhipu
    }
)
REFUSED = frozenset({"refusal"})  # Anthropic

KNOWN = WHOLE | LENGTH | FILTERED | REFUSED


def plain(finish_reason: str) -> str:
    """The word as it stands in the sets; Gemini and Cohere write theirs in capitals."""
    return finish_reason.strip().lower()
