"""Puts the text of a page into reading order, if it is drawn row by row across columns.

Takes pieces of lines, in the order in which the page draws them, and returns lines. It is careful:
rows of a table, lists and addresses side by side stay rows. Only lines that fill their column, that
are sentences and that go on in the next line are taken for columns. Notes that stand sideways in
the margin come last. Pure: knows no PDF.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from .boxes import Box

MAX_PIECES = 5_000
MAX_COLUMNS = 8
MIN_ROWS = 4  # that go across both columns
MIN_ROWS_OF_BLOCK = 2
MIN_SHARE_OF_FULL_ROWS = 0.5
MIN_GAP = 0.75  # between columns, in heights of a line
MAX_LEADING = 2.0  # between two lines of a block, in heights of a line
MIN_SHARE_OF_LETTERS = 0.7  # of prose
MIN_WORDS_PER_LINE, MIN_LETTERS_PER_LINE = 3, 12
MIN_WIDTH = 5.0  # of a column, in heights of a line
MIN_FILL, MIN_SHARE_OF_FULL_LINES = 0.6, 0.6
MIN_SHARE_OF_CONTINUED_LINES = 0.25
HYPHEN = "\ufffe"  # a hyphen at the end of a line, where PDFium joins words
CUT_WORD = re.compile(r"[^\W\d_][-\u00ad\u2010\ufffe]$")


class Piece(NamedTuple):
    """Some text on one line without wide gaps, and its box."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    is_sideways: bool = False


B = TypeVar("B", Box, Piece)


def lines_in_order(pieces: Sequence[Piece]) -> list[str] | None:
    """Return the lines of a page in reading order, or None if they are drawn in it."""
    body = [piece for piece in pieces if not piece.is_sideways]
    if not body or len(pieces) > MAX_PIECES:
        return None
    left, right = min(piece.left for piece in body), max(piece.right for piece in body)
    text: list[Piece] = []
    notes: list[Piece] = []
    for piece in pieces:
        is_beside = piece.right <= left or piece.left >= right  # not such as a label in a table
        (notes if piece.is_sideways and is_beside else text).append(piece)
    ordered = [*_by_columns(text, MAX_COLUMNS), *notes]
    return None if ordered == list(pieces) else list(_lines(ordered))


def may_be_columns(boxes: Sequence[Box]) -> bool:
    """Return whether it is worth to look at the text in these boxes, which can be of words."""
    gutter = _find_gutter(boxes)
    if gutter is None:
        return False
    return sum(_rows_across(block, gutter) for block in _blocks(boxes, gutter)) >= MIN_ROWS


def _find_gutter(boxes: Sequence[B]) -> float | None:
    """Return where most rows have a wide gap, or None if too few do."""
    edges: list[tuple[float, int]] = []
    min_gap = MIN_GAP * _usual_height(boxes)
    for box, other in pairwise(boxes):
        gap = other.left - box.right
        if gap > min_gap and _are_on_a_row(box, other):
            edges += (box.right, 1), (other.left, -1)
    if len(edges) < 2 * MIN_ROWS:
        return None
    edges.sort()
    rows = most_rows = 0
    gutter = 0.0
    for (edge, change), (next_edge, _) in pairwise(edges):
        rows += change
        if rows > most_rows and next_edge > edge:
            most_rows, gutter = rows, (edge + next_edge) / 2
    return gutter if most_rows >= MIN_ROWS else None


def _by_columns(pieces: list[Piece], most_columns: int) -> list[Piece]:
    gutter = _find_gutter(pieces) if most_columns > 1 else None
    if gutter is None:
        return pieces
    blocks = [(block, _rows_of_columns(block, gutter)) for block in _blocks(pieces, gutter)]
    if sum(rows for _, rows in blocks) < MIN_ROWS:
        return pieces
    ordered: list[Piece] = []
    for block, rows in blocks:
        if rows:
            for column in _split_columns(block, gutter):
                ordered += _by_columns(column, most_columns - 1)
        else:
            ordered += block
    return ordered


def _blocks(pieces: Iterable[B], gutter: float) -> Iterator[list[B]]:
    """Split at pieces that cross the gutter, such as titles, and at wide gaps between rows."""
    block: list[B] = []
    for piece in pieces:
        if block and (
            _crosses(piece, gutter) or _crosses(block[-1], gutter) or _is_apart(piece, block)
        ):
            yield block
            block = []
        block.append(piece)
    if block:
        yield block


