"""Readable differences between two texts: by lines, and within lines by words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

MAX_COMPARED = 400  # lines or words; strangers' texts could take `difflib` minutes


class Kind(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True)
class Piece:
    kind: Kind
    text: str


def differences(before: str, after: str) -> list[Piece]:
    """Return the pieces that make `after` out of `before`, in order; none is empty."""
    pieces: list[Piece] = []
    for old, new in _pair_parts(_lines(before), _lines(after)):
        pairs = list(_pair_parts(_words(old), _words(new))) if old and new else [(old, new)]
        pieces += _pieces(pairs if _are_alike(pairs) else [(old, new)])
    return pieces


def _pieces(pairs: Sequence[tuple[str, str]]) -> Iterator[Piece]:
    for old, new in pairs:
        if old == new:
            yield Piece(Kind.SAME, old)
            continue
        if old:
            yield Piece(Kind.REMOVED, old)
        if new:
            yield Piece(Kind.ADDED, new)


def _are_alike(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether at least half of the longer text is the same in both."""
    same = sum(len(old) for old, new in pairs if old == new)
    longer = max(sum(len(old) for old, _ in pairs), sum(len(new) for _, new in pairs))
    return same * 2 >= longer


def _pair_parts(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield stretches of both: equal ones, and what replaces what, where one may be ""."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    if start:
        yield "".join(old[:start]), "".join(new[:start])
    middle = old[start : len(old) - end], new[start : len(new) - end]
    yield from _match_parts(*middle)
    if end:
        yield "".join(old[-end:]), "".join(new[-end:])


def _match_parts(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    if max(len(old), len(new)) > MAX_COMPARED:
        yield "".join(old), "".join(new)
        return
    matcher = SequenceMatcher(None, old, new)
    for _, from_old, to_old, from_new, to_new in matcher.get_opcodes():
        yield "".join(old[from_old:to_old]), "".join(new[from_new:to_new])


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many of the first are equal."""
    pairs = enumerate(zip(old, new, strict=False))
    return next(
        (at for at, (old_part, new_part) in pairs if old_part != new_part), min(len(old), len(new))
    )


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _words(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)*|\w+|\s+|[^\w\s]", text)
