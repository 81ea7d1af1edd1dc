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
    _held: str = ""  # a piece that repeats everything; it counts if other text follows

    def news_in(self, text: str) -> str:
        """Return the part of a piece that does not repeat all pieces before it."""
        if not (len(text) >= self._size >= self.least and self._begins(text)):
            news = self._held + text
        elif len(text) > self._size:
            news = text[self._size :]
        elif self._held:
            news = self._held + text
        else:
            self._held = text
            return ""
        self._held = ""
        self._pieces.append(news)
        self._size += len(news)
        return news

    def _begins(self, text: str) -> bool:
        """Return whether the text begins with all before it, and not just with the same words."""
        before = "".join(self._pieces)
        is_one_word_again = before in (before * 2)[1:-1]
        return text.startswith(before) and not is_one_word_again
