"""Whether a name has the words of a query."""

from collections.abc import Iterable

from chatapp.text.indexing import Term, entries


def has_words(name: str, terms: Iterable[Term]) -> bool:
    """Return whether each term begins some word of the name."""
    name_words = next(entries(name), ())
    return all(
        any(word.startswith(look) for look in term.spellings for word in name_words)
        for term in terms
    )
