"""Characters as they are compared: without case, accents, and ways to write the same.

Each character is folded on its own, so `fold(a + b) == fold(a) + fold(b)`: who looks for a place in
a text may fold a part of it. What separates words stays as it is.
"""

import unicodedata

# Marks that a word is also written without: accents of Latin, Greek and Cyrillic, the vowels of
# Hebrew and Arabic. Those of Indic scripts, of Thai and of kana make another letter.
POINTS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
POINTS += "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
UNSEEN = "\u00ad\u200c\u200d"  # a soft hyphen, and what joins letters or does not
STRETCHES = "\u0640"  # of Arabic lines

# Letters that Unicode does not take apart, as they are typed where a keyboard has none of them.
LIKE = str.maketrans(
    {
        "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe",
        "þ": "th",
        # Arabic's, some as Persian has them.
        "\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643", "\u0629": "\u0647",
    }
)  # fmt: skip
REMEMBERED = 0x20000  # code points below it; above are rare letters that have no other form


def _members(ranges: str) -> frozenset[str]:
    found: set[str] = set()
    rest = list(ranges)
    while rest:
        first = last = rest.pop(0)
        if rest and rest[0] == "-":
            last = rest.pop(1)
            rest.pop(0)
        found.update(map(chr, range(ord(first), ord(last) + 1)))
    return frozenset(found)


_DROPPED = _members(POINTS) | set(UNSEEN + STRETCHES)


class _Folds(dict[int, str]):
    """By code point, filled as they come."""

    def __missing__(self, code: int) -> str:
        folded = _folded(chr(code))
        if code < REMEMBERED:
            self[code] = folded
        return folded


def _folded(character: str) -> str:
    if character in _DROPPED:
        return ""
    if not (character.isalnum() or unicodedata.category(character)[0] == "M"):
        return character
    apart = unicodedata.normalize("NFKD", character.casefold()).casefold()
    bare = "".join(one for one in apart if one not in _DROPPED).translate(LIKE)
    return "".join(map(_plain, unicodedata.normalize("NFC", bare)))


def _plain(character: str) -> str:
    """A digit of any script as ours; nothing of what is no part of a word."""
    digit = unicodedata.digit(character, None)
    if digit is not None:
        return str(digit)
    is_part = character.isalnum() or unicodedata.category(character)[0] == "M"
    return character if is_part else ""


_FOLDS = _Folds()


def fold(text: str) -> str:
    """`text`, which is in NFC, as it is compared."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)
