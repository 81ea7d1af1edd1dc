r"""Finds formulas in Markdown, takes them out before cmark sees them, and puts them back as MathML.

`$…$` and `\(…\)` are inline; `$$…$$`, `\[…\]` and `\begin{align}…\end{align}` are display formulas.
Dollars follow Pandoc's rule, so that `$5 and $10` stays prose, with two exceptions: Chinese,
Japanese and Korean put no spaces around a formula, and text between two prices is prose
(`$20 to 15$`). Formulas inside code are put back as their source.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from urllib.parse import quote

from . import budgets
from .blocks import ENVIRONMENT
from .characters import CJK, FORMULA_END, FORMULA_START, UNKNOWN, escape
from .tex import to_mathml
from .unsupported import Unsupported

_MAX_LENGTH = 2000  # characters of one formula
_MAX_HELD_LENGTH = 100  # characters held back after a dollar that may not begin a formula
_MAX_OPENINGS = 2000  # of formulas and code in one block

_WORD = rf"[^\W{CJK}]"  # a letter or digit of a script with spaces between words
_OPENING = re.compile(
    r"`+|\]\([^\s()<>]*\)|https?://[^\s<>$`]+|\$\$"
    rf"|(?<!{_WORD})(?<!\$)\$(?!\$)|\\\[|\\\(|{ENVIRONMENT}|\\[\s\S]"
)
_WORDS = re.compile(r"(?:^|\s)[^\W\d_]{2,}(?:\s|$)")
_OF_TEX = re.compile(r"[\\^_{}=<>+*|]")
_CLOSING = {
    "$$": re.compile(r"\$\$"),
    "$": re.compile(rf"(?<![\s\\$])\$(?!{_WORD}|\$)"),
    "\\[": re.compile(r"\\\]"),
    "\\(": re.compile(r"\\\)"),
}
_MASK = re.compile(rf"{FORMULA_START}([0-9]{{1,4}}){FORMULA_END}")
_QUOTED_MASK = re.compile(rf"{quote(FORMULA_START)}([0-9]{{1,4}}){quote(FORMULA_END)}")
_ADDRESS_OR_CODE = re.compile(
    r'(?P<before><a href="|<code\b[^>]*>)(?P<text>(?<=<a href=")[^"]*|.*?(?=</code>))', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class MaskedText:
    """Markdown with masks in place of its formulas, the formulas, and where an open one begins."""

    text: str
    formulas: list[str]
    open_at: int | None = None


def mask(source: str) -> MaskedText:
    """Take the formulas out. `open_at` is where in the new text an unfinished one begins."""
    if "$" not in source and "\\" not in source:
        return MaskedText(source, [])
    return _Masking(source).run()


class _Masking:
    """One walk over a text, from opening to opening."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._parts: list[str] = []
        self._formulas: list[str] = []
        self._copied = 0  # the source up to here is in the parts
        self._seen: dict[str, tuple[int, re.Match[str] | None]] = {}
        self._code_ends: dict[str, int] = {}  # by run of backticks: from where it is never closed

    def run(self) -> MaskedText:
        at, open_at = 0, None
        for _ in range(_MAX_OPENINGS):
            if (match := _OPENING.search(self._source, at)) is None:
                break
            opening, at = match[0], match.end()
            if opening[0] == "`":
                at, unfinished = self._after_code(opening, at)
                if unfinished and open_at is None:
                    open_at = -1  # the rest may be code, where nothing is a formula
            elif opening in _CLOSING or opening.startswith("\\begin"):
                end = self._end_of_formula(opening, at)
                if end is not None:
                    self._take_out(match.start(), end)
                    at = end
                elif open_at is None and self._may_be_open(opening, at):
                    open_at = sum(map(len, self._parts)) + match.start() - self._copied
        self._parts.append(self._source[self._copied :])
        return MaskedText("".join(self._parts), self._formulas, None if open_at == -1 else open_at)

    def _after_code(self, run: str, at: int) -> tuple[int, bool]:
        if self._code_ends.get(run, len(self._source)) <= at:
            return at, True
        closing = re.compile(f"(?<!`){run}(?!`)").search(self._source, at)
        if closing:
            return closing.end(), False
        self._code_ends[run] = at
        return at, True

    def _end_of_formula(self, opening: str, at: int) -> int | None:
        if opening == "$" and self._source[at : at + 1].isspace():
            return None
        closing = self._find_closing(opening, at)
        if closing is None or not self._source[at : closing.start()].strip():
            return None
        between = "\n" if opening == "$" else "\n\n"
        inside = self._source[at : closing.start()]
        if between in inside or (opening == "$" and _is_prose(inside)):
            return None
        return closing.end()

    def _find_closing(self, opening: str, at: int) -> re.Match[str] | None:
        """Return the next closing mark within reach, without searching the same text twice."""
        seen, match = self._seen.get(opening, (at, None))
        if match is None or match.start() < at:
            end = at + _MAX_LENGTH
            match = _get_closing_pattern(opening).search(self._source, max(at, seen - 1), end)
            self._seen[opening] = (match.start() if match else end, match)
        return match if match and match.end() <= at + _MAX_LENGTH else None

    def _take_out(self, start: int, end: int) -> None:
        self._parts.append(self._source[self._copied : start])
        self._parts.append(f"{FORMULA_START}{len(self._formulas)}{FORMULA_END}")
        self._formulas.append(self._source[start:end])
        self._copied = end

    def _may_be_open(self, opening: str, at: int) -> bool:
        ahead = self._source[at : at + _MAX_LENGTH + 1]
        if opening == "$":
            follows = ahead[:1]
            return not (
                follows.isspace()
                or follows.isdigit()
                or len(ahead) > _MAX_HELD_LENGTH
                or "\n" in ahead
            )
        return len(ahead) <= _MAX_LENGTH and "\n\n" not in ahead


