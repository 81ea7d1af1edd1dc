"""Addresses of cells, such as C2, and of areas, such as A6:A8. Rows and columns count from 0."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # of a sheet of Excel and of LibreOffice


@dataclass(frozen=True)
class Area:
    first_row: int
    first_column: int
    last_row: int
    last_column: int


@lru_cache(MAX_COLUMNS)
def column_letters(column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


@lru_cache(MAX_COLUMNS)
def column_number(letters: str) -> int:
    """Return the column with these letters. Raises `ValueError` if there is none."""
    if not (letters.isascii() and letters.isalpha() and len(letters) <= 3):
        raise ValueError(letters)
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    if number > MAX_COLUMNS:
        raise ValueError(letters)
    return number - 1


def parse_address(address: str) -> tuple[int, int]:
    """Return the row and column of a cell. Raises `ValueError` if the sheet has no such cell."""
    digits = address.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    column = column_number(address[: len(address) - len(digits)])
    if not (digits.isascii() and digits.isdecimal() and 0 < len(digits) < 8):
        raise ValueError(address)
    if not 0 < (row := int(digits)) <= MAX_ROWS:
        raise ValueError(address)
    return row - 1, column


def format_address(row: int, column: int) -> str:
    return f"{column_letters(column)}{row + 1}"


def parse_area(text: str) -> Area | None:
    """Return the area of a reference such as A6:A8 or C2, or None if it is none."""
    first, _, last = text.replace("$", "").partition(":")
    try:
        top, left = parse_address(first)
        bottom, right = parse_address(last or first)
    except ValueError:
        return None
    return Area(min(top, bottom), min(left, right), max(top, bottom), max(left, right))


def find_gaps(positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each run of positions that is missing before the last one."""
    for before, position in pairwise([-1, *positions]):
        if position > before + 1:
            yield before + 1, position - 1


def format_rows(gap: tuple[int, int]) -> str:
    first, last = gap[0] + 1, gap[1] + 1
    return f"{first}" if first == last else f"{first} to {last}"


def format_columns(gap: tuple[int, int]) -> str:
    first, last = map(column_letters, gap)
    return first if first == last else f"{first} to {last}"
