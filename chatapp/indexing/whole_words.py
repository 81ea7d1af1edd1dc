"""Whether a text has a word, or several that follow each other, and not only a part of one."""

import re
from unicodedata import normalize

from chatapp.indexing.folding import UNSEEN, fold
from chatapp.indexing.words import INDIC, UNSPACED

_LETTERS = re.compile(rf"[\w{INDIC}{UNSEEN}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Words:
    """Those of a text. `words in Words(text)` is without case and accents, and whatever signs stand
    between them; where a script sets no spaces the words may stand anywhere."""

    def __init__(self, text: str) -> None:
        self._text = _apart(text)

    def __contains__(self, words: str) -> bool:
        wanted = _apart(words)
        if not wanted.strip():
            return False
        return (wanted.strip() if _UNSPACED.search(wanted) else wanted) in self._text


def _apart(text: str) -> str:
    """Each with a space before and behind it."""
    return f" {' '.join(_LETTERS.findall(fold(normalize('NFC', text))))} "
