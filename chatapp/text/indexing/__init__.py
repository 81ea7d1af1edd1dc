"""Turns texts into the words of the search index, and queries into terms. Pure functions.

It works the same for every database: words are made here, and the database's text search only
stores and matches them. Input is any text in any language. Output is bounded and contains only
letters, digits and the marks of some scripts.

Imports nothing of the app.
"""

from chatapp.text.indexing.folding import fold
from chatapp.text.indexing.phrases import Phrase, Term, mark, name_marks, parse_quoted_phrase, terms
from chatapp.text.indexing.whole_words import Words
from chatapp.text.indexing.words import entries, pieces

__all__ = [
    "Phrase",
    "Term",
    "Words",
    "entries",
    "fold",
    "mark",
    "name_marks",
    "parse_quoted_phrase",
    "pieces",
    "terms",
]
