"""Parses primary keys from requests, which may hold anything."""

MAX_LENGTH = 18  # digits: any such number fits into a database's integers


def parse_pk(sent: str) -> int:
    """Return the key, or 0, which no row has, if the text can't be one.

    The length is limited because `int` raises an error for thousands of digits.
    """
    return int(sent) if sent.isascii() and sent.isdecimal() and len(sent) <= MAX_LENGTH else 0
