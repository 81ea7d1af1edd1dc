"""What the demo calls a token: a word or so, with the space before it.

One rule for everything, so that usage can be checked: a completion has as many tokens as deltas
were sent, and a prompt is counted with the same rule.
"""

import re
from collections.abc import Iterable

TOKEN = re.compile(r"\s*\S{1,12}|\s+")


def split_tokens(text: str) -> list[str]:
    """The tokens of `text`, in order; joined, they are `text` again."""
    return TOKEN.findall(text)


def count_tokens(texts: Iterable[str]) -> int:
    return sum(len(split_tokens(text)) for text in texts)
