"""Tests whether a text contains a word or several consecutive words, not just parts of words."""

import re
from unicodedata import normalize

from chatapp.text.indexing.folding import IGNORABLE, fold
from chatapp.text.indexing.words import INDIC, UNSPACED

_LETTERS = re.compile(rf"[\w{INDIC}{IGNORABLE}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Words:
    """The words of a text.

    `words in Words(text)` ignores case, accents and punctuation between words. In scripts without
    spaces, the words may be anywhere in a run.
    """

    def __init__(self, text: str) -> None:
        self._text = _pad_words(text)

    def __contains__(self, words: str) -> bool:
        padded_words = _pad_words(words)
        if not padded_words.strip():
            return False
        return (
            padded_words.strip() if _UNSPACED.search(padded_words) else padded_words
        ) in self._text


def _pad_words(text: str) -> str:
    """Return the folded words with a space before and after each."""
    return f" {' '.join(_LETTERS.findall(fold(normalize('NFC', text))))} "
