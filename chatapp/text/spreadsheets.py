"""Write untrusted text and amounts of money into CSV files that spreadsheets open."""

import csv
import io
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def no_formula(text: str) -> str:
    """Return the text so that no spreadsheet evaluates it as a formula.

    See https://owasp.org/www-community/attacks/CSV_Injection.
    """
    return f"'{text}" if text.startswith(FORMULAS) else text


def in_dollars(nano: float | None) -> str:
    """Return nano-dollars as dollars in plain decimal notation, without rounding; "" if None."""
    return "" if nano is None else f"{Decimal(nano).scaleb(-9):f}"


def csv_line(values: Iterable[object]) -> bytes:
    """Return a line of CSV; text that a spreadsheet would take for a formula is quoted."""
    text = io.StringIO()
    csv.writer(text).writerow(map(_cell, values))
    return text.getvalue().encode()


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else no_formula(str(value))
