"""Foreign words in a file for a spreadsheet."""

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def no_formula(text: str) -> str:
    """What a spreadsheet would reckon with is text there
    (https://owasp.org/www-community/attacks/CSV_Injection)."""
    return f"'{text}" if text.startswith(FORMULAS) else text
