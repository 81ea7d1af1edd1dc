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
    parts_of,
    pieces,
    pieces_of_run,
    variants_of,
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
    """Matches if one of the options does; `looks` are its possible spellings in folded text."""

    options: tuple[Phrase, ...]
    looks: tuple[str, ...] = ()


def terms(text: str) -> list[Term]:
    """Return the terms of a query without quotes, which may still be being typed."""
    found = []
    for number, piece in enumerate(RUNS.split(normalize("NFC", text))):
        if number % 2:
            found.append(_of_run(fold(piece)))
        else:
            found += [term for name in NAMES.findall(piece) if (term := _of_name(name))]
    return found


def quoted(text: str, *, is_open: bool = False) -> Term | None:
    """Return the term of a quoted phrase; if `is_open`, its last word may be half typed."""
    found = [word for piece in pieces(text) for word in piece.words]
    if not found:
        return None
    is_prefix = bool(RUNS.match(found[-1])) or (is_open and len(found[-1]) > 1)
    looks = " ".join(fold(normalize("NFC", text)).split())
    return Term((Phrase(tuple(found), is_prefix),), (looks,))


def mark(name: str) -> str:
    """Return the index word of a mark; no ordinary word begins with an underscore."""
    return f"_{name}"


def name_marks(kind: str, name: str) -> list[str]:
    """Return the marks of a name of this kind, so that it is found by each of its parts."""
    parts = [part for one in NAMES.findall(normalize("NFC", name)) for part in parts_of(one)]
    return [mark(f"{kind}_{''.join(parts[at:])}")[:MAX_LENGTH] for at in range(len(parts[:PARTS]))]


def _of_run(run: str) -> Term:
    stems = [run]
    ending = next((one for one in PARTICLES if run.endswith(one)), "")
    if ending and len(run) - len(ending) >= MIN_STEM:
        stems.append(run.removesuffix(ending))
    return Term(tuple(map(_in_run, stems)), tuple(stems))


def _in_run(run: str) -> Phrase:
    found = (word for piece in pieces_of_run(run) for word in piece.words)
    return Phrase(tuple(found), is_prefix=len(run) == 1)


def _of_name(name: str) -> Term | None:
    parts = [part[:MAX_LENGTH] for part in parts_of(name)]
    if not parts:
        return None
    whole = "".join(parts)[:MAX_LENGTH]
    others = variants_of(name) if len(parts) == 1 else []
    options = [_beginning((one,)) for one in (whole, *others)]
    if len(parts) > 1:
        options.append(_beginning(tuple(parts)))
    return Term(tuple(options), (whole, *others, " ".join(parts)))


def _beginning(some: tuple[str, ...]) -> Phrase:
    return Phrase(some, is_prefix=len(some[-1]) > 1)
