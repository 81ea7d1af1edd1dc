"""The values of `finish_reason` that upstreams send, grouped by meaning.

`stop`, `length`, `tool_calls`, `content_filter` and `function_call` are OpenAI's. A value not
listed here counts as a failure: showing half an answer as complete is worse than the reverse.
"""

NONE = frozenset({"", "null", "none", "undefined", "nil"})  # the reply continues
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


def normalise(finish_reason: str) -> str:
    """Normalise a value as in these sets; Gemini and Cohere send upper case."""
    return finish_reason.strip().lower().replace("-", "_")