class Formulas:
    """Puts the formulas of a text back into its HTML.

    Each is put back once: a second mask was written as entities in the text and is not ours.
    """

    def __init__(self, formulas: list[str], as_html: Callable[[str], str]) -> None:
        self._as_html = as_html
        self._all = formulas
        self._left = dict(enumerate(formulas))

    def into_code(self, html: str) -> str:
        """Put formulas back into code (as source) and into URLs (percent-encoded).

        Takes cmark's HTML, which must be cleaned afterwards.
        """
        return _ADDRESS_OR_CODE.sub(self._restore_source, html) if self._all else html

    def into_text(self, html: str) -> str:
        """Put the other formulas, rendered by `as_html`, into cleaned HTML.

        No allowed attribute can contain a mask, so the remaining masks are in text.
        """
        return _MASK.sub(self._render_formula, html) if self._all else html

    def _restore_source(self, match: re.Match[str]) -> str:
        if match["before"] == '<a href="':
            return match["before"] + _QUOTED_MASK.sub(self._quote_formula, match["text"])
        return match["before"] + _MASK.sub(self._escape_formula, match["text"])

    def _quote_formula(self, mask: re.Match[str]) -> str:
        number = int(mask[1])
        return quote(self._all[number]) if number < len(self._all) else ""

    def _escape_formula(self, mask: re.Match[str]) -> str:
        return escape(self._left.pop(int(mask[1]), UNKNOWN))

    def _render_formula(self, mask: re.Match[str]) -> str:
        formula = self._left.pop(int(mask[1]), "")
        return self._as_html(formula) if formula else UNKNOWN


def _get_closing_pattern(opening: str) -> re.Pattern[str]:
    if opening in _CLOSING:
        return _CLOSING[opening]
    return re.compile(re.escape(opening.replace("begin", "end")))


def _is_prose(inside: str) -> bool:
    """Return whether the text between two dollars is an amount followed by words."""
    if not inside[0].isdigit() or _OF_TEX.search(inside):
        return False
    return _WORDS.search(inside) is not None


def as_source(formula: str) -> str:
    """Return the source of the formula as code."""
    return f"<code>{escape(formula)}</code>"


def find_cheap(formulas: list[str]) -> frozenset[str]:
    """Return the formulas that are rendered immediately: the first few short ones."""
    short = (formula for formula in formulas if len(formula) <= budgets.MAX_FORMULA_AT_ONCE)
    return frozenset(islice(short, budgets.FORMULAS_AT_ONCE))


@lru_cache(maxsize=512)
def mathml(formula: str) -> str:
    """Return the formula as MathML, or as its source if it is not supported."""
    display = formula.startswith(("$$", "\\[", "\\begin"))
    try:
        return to_mathml(_inside(formula).strip(), display=display)
    except Unsupported:
        return as_source(formula)


def _inside(formula: str) -> str:
    if formula.startswith("\\begin"):
        return formula
    width = 1 if formula[0] == "$" != formula[1] else 2
    return formula[width:-width]
