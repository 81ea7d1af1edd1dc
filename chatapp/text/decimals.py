"""A form field for decimal numbers as people type them, with a point or a comma."""

import re
from typing import Any

from django import forms

_GROUPED = re.compile(r"-?\d{1,3}(,\d{3}){2,}(\.\d*)?|-?\d{1,3},\d{3}\.\d*")
_COMMA = re.compile(r"(-?\d*),(\d*)")
_AMBIGUOUS = "“{}” can be read in two ways. Write {} or {}."


class DecimalField(forms.DecimalField):
    """A decimal number: 0.15, 0,15 or 1,234,567.8. Refuses 1,250, which can be read in two ways."""

    def to_python(self, value: Any) -> Any:
        return super().to_python(
            _normalize_decimal(value.strip()) if isinstance(value, str) else value
        )


def _normalize_decimal(text: str) -> str:
    """Return the number with a point and without separators of thousands."""
    if _GROUPED.fullmatch(text):
        return text.replace(",", "")
    match = _COMMA.fullmatch(text)
    if not match:
        return text
    whole, part = match.groups()
    pointed = f"{whole or 0}.{part}"
    if len(part) == 3 and whole.strip("-0"):
        raise forms.ValidationError(_AMBIGUOUS.format(text, whole + part, pointed))
    return pointed
