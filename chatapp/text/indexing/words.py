"""Splits a text into the words that it is found by.

In scripts with spaces, each word is indexed, and joined names both by their parts and as a whole:
`getUserName`, `get_user_name` and `get-user.name` have the words get, user and name, and the extra
words getusername and username. A search for a prefix of any of them matches.

In scripts without spaces (Chinese, Japanese, Thai), each pair of adjacent characters is a word:
東京都 gives 東京 and 京都, and the extra word 都, so that a search also matches in the middle of a
run. Korean is treated the same although it has spaces: between them is a stem, often several, with
its particles (서버에서는), and a search for 서버 should match. A prefix search would miss the
second stem of a compound, and splitting stems would take a dictionary.

Adjacent words of a text are adjacent in its entry. The extra words come after all of them, so that
they don't interrupt phrases.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from unicodedata import normalize

from chatapp.text.indexing.folding import IGNORABLE, OPTIONAL_MARKS, fold

MAX_LENGTH = 40  # characters of a word; longer ones are cut
PARTS = 8  # parts of a joined name in one piece
PAIRS = 1000  # pairs of a run in one piece
WORDS_OF_A_PART = 4000  # so that neither an entry nor a word's position exceeds a database's limits
MAX_PARTS = 100  # parts of a text
MAX_CACHED_NAMES, MAX_CACHED_LENGTH = 20_000, 64

# Thai, Lao, Burmese, Khmer, Hangul, Han, kana, Bopomofo.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e59\u0e80-\u0edf\u1000-\u1049\u1050-\u109f\u1100-\u11ff\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
INDIC = "\u0900-\u0963\u0966-\u0df3"  # letters, vowel signs and digits
RUNS = re.compile(f"([{UNSPACED}]+)")
_LETTER = rf"[\w{OPTIONAL_MARKS}{INDIC}{IGNORABLE}]"
NAMES = re.compile(rf"{_LETTER}+(?:[.'\u2019-]{_LETTER}+)*")
_JOINS = re.compile(r"[_.'\u2019-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# German umlauts are also typed as two letters.
_DOTTED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "ae", "Ö": "oe", "Ü": "ue"})
# Arabic prefixes joined to the next word: the article, also with "and", "in", "as".
_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
MIN_STEM = 3  # letters that must remain without the article


class Piece(NamedTuple):
    """Consecutive words, and extra words by which they are found as well."""

    words: tuple[str, ...]
    others: tuple[str, ...] = ()


def entries(*texts: str) -> Iterator[list[str]]:
    """Yield texts in parts, each as its words followed by the extra words.

    Yields at least one part, which may be empty.
    """
    text_pieces = chain.from_iterable(map(pieces, texts))
    for number in range(MAX_PARTS):
        words: list[str] = []
        others: dict[str, None] = {}
        for piece in text_pieces:
            words += piece.words
            others.update(dict.fromkeys(piece.others))
            if len(words) >= WORDS_OF_A_PART:
                break
        if number and not words:
            return
        yield [*words, *others]


def pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text in order; very long names and runs give several."""
    for number, part in enumerate(RUNS.split(normalize("NFC", text))):
        if number % 2:
            yield from pieces_of_run(fold(part))
        else:
            for name in NAMES.findall(part):
                is_cached = len(name) <= MAX_CACHED_LENGTH
                yield from _pieces_of_name(name) if is_cached else pieces_of_name(name)


def pieces_of_run(run: str) -> Iterator[Piece]:
    """Yield a run's pairs, and as an extra word its last character, which begins no pair."""
    if len(run) == 1:
        yield Piece((run,))
    for start in range(0, len(run) - 1, PAIRS):
        end = min(start + PAIRS, len(run) - 1)
        pairs = tuple(run[at : at + 2] for at in range(start, end))
        yield Piece(pairs, (run[-1],) if end == len(run) - 1 else ())


def pieces_of_name(name: str) -> tuple[Piece, ...]:
    """Return a name's parts, with its joined endings or other spellings as extra words."""
    parts = [part[:MAX_LENGTH] for part in split_name(name)]
    if len(parts) == 1:
        return (Piece((parts[0],), tuple(get_variants(_JOINS.sub("", name)))),)
    return tuple(
        Piece(tuple(some), tuple("".join(some[at:])[:MAX_LENGTH] for at in range(len(some) - 1)))
        for some in (parts[start : start + PARTS] for start in range(0, len(parts), PARTS))
    )


_pieces_of_name = lru_cache(MAX_CACHED_NAMES)(pieces_of_name)


def split_name(name: str) -> list[str]:
    return [part for part in map(fold, _JOINS.split(name)) if part]


def get_variants(name: str) -> list[str]:
    """Return other spellings of a simple word."""
    variants = []
    if (spelled := name.translate(_DOTTED)) != name:
        variants.append(fold(spelled)[:MAX_LENGTH])
    folded = fold(name)
    article = next((prefix for prefix in _ARTICLES if folded.startswith(prefix)), "")
    if article and len(folded) - len(article) >= MIN_STEM:
        variants.append(folded[len(article) :][:MAX_LENGTH])
    return variants
