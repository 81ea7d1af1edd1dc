"""What a check found, as values: rows for a table, and the sentences that say what stands in the
way. Texts from outside are made visible here (no key, no control characters), but are still to be
escaped where they are shown as HTML."""

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Self

from chatapp.upstream.errors import MAX_MESSAGE_LENGTH, clean

_NAMES_WIDTH = 14


class Verdict(StrEnum):
    GOOD = "good"
    NOTE = "note"  # worth knowing; the app copes
    PROBLEM = "problem"  # worth mending; only `Report.problems` keep the app from working


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was looked at, what was found, and what to do about it, if anything."""

    what: str
    found: str
    verdict: Verdict = Verdict.GOOD
    advice: str = ""

    def made_visible(self, secret: str) -> Self:
        found, advice = visible(self.found, secret), visible(self.advice, secret)
        return type(self)(self.what, found, self.verdict, advice)

    @property
    def judgement(self) -> str:
        return f"{self.verdict}: {self.advice}" if self.advice else self.verdict


@dataclass(frozen=True, slots=True)
class Report:
    """The rows in the order of the questions. `problems` are sentences: why the upstream can't
    serve the app, and what to do.
    """

    rows: tuple[Row, ...]
    problems: tuple[str, ...] = ()

    @property
    def can_serve(self) -> bool:
        return not self.problems

    def as_text(self, width: int = 0) -> str:
        """The table for a terminal, `width` columns wide (0: as wide as the terminal is)."""
        width = max(60, min(width or shutil.get_terminal_size().columns, 130))
        wide = (width - _NAMES_WIDTH - 4) // 2
        widths = (_NAMES_WIDTH, wide, wide)
        table = [("What", "Found", "Verdict"), tuple("─" * width for width in widths)]
        table += [(row.what, row.found, row.judgement) for row in self.rows]
        return "\n".join(line for cells in table for line in _lines(cells, widths)) + "\n"


def visible(text: str, secret: str) -> str:
    """Take out the key and what a terminal would obey."""
    text = clean(text, MAX_MESSAGE_LENGTH, secret)
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def _lines(cells: tuple[str, ...], widths: tuple[int, ...]) -> Iterator[str]:
    wrapped = [
        textwrap.wrap(text, width, break_on_hyphens=False)
        for text, width in zip(cells, widths, strict=True)
    ]
    for parts in zip_longest(*wrapped, fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield "  ".join(padded).rstrip()
