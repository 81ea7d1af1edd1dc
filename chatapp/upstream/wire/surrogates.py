"""Characters whose two halves come in two deltas.

JSON writes what is above U+FFFF as a pair of escapes, and some servers cut a text between them. So
a decoded text may end with half a character, which waits for the next one.
"""

import re
from dataclasses import dataclass

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class SurrogateJoiner:
    """Joins the halves of one text. What never finds its other half is U+FFFD."""

    _held: str = ""

    def receive_text(self, text: str) -> str:
        """Return what can be encoded, all but a half at the end."""
        if not self._held and (text.isascii() or not _SURROGATE.search(text)):
            return text
        text, self._held = self._held + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def close(self) -> str:
        """Return what was held back, as it is shown."""
        held, self._held = self._held, ""
        return "\ufffd" if held else ""
