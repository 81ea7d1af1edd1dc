"""Find what a piece of a stream repeats: some upstreams send all the text so far again.

That happens in each delta (cumulative ones), or once at the end. A short beginning may be repeated
by chance (“1”, “10”), so it takes some such pieces in a row to tell, and more than digits.
"""

from dataclasses import dataclass, field

SHORT = 4  # characters: after fewer, it takes three pieces in a row and not two


@dataclass(slots=True)
class RepeatFilter:
    """Drops repeats from a text. Fewer than `least` characters are repeated by chance."""

    least: int
    _pieces: list[str] = field(default_factory=list)
    _size: int = 0
    _held_text: str = ""  # a piece that repeats everything; it counts if other text follows
    _doubtful: list[str] = field(default_factory=list)  # may be cumulative; the next one tells

    def filter_new_text(self, text: str) -> str:
        """Return the part of a piece that does not repeat all pieces before it.

        Returns "" for a piece that is held back until the next one or `close`.
        """
        if self._doubtful:
            if not (text := self._settle(text)):
                return ""
        elif 0 < self._size < self.least and self._may_be_cumulative(text):
            self._doubtful.append(text)
            return ""
        if not (len(text) >= self._size >= self.least and self._begins(text)):
            news = self._held_text + text
        elif len(text) > self._size:
            news = text[self._size :]
        elif self._held_text:
            news = self._held_text + text
        else:
            self._held_text = text
            return ""
        self._held_text = ""
        self._pieces.append(news)
        self._size += len(news)
        return news

    def close(self) -> str:
        """Return the pieces that are held back because they may be cumulative."""
        held_text, self._doubtful = "".join(self._doubtful), []
        if held_text:
            self._pieces.append(held_text)
            self._size += len(held_text)
        return held_text

    def _may_be_cumulative(self, text: str) -> bool:
        before = "".join(self._pieces)
        is_more = len(text) > len(before) and text.startswith(before)
        return is_more and bool(before.strip() and text.replace(before, "").strip())

    def _settle(self, text: str) -> str:
        """Return the text of the doubtful pieces and the next one, as far as it is to be added.

        Returns "" if the next one is doubtful, too.
        """
        last = self._doubtful[-1]
        if not (len(text) > len(last) and text.startswith(last)):
            held_text, self._doubtful = "".join(self._doubtful), []
            return held_text + text
        if text.isdecimal() or (self._size < SHORT and len(self._doubtful) < 2):
            self._doubtful.append(text)
            return ""
        self.least, self._doubtful = 0, []  # they are cumulative
        return text

    def _begins(self, text: str) -> bool:
        """Return whether the text begins with all before it, and not just with the same words."""
        before = "".join(self._pieces)
        is_one_word_again = before in (before * 2)[1:-1]
        return text.startswith(before) and not is_one_word_again
