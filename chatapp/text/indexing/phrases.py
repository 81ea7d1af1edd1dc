"""Turns a query into terms of index words; every term must match, by any one of its options.

Words match by prefix, since they may be half typed. Only a single letter must be a whole word,
since it is a prefix of too many words.
"""

from dataclasses import dataclass
from unicodedata import normalize

from chatapp.text.indexing.folding import fold
from chatapp.text.indexing.words import (
    MAX_LENGTH,
    NAMES,
    PARTS,
    RUNS,
    get_variants,
    pieces,
    pieces_of_run,
    split_name,
)

# Korean particles that few words end with otherwise, as too many do with 이 and 가, left out here.
PARTICLES = (
    *("에서는", "에서", "에게", "한테", "으로", "까지", "부터", "처럼", "보다"),
    *("을", "를", "은", "는", "의", "에", "로", "와", "과"),
)
MIN_STEM = 2  # syllables that must remain without the particle


@dataclass(frozen=True)
class Phrase:
    """Consecutive words; if `is_prefix`, the last one may match by prefix."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True)
class Term:
    """Matches if one of the options does; `spellings` are its possible spellings in folded text."""

    options: tuple[Phrase, ...]
    spellings: tuple[str, ...] = ()


def terms(text: str) -> list[Term]:
    """Return the terms of a query without quotes, which may still be being typed."""
    query_terms = []
    for number, piece in enumerate(RUNS.split(normalize("NFC", text))):
        if number % 2:
            query_terms.append(_parse_run(fold(piece)))
        else:
            query_terms += [term for name in NAMES.findall(piece) if (term := _parse_name(name))]
    return query_terms


def parse_quoted_phrase(text: str, *, is_open: bool = False) -> Term | None:
    """Return the term of a quoted phrase; if `is_open`, its last word may be half typed."""
    words = [word for piece in pieces(text) for word in piece.words]
    if not words:
        return None
    is_prefix = bool(RUNS.match(words[-1])) or (is_open and len(words[-1]) > 1)
    spelling = " ".join(fold(normalize("NFC", text)).split())
    return Term((Phrase(tuple(words), is_prefix),), (spelling,))


def mark(name: str) -> str:
    """Return the index word of a mark; no ordinary word begins with an underscore."""
    return f"_{name}"


def name_marks(kind: str, name: str) -> list[str]:
    """Return the marks of a name of this kind, so that it is found by each of its parts."""
    parts = [part for word in NAMES.findall(normalize("NFC", name)) for part in split_name(word)]
    return [mark(f"{kind}_{''.join(parts[at:])}")[:MAX_LENGTH] for at in range(len(parts[:PARTS]))]


def _parse_run(run: str) -> Term:
    stems = [run]
    ending = next((particle for particle in PARTICLES if run.endswith(particle)), "")
    if ending and len(run) - len(ending) >= MIN_STEM:
        stems.append(run.removesuffix(ending))
    return Term(tuple(map(_build_run_phrase, stems)), tuple(stems))


def _build_run_phrase(run: str) -> Phrase:
    words = (word for piece in pieces_of_run(run) for word in piece.words)
    return Phrase(tuple(words), is_prefix=len(run) == 1)


def _parse_name(name: str) -> Term | None:
    parts = [part[:MAX_LENGTH] for part in split_name(name)]
    if not parts:
        return None
    whole = "".join(parts)[:MAX_LENGTH]
    others = get_variants(name) if len(parts) == 1 else []
    options = [_build_prefix_phrase((spelling,)) for spelling in (whole, *others)]
    if len(parts) > 1:
        options.append(_build_prefix_phrase(tuple(parts)))
    return Term(tuple(options), (whole, *others, " ".join(parts)))


def _build_prefix_phrase(some: tuple[str, ...]) -> Phrase:
    return Phrase(some, is_prefix=len(some[-1]) > 1)
