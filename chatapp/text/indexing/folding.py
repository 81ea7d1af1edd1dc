"""Folds text for comparison: removes case, accents and differences in spelling of characters.

Each character is folded on its own, so `fold(a + b) == fold(a) + fold(b)`, and a part of a text can
be folded to find a position in it. Word separators are left unchanged.
"""

import unicodedata

# Optional marks: accents of Latin, Greek and Cyrillic, vowels of Hebrew and Arabic. Marks of Indic
# scripts, Thai and kana are not optional: they make another letter.
OPTIONAL_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
OPTIONAL_MARKS += (
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
IGNORABLE = "\u00ad\u200c\u200d"  # the soft hyphen, and the zero-width (non-)joiners
TATWEEL = "\u0640"  # the Arabic tatweel

# Letters that Unicode does not decompose, and how they are typed on keyboards without them.
TRANSLITERATIONS = str.maketrans(
    {
        "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe",
        "þ": "th",
        # Arabic letters, some in their Persian form.
        "\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643", "\u0629": "\u0647",
    }
)  # fmt: skip
CACHED_CODE_POINTS = (
    0x20000  # code points below it are cached; above are only rare letters without other forms
)


def _expand_ranges(ranges: str) -> frozenset[str]:
    characters: set[str] = set()
    pending = list(ranges)
    while pending:
        first = last = pending.pop(0)
        if pending and pending[0] == "-":
            last = pending.pop(1)
            pending.pop(0)
        characters.update(map(chr, range(ord(first), ord(last) + 1)))
    return frozenset(characters)


_DROPPED = _expand_ranges(OPTIONAL_MARKS) | set(IGNORABLE + TATWEEL)


class _Folds(dict[int, str]):
    """A translation table by code point, filled on demand."""

    def __missing__(self, code: int) -> str:
        folded = _fold_character(chr(code))
        if code < CACHED_CODE_POINTS:
            self[code] = folded
        return folded


def _fold_character(character: str) -> str:
    if character in _DROPPED:
        return ""
    if not (character.isalnum() or unicodedata.category(character)[0] == "M"):
        return character
    apart = unicodedata.normalize("NFKD", character.casefold()).casefold()
    bare = "".join(code_point for code_point in apart if code_point not in _DROPPED).translate(
        TRANSLITERATIONS
    )
    return "".join(map(_plain, unicodedata.normalize("NFC", bare)))


def _plain(character: str) -> str:
    """Return a digit of any script as ASCII, and "" for a character that is not part of a word."""
    digit = unicodedata.digit(character, None)
    if digit is not None:
        return str(digit)
    is_part = character.isalnum() or unicodedata.category(character)[0] == "M"
    return character if is_part else ""


_FOLDS = _Folds()


def fold(text: str) -> str:
    """Fold `text`, which must be in NFC."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)
