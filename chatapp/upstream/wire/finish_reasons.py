"""What upstreams say of why a reply finished, by what it means.

`stop`, `length`, `tool_calls`, `content_filter` and `function_call` are OpenAI's. A word that
stands nowhere here is a failure: that half an answer is shown as a whole one is worse than the
other way round.
"""

NONE = frozenset({"", "null", "none", "undefined", "nil"})  # the reply goes on
WHOLE = frozenset(
    {
        *("stop", "tool_calls", "tool_call", "function_call"),
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
        *("max_length", "max_output_tokens", "context_length", "token_limit"),
    }
)
FILTERED = frozenset(
    {
        "content_filter",
        *("safety", "recitation", "blocklist", "prohibited_content", "spii"),  # Gemini
        *("image_safety", "image_prohibited_content", "image_recitation", "model_armor"),
        "sensitive",  # Zhipu
        *("guardrail_intervened", "content_filtered"),  # Bedrock
        *("content_policy", "content_policy_violation", "moderation", "error_toxic"),
    }
)
REFUSED = frozenset({"refusal"})  # Anthropic

KNOWN = WHOLE | LENGTH | FILTERED | REFUSED


def plain(finish_reason: str) -> str:
    """The word as it stands in the sets; Gemini and Cohere write theirs in capitals."""
    return finish_reason.strip().lower().replace("-", "_")
