"""Formulas as people read them. They are never evaluated."""

import re

from .addresses import MAX_COLUMNS, MAX_ROWS, column_letters, column_number

NOT_CALCULATED = "(not calculated)"
MAX_LENGTH = 8_192  # of a formula in Excel
# What Excel writes before the names of functions that are newer than the file format.
NEWER_FUNCTION = re.compile(r"_xl(?:fn|ws|pm|udf)\.", re.IGNORECASE)
# Texts and quoted names of sheets, which stay; cells; columns and rows.
REFERENCES = re.compile(
    r"""(?P<kept>"(?:[^"]|"")*"|'(?:[^']|'')*'|\[[^\]]*\])
    |(?<![\w.$])(?P<cell>\$?[A-Z]{1,3}\$?[1-9][0-9]{0,6})(?![\w.(!])
    |(?<![\w.$])(?P<columns>\$?[A-Z]{1,3}:\$?[A-Z]{1,3})(?![\w.(!])
    |(?<![\w.$])(?P<rows>\$?[1-9][0-9]{0,6}:\$?[1-9][0-9]{0,6})(?![\w.(!])""",
    re.VERBOSE | re.IGNORECASE,
)
PARTS = re.compile(r"(\$?)([A-Za-z]*)(\$?)([0-9]*)")
# References of OpenDocument, such as [.C2], [.A1:.B3] and [$Rates.B1].
BRACKETED = re.compile(r"""("(?:[^"]|"")*")|\[([^\]]*)\]""")
PREFIX = re.compile(r"(?:of|oooc|msoxl|koffice|kspr):(?==)", re.IGNORECASE)


def write_formula(formula: str, is_array: bool = False) -> str:
    """Return a formula that has no value, marked as such."""
    plain_formula = "=" + NEWER_FUNCTION.sub("", formula.strip()).removeprefix("=")
    return (
        f"{{{plain_formula}}} {NOT_CALCULATED}" if is_array else f"{plain_formula} {NOT_CALCULATED}"
    )


def move_formula(formula: str, rows: int, columns: int) -> str:
    """Return the formula for a cell that is so many rows below and columns beside its own."""
    if len(formula) > MAX_LENGTH:
        return formula

    def move(match: re.Match[str]) -> str:
        if match["kept"] is not None:
            return match["kept"]
        return ":".join(_move_reference(part, rows, columns) for part in match[0].split(":"))

    return REFERENCES.sub(move, formula)


def _move_reference(reference: str, rows: int, columns: int) -> str:
    match = PARTS.fullmatch(reference)
    if match is None:
        return reference
    # Of whole rows, such as $1:3, the sign before the number is the first one.
    column_sign, letters, row_sign, digits = match.groups()
    if not letters:
        column_sign, row_sign = "", column_sign or row_sign
    try:
        if letters and not column_sign:
            letters = column_letters((column_number(letters) + columns) % MAX_COLUMNS)
    except ValueError:  # a name that looks like a cell
        return reference
    if digits and not row_sign:
        digits = str((int(digits) - 1 + rows) % MAX_ROWS + 1)
    return f"{column_sign}{letters}{row_sign}{digits}"


def from_opendocument(formula: str) -> str:
    """Return a formula of OpenDocument as people read it."""
    formula = PREFIX.sub("", formula.strip())[:MAX_LENGTH]
    return BRACKETED.sub(lambda match: match[1] or _plain_reference(match[2] or ""), formula)


def _plain_reference(reference: str) -> str:
    return reference.removeprefix(".").replace(":.", ":")
