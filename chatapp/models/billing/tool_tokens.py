"""The number of tokens that an upstream's tools have, as this process last sent them."""

# For each upstream, an upper bound of the tokens of the tools that it was last sent.
tokens_by_upstream: dict[int, int] = {}


def get_tool_tokens(upstream: int | None) -> int:
    """Return the tokens that tools may add to a prompt for this upstream, as far as is known.

    The writer that sends them knows the actual number, and reserves more if needed.
    """
    return tokens_by_upstream.get(upstream, 0) if upstream else 0


def remember_tool_tokens(upstream: int, tokens: int) -> None:
    tokens_by_upstream[upstream] = tokens
