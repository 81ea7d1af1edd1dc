"""Find what a piece of a stream repeats: some upstreams send all the text so far again.

That happens in each delta (cumulative ones), or once at the end.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Repeats:
    """What has arrived of one text. Fewer than `least` characters are repeated by chance."""

    least: int
    _pieces: list[str] = field(default_factory=list)
    _size: int = 0

    def news_in(self, text: str) -> str:
        """Return the part of a piece that does not repeat all pieces before it."""
        if len(text) >= self._size >= self.least and text.startswith("".join(self._pieces)):
            text = text[self._size :]
        self._pieces.append(text)
        self._size += len(text)
        return text
