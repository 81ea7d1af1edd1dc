"""The demo's tokenizer: a token is about a word, with the space before it.

The same rule applies everywhere, so that tests can check usage: a completion has as many tokens as
deltas, and prompts are counted by the same rule.
"""

import re
from collections.abc import Iterable

TOKEN = re.compile(r"\s*\S{1,12}|\s+")


def split_tokens(text: str) -> list[str]:
    """Return the tokens of `text`, in order; joined, they are `text` again."""
    return TOKEN.findall(text)


def count_tokens(texts: Iterable[str]) -> int:
    return sum(len(split_tokens(text)) for text in texts)
