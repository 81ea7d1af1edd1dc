"""What texts are found by: pure functions that make the words of an index and of a search.

One mechanism for every database: the words are made here, and the database's own text search only
keeps them and matches them, as they are. Text of anybody's goes in, in any language or none; what
comes out is bounded, and holds letters, digits and the marks of some scripts, nothing else.
"""

from chatapp.indexing.folding import fold
from chatapp.indexing.phrases import Phrase, Term, mark, name_marks, quoted, terms
from chatapp.indexing.whole_words import Words
from chatapp.indexing.words import entries, pieces

__all__ = [
    "Phrase",
    "Term",
    "Words",
    "entries",
    "fold",
    "mark",
    "name_marks",
    "pieces",
    "quoted",
    "terms",
]
