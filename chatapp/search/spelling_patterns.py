"""Finds the words of a search in a text, and the passage around them. Pure.

The index only says that a text matches; here the text is folded the same way and searched.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, takewhile
from typing import NamedTuple
from unicodedata import normalize

from chatapp.text.indexing import Term, fold
from chatapp.text.indexing.words import RUNS

BEFORE, AFTER = 70, 190  # characters around the best match
NEAR = 160  # words within this many characters count as together
MAX_SEARCHED = 200_000  # characters of a text that are searched
MAX_PLACES = 200  # matches considered for the best passage
BLOCK = 256
JOINS = "[_.'\u2019-]?"  # separators within a joined name


class Segment(NamedTuple):
    text: str
    is_found: bool


class MatchPosition(NamedTuple):
    start: int
    end: int
    term: str


class SpellingPatterns:
    """Patterns that match the possible spellings of some terms."""

    def __init__(self, terms: Sequence[Term]) -> None:
        looks = [term.spellings for term in terms if any(term.spellings)]
        self._as_typed = _pattern(looks, "")
        self._joined = _pattern(looks, JOINS)

    def passage(self, text: str) -> tuple[list[Segment], bool]:
        """Return the passage with the most terms, its matches marked, and whether there are any."""
        text = normalize("NFC", text[:MAX_SEARCHED])
        best = self._best(fold(text))
        at = _original(text, best.start) if best else 0
        start = max(0, at - BEFORE)
        if start:  # begin at a word, if there is a space
            start = max(start, text.rfind(" ", start - BEFORE, start) + 1)
        cut = text[start : at + AFTER]
        if at + AFTER < len(text):
            cut = cut[: max(cut.rfind(" "), AFTER)] + " …"
        return self.mark_matches(("… " if start else "") + " ".join(cut.split())), best is not None

    def mark_matches(self, text: str) -> list[Segment]:
        """Return all of a short text with matches marked."""
        text = normalize("NFC", text)
        ends = _ends(text)
        segments, done = [], 0
        for position in sorted(self._positions(fold(text))):
            start, end = (
                bisect_right(ends, position.start),
                bisect_right(ends, position.end - 1) + 1,
            )
            if start >= done:
                segments += [Segment(text[done:start], False), Segment(text[start:end], True)]
                done = end
        return [segment for segment in (*segments, Segment(text[done:], False)) if segment.text]

    def _best(self, folded: str) -> MatchPosition | None:
        positions = sorted(self._positions(folded))

        def terms_near(number: int) -> int:
            near = takewhile(
                lambda other: other.start < positions[number].start + NEAR,
                islice(positions, number, None),
            )
            return len({other.term for other in near})

        return positions[max(range(len(positions)), key=terms_near)] if positions else None

    def _positions(self, folded: str) -> Iterator[MatchPosition]:
        """Yield each term's matches at the beginning of words, or else those within words."""
        by_term: dict[str, list[MatchPosition]] = {}
        for pattern in (self._as_typed, self._joined):
            for match in islice(pattern.finditer(folded), MAX_PLACES):
                if match.lastgroup:
                    position = MatchPosition(match.start(), match.end(), match.lastgroup)
                    by_term.setdefault(position.term, []).append(position)
            if by_term:
                break
        for positions in by_term.values():
            beginnings = [
                position for position in positions if _begins_word(folded, position.start)
            ]
            yield from beginnings or positions


def _pattern(looks: Sequence[Sequence[str]], join: str) -> "re.Pattern[str]":
    groups = (
        f"(?P<t{number}>{'|'.join(_look(look, join) for look in some if look)})"
        for number, some in enumerate(looks)
    )
    return re.compile("|".join(groups) or "(?!)")


def _look(look: str, join: str) -> str:
    words = re.split(r"[\W_]+", look) if join else [re.escape(word) for word in look.split()]
    pattern = r"[\W_]+".join(join.join(word) for word in words if word) or re.escape(look)
    # A single letter must be a whole word.
    return rf"\b{pattern}\b" if len(look) == 1 and look.isascii() else pattern


def _begins_word(folded: str, at: int) -> bool:
    return at == 0 or not folded[at - 1].isalnum() or bool(RUNS.match(folded, at))


def _ends(text: str) -> Sequence[int]:
    """Return the position in the folded text at which each character ends."""
    if text.isascii():
        return range(1, len(text) + 1)
    return list(accumulate(len(fold(character)) for character in text))


def _original(text: str, folded_at: int) -> int:
    """Convert a position in the folded text to one in the text."""
    if text.isascii():
        return folded_at
    start = 0
    while start < len(text):
        length = len(fold(text[start : start + BLOCK]))
        if length > folded_at:
            return start + bisect_right(_ends(text[start : start + BLOCK]), folded_at)
        start, folded_at = start + BLOCK, folded_at - length
    return len(text)
