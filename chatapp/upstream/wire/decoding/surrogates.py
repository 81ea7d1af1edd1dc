"""Join characters that are split between two deltas.

JSON may escape a character above U+FFFF as a surrogate pair, and some servers cut a text between
the two. A decoded text may then end with half a pair, which is held back until the next text.
"""

import re
from dataclasses import dataclass

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class SurrogateJoiner:
    """Joins split pairs within one text. A half without its other half becomes U+FFFD."""

    _held_half: str = ""

    def receive_text(self, text: str) -> str:
        """Return the text that can be encoded, and hold back a half at its end."""
        if not self._held_half and (text.isascii() or not _SURROGATE.search(text)):
            return text
        text, self._held_half = self._held_half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._held_half = text[:-1], text[-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def close(self) -> str:
        """Return U+FFFD if a half is still held back."""
        held_half, self._held_half = self._held_half, ""
        return "\ufffd" if held_half else ""
