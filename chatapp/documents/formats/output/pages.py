"""Collects the text of a file page by page, within the limits."""

import re
from collections import Counter

from chatapp.documents import refusals
from chatapp.documents.results import LeftOut, Limits

NEWLINES = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
NEWLINE_CHARACTERS = "\r\n\v\f\x85\u2028\u2029"
REPLACED = re.compile("[\x00\ud800-\udfff\ufffe\uffff]")
UNPRINTABLE = re.compile("[\x01-\x08\x0e-\x1f\x7f-\x9f]")


def clean_text(text: str) -> str:
    """Return the text with `\\n` for each newline, and without other control characters but tabs.

    What cannot be stored or sent, such as NUL and half of a surrogate pair, becomes U+FFFD.
    """
    text = NEWLINES.sub("\n", text)
    return UNPRINTABLE.sub("", REPLACED.sub("\ufffd", text))


class Pages:
    """The pages so far. `add` and `expect` raise `Unreadable` beyond the limits."""

    def __init__(self, limits: Limits, unit: str = "Page") -> None:
        self._limits = limits
        self._unit = unit
        self._left = limits.characters
        self._texts: list[str] = []
        self._left_out: Counter[str] = Counter()

    def expect(self, count: int) -> None:
        """Refuse a file with this many pages before any of them is read."""
        if count > self._limits.pages:
            raise refusals.too_many_pages(count, self._limits.pages, self._unit)

    def add(self, text: str) -> None:
        text = clean_text(text).strip("\n")
        self._left -= len(text)
        if self._left < 0:
            raise refusals.too_many_characters(self._limits.characters)
        self._texts.append(text)

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count something of the file that is not sent. `what` is one of `LEFT_OUT`."""
        self._left_out[what] += count

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return tuple(LeftOut(what, count) for what, count in self._left_out.items())

    @property
    def are_blank(self) -> bool:
        return not any(text.strip() for text in self._texts)

    def whole(self, kind: str) -> tuple[str, ...]:
        """Return all pages. Raises `Unreadable` if none has text."""
        if self.are_blank:
            raise refusals.no_text(kind)
        return tuple(self._texts)
