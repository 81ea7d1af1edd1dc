"""Tests whether a text contains a word or several consecutive words, not just parts of words."""

import re
from unicodedata import normalize

from chatapp.text.indexing.folding import UNSEEN, fold
from chatapp.text.indexing.words import INDIC, UNSPACED

_LETTERS = re.compile(rf"[\w{INDIC}{UNSEEN}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Words:
    """The words of a text.

    `words in Words(text)` ignores case, accents and punctuation between words. In scripts without
    spaces, the words may be anywhere in a run.
    """

    def __init__(self, text: str) -> None:
        self._text = _spaced(text)

    def __contains__(self, words: str) -> bool:
        wanted = _spaced(words)
        if not wanted.strip():
            return False
        return (wanted.strip() if _UNSPACED.search(wanted) else wanted) in self._text


def _spaced(text: str) -> str:
    """Return the folded words with a space before and after each."""
    return f" {' '.join(_LETTERS.findall(fold(normalize('NFC', text))))} "
