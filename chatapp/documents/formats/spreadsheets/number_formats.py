"""Number formats of Excel, such as `#,##0.00 "€"` (ECMA-376, part 1, 18.8.31).

Numbers are shown as Excel shows them in English, but dates and times in ISO 8601, and never as
signs that a column is too narrow. Digits are kept as decimals, since floats would round others.
"""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from .dates import DateFormat, format_date
from .numbers import format_plain, parse_number
from .patterns import NumberPattern, Token

MAX_CODE_LENGTH = 1_000  # Excel allows 255
MAX_TEXT_SECTIONS = 4
TOKENS = re.compile(
    r"""(?P<quoted>"[^"]*"?)|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]
    |(?P<general>General)|(?P<exponent>E[+-](?=[0\#?]))|(?P<noon>AM/PM|A/P|上午/下午)
    |(?P<date>y+|m+|d+|h+|s+|e+|g+|b+)|(?P<digit>[0\#?])|(?P<point>\.)|(?P<comma>,)
    |(?P<percent>%)|(?P<slash>/)|(?P<at>@)|(?P<end>;)|(?P<text>.)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
ELAPSED = re.compile("h+|m+|s+", re.IGNORECASE)
CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[0-9]{1,30}(?:\.[0-9]{1,30})?)")
OPERATORS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


@dataclass(frozen=True)
class Section:
    """A part of a format, for the numbers that meet its condition."""

    tokens: Sequence[Token]
    condition: tuple[str, Decimal] | None

    def accepts(self, number: Decimal) -> bool:
        if self.condition is None:
            return True
        sign, limit = self.condition
        return OPERATORS[sign](number, limit)

    @property
    def has_own_sign(self) -> bool:
        """Whether it is the section for negative numbers, which writes the sign itself."""
        return self.condition == ("<", Decimal(0))


class NumberFormat:
    """Shows numbers and texts as a format code says."""

    def __init__(self, code: str, is_1904: bool = False) -> None:
        self._is_1904 = is_1904
        sections = _parse(code or "General") if len(code) <= MAX_CODE_LENGTH else []
        has_text = len(sections) > 1 and (
            len(sections) >= MAX_TEXT_SECTIONS or _has(sections[-1], "at")
        )
        self._text = sections[-1] if has_text or (sections and _has(sections[0], "at")) else None
        numeric = sections[:-1] if has_text else sections
        self._sections = _with_conditions(numeric[:3])
        self._dates = [_date_format(section.tokens) for section in self._sections]
        self._patterns = [NumberPattern(section.tokens) for section in self._sections]

    def format_number(self, text: str) -> str:
        """Return what is seen of a number. What is no number is returned as it is."""
        number = parse_number(text)
        if number is None:
            return text
        display_text = self._format(number, text)
        if display_text.strip():
            return display_text
        return f"{format_plain(text)} (hidden)" if number else "0"

    def format_text(self, text: str) -> str:
        """Return what is seen of a text."""
        if self._text is None:
            return text
        display_text = "".join(
            text if token.kind in ("at", "general") else token.text
            for token in self._text.tokens
            if token.kind in ("at", "general", "text")
        )
        return display_text if display_text.strip() else f"{text} (hidden)"

    def _format(self, number: Decimal, text: str) -> str:
        for section, date, pattern in zip(self._sections, self._dates, self._patterns, strict=True):
            if not section.accepts(number):
                continue
            if date is not None:
                return format_date(number, date, self._is_1904) or format_plain(text)
            is_signed = number < 0 and not section.has_own_sign and pattern.shows_digits
            sign = "-" if is_signed else ""
            return sign + pattern.format(abs(number))
        return format_plain(text)


def _parse(code: str) -> list[Section]:
    sections: list[Section] = []
    tokens: list[Token] = []
    condition = None
    for match in TOKENS.finditer(code):
        kind = match.lastgroup or "text"
        text = match[kind]
        if kind == "end":
            sections.append(Section(tokens, condition))
            tokens, condition = [], None
        elif kind == "bracket" and (comparison := CONDITION.fullmatch(text)):
            condition = comparison[1], Decimal(comparison[2])
        else:
            tokens.append(_token(kind, text))
    return [*sections, Section(tokens, condition)]


def _token(kind: str, text: str) -> Token:
    match kind:
        case "quoted":
            return Token("text", text.strip('"'))
        case "escaped":
            return Token("text", text)
        case "space":  # as wide as the character
            return Token("text", " " if text != "-" else "")
        case "fill":
            return Token("text", " " if text == " " else "")
        case "bracket" if text.startswith("$"):  # a currency and a language, such as [$€-407]
            return Token("text", text[1:].rpartition("-")[0] if "-" in text else text[1:])
        case "bracket":
            return Token("elapsed", text) if ELAPSED.fullmatch(text) else Token("text", "")
    return Token(kind, text)


def _with_conditions(sections: Sequence[Section]) -> list[Section]:
    """Return the sections with the conditions that they have if none is given."""
    count = len(sections)
    if count < 2:
        return list(sections)
    zero = Decimal(0)
    if any(section.condition for section in sections):
        negative = sections[1]
        if count == 3 and negative.condition is None:
            negative = Section(negative.tokens, ("<", zero))
        return [sections[0], negative, *sections[2:]]
    first = (">", zero) if count == 3 else (">=", zero)
    negative = Section(sections[1].tokens, ("<", zero))
    return [Section(sections[0].tokens, first), negative, *sections[2:]]


def _has(section: Section, kind: str) -> bool:
    return any(token.kind == kind for token in section.tokens)


def _date_format(tokens: Sequence[Token]) -> DateFormat | None:
    """Return what a section shows of a date, or None if it is for other numbers."""
    units = [token for token in tokens if token.kind in ("date", "elapsed", "noon")]
    if not units:
        return None
    decimals = _decimals_of_seconds(tokens)
    if sum(token.kind == "digit" for token in tokens) != decimals:
        return None  # a letter in a format for numbers is text
    letters = [token.text[0].lower() for token in units]
    minutes = {i for i, _ in enumerate(units) if _is_minute(letters, units, i)}
    elapsed = next((token.text[0].lower() for token in units if token.kind == "elapsed"), "")
    return DateFormat(
        has_date=any(
            letter in "ydegb" or (letter == "m" and i not in minutes)
            for i, letter in enumerate(letters)
            if units[i].kind == "date"
        ),
        has_time=bool(minutes) or "h" in letters or "s" in letters,
        has_seconds="s" in letters,
        decimals=decimals,
        elapsed=elapsed,
    )


def _is_minute(letters: Sequence[str], units: Sequence[Token], i: int) -> bool:
    """Return whether an `m` is a minute: it follows an hour or precedes a second."""
    if letters[i] != "m" or len(units[i].text) > 2:
        return False
    follows_hour = i > 0 and letters[i - 1] == "h"
    precedes_second = i + 1 < len(letters) and letters[i + 1] == "s"
    return units[i].kind == "elapsed" or follows_hour or precedes_second


def _decimals_of_seconds(tokens: Sequence[Token]) -> int:
    kinds = [token.kind for token in tokens]
    for i, token in enumerate(tokens):
        if token.text[:1] in ("s", "S") and kinds[i + 1 : i + 2] == ["point"]:
            following_kinds = kinds[i + 2 :]
            return next(
                (n for n, kind in enumerate(following_kinds) if kind != "digit"),
                len(following_kinds),
            )
    return 0


@lru_cache(4_096)
def number_format(code: str, is_1904: bool = False) -> NumberFormat:
    return NumberFormat(code, is_1904)
