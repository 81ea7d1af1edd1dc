"""The result of a check, as a value.

Texts from outside are cleaned here (no key, no control characters), but must still be escaped in
HTML.
"""

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from chatapp.checks.results import CheckResult, Status, printable
from chatapp.upstream.wire.errors import MAX_MESSAGE_LENGTH, ErrorKind, clean

_NAMES_WIDTH = 14
# Warnings and failures are called problems, but only `Report.problems` keep the app from working.
_WORDS = {Status.OK: "good", Status.NOTE: "note"}
_PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a check, in the order of the questions.

    `problems` say why the upstream can't serve the app, and what to do.
    """

    results: tuple[CheckResult, ...]
    problems: tuple[CheckResult, ...] = ()
    failed_with: ErrorKind | None = None  # the error that is one of the problems, if any

    @property
    def can_serve(self) -> bool:
        return not self.problems

    @property
    def why_not(self) -> str:
        """The problems as sentences."""
        return " ".join(map(sentences, self.problems))

    @property
    def table(self) -> list[tuple[str, str, str, str]]:
        """A row per result: its name, what was found, the status in a word, the advice."""
        return list(map(build_row, self.results))

    def as_text(self, width: int = 0) -> str:
        """Return the table for a terminal, `width` columns wide (0: the terminal's width)."""
        width = max(60, min(width or shutil.get_terminal_size().columns, 130))
        wide = (width - _NAMES_WIDTH - 4) // 2
        widths = (_NAMES_WIDTH, wide, wide)
        table = [("What", "Found", "Verdict"), tuple("─" * width for width in widths)]
        for what, finding, word, remedy in self.table:
            table.append((what, finding, f"{word}: {remedy}" if remedy else word))
        return "\n".join(line for cells in table for line in _lines(cells, widths)) + "\n"


def build_row(result: CheckResult) -> tuple[str, str, str, str]:
    """Return the row of a result in `Report.table`."""
    return result.what, result.finding, _WORDS.get(result.status, _PROBLEM), result.remedy


def sentences(problem: CheckResult) -> str:
    """Join a problem's parts: "It rejects the key. Set the right one. It said: 401 wrong key"."""
    quote = f"It said: {problem.quote}" if problem.quote else ""
    return " ".join(filter(None, (f"{problem.finding}.", problem.remedy, quote)))


def visible_result(result: CheckResult, secret: str) -> CheckResult:
    return replace(
        result,
        finding=visible(result.finding, secret),
        remedy=visible(result.remedy, secret),
        quote=visible(result.quote, secret),
    )


def visible(text: str, secret: str) -> str:
    """Remove the key and any control characters."""
    return printable(clean(text, MAX_MESSAGE_LENGTH, secret))


def _lines(cells: tuple[str, ...], widths: tuple[int, ...]) -> Iterator[str]:
    wrapped = [
        textwrap.wrap(text, width, break_on_hyphens=False)
        for text, width in zip(cells, widths, strict=True)
    ]
    for parts in zip_longest(*wrapped, fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield "  ".join(padded).rstrip()
