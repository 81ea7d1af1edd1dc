"""Write untrusted text and amounts of money into CSV files that spreadsheets open."""

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
