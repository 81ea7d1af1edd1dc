"""Splits what was read of a document into headings, tables and text, to be shown as such.

The readers of documents write headings and tables as Markdown, and one table for each sheet.
Nothing else is taken as Markdown, so all other characters are shown as the model gets them. What is
shown of a table is bounded, and says what it leaves out.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby, islice

MAX_ROWS = 100  # below the head
MAX_COLUMNS = 30
MAX_CELL_LENGTH = 300
FENCE = re.compile(r"^(?:```[^`\n]*|~~~.*)$", re.MULTILINE)  # before and after code
COLUMN_END = re.compile(r"(?<!\\)\|")
RULE = frozenset("|:- ")  # the characters of the line below a table's head
DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Text:
    text: str
    kind = "text"


@dataclass(frozen=True)
class Heading:
    level: int  # from 1
    text: str
    kind = "heading"


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: str = ""  # sentences
    kind = "table"


@dataclass(frozen=True)
class Figure:
    """A picture of a document, by its number in the document, from 0."""

    position: int
    width: int
    height: int
    kind = "figure"


Block = Text | Heading | Table | Figure
PlacedFigure = tuple[int, Figure]  # with the position in a text that it stands at


def cut_at_figures(
    text: str, placed_figures: Iterable[PlacedFigure]
) -> Iterator[tuple[str, list[Figure]]]:
    """Yield a text in pieces, each with the figures that follow it: no line or table is cut."""
    start = 0
    for end, following in groupby(
        placed_figures, lambda placed_figure: _end_of_block(text, placed_figure[0])
    ):
        yield text[start:end], [figure for _, figure in following]
        start = end
    if start < len(text) or not text:
        yield text[start:], []


def _end_of_block(text: str, position: int) -> int:
    """Return the end of the line at a position, or of the table that it is a row of."""
    while True:
        begin = text.rfind("\n", 0, position) + 1
        end = text.find("\n", position)
        if end < 0:
            return len(text)
        if not (text.startswith("|", begin) and text.startswith("|", end + 1)):
            return end + 1
        position = end + 1


def split_blocks(text: str) -> list[Block]:
    """Return the headings and tables of a document, and the text between them."""
    lines = text.split("\n")
    blocks: list[Block] = []
    plain: list[str] = []
    is_code = False
    position = 0
    while position < len(lines):
        line = lines[position]
        is_code ^= FENCE.match(line) is not None
        block, count = _block_at(lines, position) if not is_code else (None, 1)
        if block is None:
            plain.append(line)
        else:
            blocks += [*_build_text(plain), block]
            plain = []
        position += count
    return [*blocks, *_build_text(plain)]


def whole_blocks_length(text: str) -> int:
    """Return the length of the blocks that a piece of a longer text has as a whole, or 0."""
    end = text.rfind("\n\n") + 1
    fences = [fence.start() for fence in FENCE.finditer(text, 0, end)]
    return fences[-1] if len(fences) % 2 else end


def csv_table(text: str) -> Table | None:
    """Return the table of a CSV file, or None if it is none."""
    first_line = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    try:
        filled_rows = (row for row in rows if row)
        shown_rows = list(islice(filled_rows, MAX_ROWS + 1))
        count = len(shown_rows) + sum(1 for _ in filled_rows)
    except csv.Error:  # such as a field without end
        return None
    width = max(map(len, shown_rows), default=0)
    return _table(shown_rows, count, width) if width > 1 else None


def _block_at(lines: Sequence[str], position: int) -> tuple[Heading | Table | None, int]:
    """Return the heading or table that begins at a line, if any, and how many lines it takes."""
    line = lines[position]
    if line.startswith("#"):
        marks, _, text = line.partition(" ")
        is_heading = len(marks) <= 6 and not marks.strip("#") and text.strip()
        return (Heading(len(marks), text.strip()) if is_heading else None), 1
    if line.startswith("|") and position + 1 < len(lines) and _is_rule(lines[position + 1]):
        end = position + 2
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        return _markdown_table([line, *lines[position + 2 : end]]), end - position
    return None, 1


def _is_rule(line: str) -> bool:
    return line.startswith("|") and "-" in line and RULE.issuperset(line)


def _markdown_table(lines: Sequence[str]) -> Table:
    rows = [_cells(line) for line in lines[: MAX_ROWS + 1]]
    return _table(rows, len(lines), max(map(len, rows)))


def _cells(line: str) -> list[str]:
    cells = COLUMN_END.split(line.strip().removeprefix("|"))
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()  # after the last column's end
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _table(rows: Sequence[Sequence[str]], row_count: int, width: int) -> Table:
    """Return the part of a table that is shown; `rows` are its first rows."""
    is_cut = any(len(cell) > MAX_CELL_LENGTH for row in rows for cell in row[:MAX_COLUMNS])
    columns = min(width, MAX_COLUMNS)
    head, *shown_rows = ([_short(cell) for cell in _pad_row(row, columns)] for row in rows)
    return Table(head, shown_rows, " ".join(_left_out(row_count - 1, width, is_cut)))


def _pad_row(row: Sequence[str], columns: int) -> list[str]:
    return [*row[:columns], *[""] * (columns - len(row))]


def _short(cell: str) -> str:
    return cell if len(cell) <= MAX_CELL_LENGTH else f"{cell[: MAX_CELL_LENGTH - 1]}…"


def _left_out(row_count: int, width: int, is_cut: bool) -> Iterator[str]:
    counts = ((MAX_ROWS, row_count, "rows"), (MAX_COLUMNS, width, "columns"))
    parts = [f"{limit} of {count:,} {unit}" for limit, count, unit in counts if count > limit]
    if parts:
        yield f"Only {' and '.join(parts)} are shown."
    if is_cut:
        yield "Of long cells only the start is shown."
    if parts or is_cut:
        yield "The model gets all of it."


def _build_text(lines: Sequence[str]) -> list[Text]:
    text = "\n".join(lines).strip("\n")
    return [Text(text)] if text.strip() else []
