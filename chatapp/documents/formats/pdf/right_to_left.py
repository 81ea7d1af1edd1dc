"""Puts the letters of Arabic and Hebrew words in a PDF into reading order.

PDFium returns words in reading order, but the letters within some words as they stand on the page,
from left to right: in files that Chromium has written, for example. Their places tell which.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

PlacedCharacter = tuple[str, float]  # a character and where it begins, from the left

LETTERS = re.compile("[\u0590-\u065f\u066e-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
WITH_MARKS = re.compile(r"(?s).[\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]*")


def has_letters(text: str) -> bool:
    return LETTERS.search(text) is not None


def in_reading_order(characters: Iterable[PlacedCharacter]) -> str:
    words = groupby(characters, key=lambda placed: _is_right_to_left(placed[0]))
    return "".join(_word(list(word), is_reversible) for is_reversible, word in words)


def _is_right_to_left(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL", "NSM")  # not digits


def _word(word: Sequence[PlacedCharacter], is_right_to_left: bool) -> str:
    text = "".join(character for character, _ in word)
    if is_right_to_left and word[0][1] < word[-1][1]:
        return "".join(reversed(WITH_MARKS.findall(text)))
    return text
