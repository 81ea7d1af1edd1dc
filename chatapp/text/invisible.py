"""Removes what can't be seen from names that others chose."""

import unicodedata

# Categories of characters that reorder or hide text, or that no font shows.
_REMOVED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # Persian and emoji need them


def in_one_line(text: str) -> str:
    """Return the text without invisible characters, with single spaces."""
    return " ".join("".join(filter(_is_visible, text)).split())


def _is_visible(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character) not in _REMOVED
