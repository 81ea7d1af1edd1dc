"""A text as the words that it is found by.

Where words stand apart each is one, and what is joined is kept whole beside its parts: the words
of `getUserName`, `get_user_name` and `get-user.name` are get, user and name, and others beside them
getusername and username. A search for the beginning of any of them finds it.

Where they do not (Chinese, Japanese, Thai) every two characters that follow each other are a word:
"東京都" is 東京 and 京都, with 都 beside them, and whatever is looked for is found in the middle of
a run too. So is Korean, though it has spaces: what stands between them is a stem, often several,
with its particles (서버에서는), and who looks for 서버 means all of these. The beginning of a word
would miss the second stem of a compound, and to know the stems would take a dictionary.

What follows each other in a text does so among its words; the others stand behind these, so that
they part no phrase.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from chatapp.indexing.folding import POINTS, UNSEEN, fold

LONGEST = 40  # characters of a word; of a longer one the beginning is kept
PARTS = 8  # of a joined name that are taken together
PAIRS = 1000  # of a run that are taken together
WORDS_OF_A_PART = 4000  # so that no entry is too large for a database, nor a word's place in it
MOST_PARTS = 100  # of a text
NAMES_REMEMBERED, LONGEST_REMEMBERED = 20_000, 64

# Thai, Lao, Burmese, Khmer, Hangul, Han, kana, Bopomofo.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e59\u0e80-\u0edf\u1000-\u1049\u1050-\u109f\u1100-\u11ff\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
INDIC = "\u0900-\u0963\u0966-\u0df3"  # letters, vowels and digits alike
RUNS = re.compile(f"([{UNSPACED}]+)")
_LETTER = rf"[\w{POINTS}{INDIC}{UNSEEN}]"
NAMES = re.compile(rf"{_LETTER}+(?:[.'\u2019-]{_LETTER}+)*")
_JOINS = re.compile(r"[_.'\u2019-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# A letter with two dots is also typed as two.
_DOTTED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "ae", "Ö": "oe", "Ü": "ue"})
# What Arabic writes as one with the word that follows: the article, and with it "and", "in", "as".
_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
LEAST_STEM = 3  # letters that are left of a word without it


class Piece(NamedTuple):
    words: tuple[str, ...]
    others: tuple[str, ...] = ()


def entries(text: str) -> Iterator[list[str]]:
    """A text in parts, each as its words and then the others; at least one, which may be empty."""
    rest = pieces(text)
    for number in range(MOST_PARTS):
        found: list[str] = []
        others: dict[str, None] = {}
        for piece in rest:
            found += piece.words
            others.update(dict.fromkeys(piece.others))
            if len(found) >= WORDS_OF_A_PART:
                break
        if number and not found:
            return
        yield [*found, *others]


def pieces(text: str) -> Iterator[Piece]:
    """What stands between spaces and signs, in its order; what is very long in several."""
    for number, part in enumerate(RUNS.split(normalize("NFC", text))):
        if number % 2:
            yield from pieces_of_run(fold(part))
        else:
            for name in NAMES.findall(part):
                remembers = len(name) <= LONGEST_REMEMBERED
                yield from _pieces_of_name(name) if remembers else pieces_of_name(name)


def pieces_of_run(run: str) -> Iterator[Piece]:
    """Its pairs; and its last character, which else would begin none."""
    if len(run) == 1:
        yield Piece((run,))
    for start in range(0, len(run) - 1, PAIRS):
        end = min(start + PAIRS, len(run) - 1)
        pairs = tuple(run[at : at + 2] for at in range(start, end))
        yield Piece(pairs, (run[-1],) if end == len(run) - 1 else ())


def pieces_of_name(name: str) -> tuple[Piece, ...]:
    """Its parts; and what it is from each of them on, or how else it is written."""
    parts = [part[:LONGEST] for part in parts_of(name)]
    if len(parts) == 1:
        return (Piece((parts[0],), tuple(variants_of(_JOINS.sub("", name)))),)
    return tuple(
        Piece(tuple(some), tuple("".join(some[at:])[:LONGEST] for at in range(len(some) - 1)))
        for some in (parts[start : start + PARTS] for start in range(0, len(parts), PARTS))
    )


_pieces_of_name = lru_cache(NAMES_REMEMBERED)(pieces_of_name)


def parts_of(name: str) -> list[str]:
    return [part for part in map(fold, _JOINS.split(name)) if part]


def variants_of(name: str) -> list[str]:
    """How else a word is written that is no joined name."""
    found = []
    if (spelled := name.translate(_DOTTED)) != name:
        found.append(fold(spelled)[:LONGEST])
    folded = fold(name)
    article = next((one for one in _ARTICLES if folded.startswith(one)), "")
    if article and len(folded) - len(article) >= LEAST_STEM:
        found.append(folded[len(article) :][:LONGEST])
    return found
