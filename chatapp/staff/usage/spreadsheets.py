"""Foreign words and money in a file for a spreadsheet."""

from decimal import Decimal

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def no_formula(text: str) -> str:
    """What a spreadsheet would reckon with is text there
    (https://owasp.org/www-community/attacks/CSV_Injection)."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def in_dollars(nano: float | None) -> str:
    """As a plain decimal, with every digit."""
    return "" if nano is None else f"{Decimal(nano).scaleb(-9):f}"
