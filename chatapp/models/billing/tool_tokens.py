"""How many tokens the tools of an upstream have, as this process last sent them."""

# For each upstream, an upper bound of the tokens of the tools that it was last sent.
known_tools: dict[int, int] = {}


def tools_of(upstream: int | None) -> int:
    """Return the tokens that tools may add to a prompt for this upstream, as far as is known.

    The writer that sends them knows the actual number, and reserves more if needed.
    """
    return known_tools.get(upstream, 0) if upstream else 0


def remember_tools(upstream: int, tokens: int) -> None:
    known_tools[upstream] = tokens
