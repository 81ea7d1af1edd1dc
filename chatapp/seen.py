"""Text that can be seen, as names, titles and reasons must be."""

import unicodedata
from typing import Any

from django import forms

_SPACES_AND_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
# Letters, marks and a symbol that are drawn as nothing: Unicode's Default_Ignorable_Code_Point, as
# far as it is of other categories, and the empty pattern of Braille.
_UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)


_FEW = 100  # characters, among which something is seen of nearly every text


def is_blank(text: str) -> bool:
    """Whether nothing of it can be seen."""
    return all(map(_is_unseen, text[:_FEW])) and all(map(_is_unseen, set(text)))


def from_first_seen(text: str) -> str:
    """Without what stands before its first character that can be seen."""
    if not text or not _is_unseen(text[0]):
        return text
    return text.lstrip("".join(filter(_is_unseen, set(text))))


def _is_unseen(one: str) -> bool:
    return one in _UNSEEN or unicodedata.category(one) in _SPACES_AND_CONTROLS


class SeenField(forms.CharField):
    """A text of which something is seen, or none."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return self.empty_value if isinstance(text, str) and is_blank(text) else text