def _crosses(piece: B, gutter: float) -> bool:
    return piece.left < gutter < piece.right


def _is_apart(piece: B, block: Sequence[B]) -> bool:
    leading = MAX_LEADING * _height(piece)
    return all(  # of the last rows in several columns
        last.bottom - piece.top > leading or piece.bottom - last.top > leading
        for last in reversed(block[-4:])
    )


def _rows_of_columns(block: Sequence[Piece], gutter: float) -> int:
    """Return how many rows go on to the right of the gutter, or 0 if these are no columns."""
    rows = _rows_across(block, gutter)
    is_prose = rows and all(
        _is_prose(list(_rows(column))) for column in _split_columns(block, gutter)
    )
    return rows if is_prose else 0


def _rows_across(block: Sequence[B], gutter: float) -> int:
    """Return how many rows go on to the right of the gutter, or 0 if too few do.

    Where a row of columns ends, the next one begins: few have nothing on one side, as rows of a
    table have whose cells are of several lines.
    """
    steps = list(pairwise(block))
    rows = sum(
        piece.right <= gutter <= other.left and _are_on_a_row(piece, other)
        for piece, other in steps
    )
    switches = sum((piece.right <= gutter) != (other.right <= gutter) for piece, other in steps)
    if rows < MIN_ROWS_OF_BLOCK:
        return 0
    columns = [list(_rows(column)) for column in _split_columns(block, gutter)]
    is_full = switches >= 2 * MIN_SHARE_OF_FULL_ROWS * max(map(len, columns))
    return rows if is_full and all(map(_fill, columns)) else 0


def _split_columns(block: Sequence[B], gutter: float) -> tuple[list[B], list[B]]:
    left = [piece for piece in block if piece.right <= gutter]
    return left, [piece for piece in block if piece.right > gutter]


def _rows(pieces: Iterable[B]) -> Iterator[list[B]]:
    row: list[B] = []
    for piece in pieces:
        if row and not (_are_on_a_row(row[-1], piece) and piece.left >= row[-1].left):
            yield row
            row = []
        row.append(piece)
    if row:
        yield row


def _is_prose(rows: Sequence[Sequence[Piece]]) -> bool:
    """Return whether the lines are sentences that go on in the next line."""
    lines = [" ".join(piece.text for piece in row) for row in rows]
    text = "".join("".join(lines).split())
    letters = [character for character in text if character.isalpha()]
    if len(letters) < max(MIN_SHARE_OF_LETTERS * len(text), MIN_LETTERS_PER_LINE * len(lines)):
        return False
    if not any(letter.lower() != letter.upper() for letter in letters):  # a script without cases
        return True
    words = sum(len(line.split()) for line in lines)
    continued = sum(
        line[:1].islower() or bool(CUT_WORD.search(last)) for last, line in pairwise(lines)
    )
    return words >= MIN_WORDS_PER_LINE * len(lines) and continued >= (
        MIN_SHARE_OF_CONTINUED_LINES * (len(lines) - 1)
    )


def _fill(rows: Sequence[Sequence[B]]) -> bool:
    """Return whether most lines are about as long as their column is wide, and long at all."""
    left, right = min(row[0].left for row in rows), max(row[-1].right for row in rows)
    if right - left < MIN_WIDTH * _usual_height([piece for row in rows for piece in row]):
        return False
    full = sum(row[-1].right - left >= MIN_FILL * (right - left) for row in rows)
    return full >= MIN_SHARE_OF_FULL_LINES * len(rows)


def _lines(pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield a line for each row. A word that a hyphen cuts is whole."""
    line = ""
    for row in _rows(pieces):
        text = " ".join(piece.text for piece in row)
        if CUT_WORD.search(line) and text[:1].islower():
            line = line[:-1] + text
            continue
        if line:
            yield line.replace(HYPHEN, "-")
        line = text
    yield line.replace(HYPHEN, "-")


def _usual_height(boxes: Sequence[B]) -> float:
    """Return the height of most lines. Boxes of words without high letters are lower."""
    heights = sorted(map(_height, boxes))
    return heights[len(heights) * 3 // 4] if heights else 0.0


def _height(box: B) -> float:
    return box.top - box.bottom


def _are_on_a_row(box: B, other: B) -> bool:
    overlap = min(box.top, other.top) - max(box.bottom, other.bottom)
    return overlap > min(_height(box), _height(other)) / 2
