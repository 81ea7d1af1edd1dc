"""What somebody looks for, as words of the index: each term has to be found, by one of its options.

A word is looked for by its beginning, since it may be half typed; only a single letter, which half
of all words begin with, has to be a word of its own.
"""

from dataclasses import dataclass
from unicodedata import normalize

from chatapp.indexing.folding import fold
from chatapp.indexing.words import (
    LONGEST,
    NAMES,
    PARTS,
    RUNS,
    parts_of,
    pieces,
    pieces_of_run,
    variants_of,
)

# What Korean ends a noun with, and what else begins or ends few words. 이 and 가 are left out: too
# many words end with them.
PARTICLES = (
    *("에서는", "에서", "에게", "한테", "으로", "까지", "부터", "처럼", "보다"),
    *("을", "를", "은", "는", "의", "에", "로", "와", "과"),
)
LEAST_STEM = 2  # syllables that are left without one


@dataclass(frozen=True)
class Phrase:
    """Words that follow each other; of the last one the beginning is enough where it says so."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True)
class Term:
    """Found where one of the options is; `looks` is what that may look like in a folded text."""

    options: tuple[Phrase, ...]
    looks: tuple[str, ...] = ()


def terms(text: str) -> list[Term]:
    """Those of a text without quotes, each as soon as it is typed."""
    found = []
    for number, piece in enumerate(RUNS.split(normalize("NFC", text))):
        if number % 2:
            found.append(_of_run(fold(piece)))
        else:
            found += [term for name in NAMES.findall(piece) if (term := _of_name(name))]
    return found


def quoted(text: str, *, is_open: bool = False) -> Term | None:
    """The words of a text one after another; the last one is half typed where the quote is open."""
    found = [word for piece in pieces(text) for word in piece.words]
    if not found:
        return None
    is_prefix = bool(RUNS.match(found[-1])) or (is_open and len(found[-1]) > 1)
    looks = " ".join(fold(normalize("NFC", text)).split())
    return Term((Phrase(tuple(found), is_prefix),), (looks,))


def mark(name: str) -> str:
    """What an entry is marked with beside its words, none of which begins so."""
    return f"_{name}"


def name_marks(kind: str, name: str) -> list[str]:
    """Those by which a name of this kind is found from each of its parts on."""
    parts = [part for one in NAMES.findall(normalize("NFC", name)) for part in parts_of(one)]
    return [mark(f"{kind}_{''.join(parts[at:])}")[:LONGEST] for at in range(len(parts[:PARTS]))]


def _of_run(run: str) -> Term:
    stems = [run]
    ending = next((one for one in PARTICLES if run.endswith(one)), "")
    if ending and len(run) - len(ending) >= LEAST_STEM:
        stems.append(run.removesuffix(ending))
    return Term(tuple(map(_in_run, stems)), tuple(stems))


def _in_run(run: str) -> Phrase:
    found = (word for piece in pieces_of_run(run) for word in piece.words)
    return Phrase(tuple(found), is_prefix=len(run) == 1)


def _of_name(name: str) -> Term | None:
    parts = [part[:LONGEST] for part in parts_of(name)]
    if not parts:
        return None
    whole = "".join(parts)[:LONGEST]
    others = variants_of(name) if len(parts) == 1 else []
    options = [_beginning((one,)) for one in (whole, *others)]
    if len(parts) > 1:
        options.append(_beginning(tuple(parts)))
    return Term(tuple(options), (whole, *others, " ".join(parts)))


def _beginning(some: tuple[str, ...]) -> Phrase:
    return Phrase(some, is_prefix=len(some[-1]) > 1)
