"""Parses primary keys from requests, which may hold anything."""

MAX_LENGTH = 18  # digits: any such number fits into a database's integers


def parse_pk(text: str) -> int:
    """Return the key, or 0, which no row has, if the text can't be one.

    The length is limited because `int` raises an error for thousands of digits.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_LENGTH else 0
