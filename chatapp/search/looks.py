"""Where in a text the words of a search stand, and a passage around them. Pure.

The index says that they are there; a text is folded as it was for that, and looked through.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, takewhile
from typing import NamedTuple
from unicodedata import normalize

from chatapp.indexing import Term, fold
from chatapp.indexing.words import RUNS

BEFORE, AFTER = 70, 190  # characters around what is shown first
NEAR = 160  # characters in which words stand together
LOOKED_THROUGH = 200_000  # characters of a text
MOST_PLACES = 200  # that are looked at, to find where words stand together
BLOCK = 256
JOINS = "[_.'\u2019-]?"  # what may stand in a joined name


class Segment(NamedTuple):
    text: str
    is_found: bool


class Place(NamedTuple):
    start: int
    end: int
    term: str


class Looks:
    """What some terms look like."""

    def __init__(self, terms: Sequence[Term]) -> None:
        looks = [term.looks for term in terms if any(term.looks)]
        self._as_typed = _pattern(looks, "")
        self._joined = _pattern(looks, JOINS)

    def passage(self, text: str) -> tuple[list[Segment], bool]:
        """The part of a text in which the most of it stands, and whether any does."""
        text = normalize("NFC", text[:LOOKED_THROUGH])
        best = self._best(fold(text))
        at = _original(text, best.start) if best else 0
        start = max(0, at - BEFORE)
        if start:  # not within a word, where there is an end of one
            start = max(start, text.rfind(" ", start - BEFORE, start) + 1)
        cut = text[start : at + AFTER]
        if at + AFTER < len(text):
            cut = cut[: max(cut.rfind(" "), AFTER)] + " …"
        return self.marked(("… " if start else "") + " ".join(cut.split())), best is not None

    def marked(self, text: str) -> list[Segment]:
        """All of a short text."""
        text = normalize("NFC", text)
        ends = _ends(text)
        segments, done = [], 0
        for place in sorted(self._places(fold(text))):
            start, end = bisect_right(ends, place.start), bisect_right(ends, place.end - 1) + 1
            if start >= done:
                segments += [Segment(text[done:start], False), Segment(text[start:end], True)]
                done = end
        return [one for one in (*segments, Segment(text[done:], False)) if one.text]

    def _best(self, folded: str) -> Place | None:
        places = sorted(self._places(folded))

        def terms_near(number: int) -> int:
            near = takewhile(
                lambda other: other.start < places[number].start + NEAR,
                islice(places, number, None),
            )
            return len({other.term for other in near})

        return places[max(range(len(places)), key=terms_near)] if places else None

    def _places(self, folded: str) -> Iterator[Place]:
        """Of each term those where a word begins with it; or else those within words."""
        found: dict[str, list[Place]] = {}
        for pattern in (self._as_typed, self._joined):
            for match in islice(pattern.finditer(folded), MOST_PLACES):
                if match.lastgroup:
                    place = Place(match.start(), match.end(), match.lastgroup)
                    found.setdefault(place.term, []).append(place)
            if found:
                break
        for places in found.values():
            beginnings = [place for place in places if _begins_word(folded, place.start)]
            yield from beginnings or places


def _pattern(looks: Sequence[Sequence[str]], join: str) -> "re.Pattern[str]":
    groups = (
        f"(?P<t{number}>{'|'.join(_look(one, join) for one in some if one)})"
        for number, some in enumerate(looks)
    )
    return re.compile("|".join(groups) or "(?!)")


def _look(look: str, join: str) -> str:
    words = re.split(r"[\W_]+", look) if join else [re.escape(one) for one in look.split()]
    said = r"[\W_]+".join(join.join(word) for word in words if word) or re.escape(look)
    # A letter alone is a word of its own.
    return rf"\b{said}\b" if len(look) == 1 and look.isascii() else said


def _begins_word(folded: str, at: int) -> bool:
    return at == 0 or not folded[at - 1].isalnum() or bool(RUNS.match(folded, at))


def _ends(text: str) -> Sequence[int]:
    """Where each of its characters ends in the folded text."""
    if text.isascii():
        return range(1, len(text) + 1)
    return list(accumulate(len(fold(one)) for one in text))


def _original(text: str, folded_at: int) -> int:
    """Where in the text stands what stands there in the folded one."""
    if text.isascii():
        return folded_at
    start = 0
    while start < len(text):
        length = len(fold(text[start : start + BLOCK]))
        if length > folded_at:
            return start + bisect_right(_ends(text[start : start + BLOCK]), folded_at)
        start, folded_at = start + BLOCK, folded_at - length
    return len(text)
