"""Form fields that reject text made only of invisible characters, for names, titles and reasons."""

import unicodedata
from typing import Any

from django import forms

_SPACES_AND_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
# Letters, marks and a symbol that are invisible: those of Unicode's Default_Ignorable_Code_Point in
# other categories, and the blank Braille pattern.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)


_SAMPLE_LENGTH = 100  # characters; nearly every text shows something among them


def is_blank(text: str) -> bool:
    """Whether the text has no visible character."""
    return all(map(_is_invisible, text[:_SAMPLE_LENGTH])) and all(map(_is_invisible, set(text)))


def from_first_visible(text: str) -> str:
    """Remove invisible characters from the start of the text."""
    if not text or not _is_invisible(text[0]):
        return text
    return text.lstrip("".join(filter(_is_invisible, set(text))))


def _is_invisible(character: str) -> bool:
    return character in _INVISIBLE or unicodedata.category(character) in _SPACES_AND_CONTROLS


class VisibleCharField(forms.CharField):
    """A `CharField` that treats text without visible characters as empty."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return self.empty_value if isinstance(text, str) and is_blank(text) else text
