"""Keys of rows, as pages send them back: text that anybody may have written."""

LONGEST = 18  # digits: all of these are within what a database counts with


def key_of(sent: str) -> int:
    """0, which no row has, where it can be none: Python itself fails at thousands of digits."""
    return int(sent) if sent.isascii() and sent.isdecimal() and len(sent) <= LONGEST else 0
