"""A sheet that was read, and how it is written as Markdown.

Rows and columns without cells cost nothing: they are left out of the table, and named before it.
Cells that are far apart are written one by one with their addresses.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chatapp.documents import refusals
from chatapp.documents.formats.output import markdown
from chatapp.documents.results import Limits

from .addresses import MAX_COLUMNS, Area, find_gaps, format_address, format_columns, format_rows

SEPARATOR_LENGTH = 3  # " | " beside each cell
FAR_ROWS, FAR_COLUMNS = 100, 30  # between cells that are far apart
MAX_SPARSE_AREA = 1_000  # cells of a table that may be almost empty
SPARSE = 10  # places of a table for each cell
HIDDEN = "(hidden)"
HIDDEN_ROW, HIDDEN_COLUMN = "(hidden row)", "(hidden column)"


class Budget:
    """The cells and characters that a file may still have."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._cells = limits.cells
        self._characters = limits.characters

    def spend_cells(self, text: str, times: int = 1) -> None:
        """Count cells with this text. Raises `Unreadable` beyond the limits."""
        self._cells -= times
        if self._cells < 0:
            raise refusals.too_many_cells(self._limits.cells)
        self.spend_characters(times * (len(text) + SEPARATOR_LENGTH))

    def spend_characters(self, count: int) -> None:
        self._characters -= count
        if self._characters < 0:
            raise refusals.too_many_characters(self._limits.characters)


@dataclass
class Sheet:
    name: str
    is_hidden: bool = False
    rows: dict[int, dict[int, str]] = field(default_factory=dict)  # texts by row and column
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: bytearray = field(default_factory=lambda: bytearray(MAX_COLUMNS))  # flags
    merged: list[Area] = field(default_factory=list)
    above: list[str] = field(default_factory=list)  # blocks before the cells, such as the header
    below: list[str] = field(default_factory=list)  # blocks after them, such as comments

    def hide_columns(self, first: int, last: int) -> None:
        first, last = max(first, 0), min(last, MAX_COLUMNS - 1)
        if first <= last:
            self.hidden_columns[first : last + 1] = b"\1" * (last + 1 - first)

    def list_cells(self, area: Area) -> Iterator[tuple[int, int]]:
        """Yield the rows and columns of the cells in an area that have a text."""
        is_row = area.first_row == area.last_row
        for row in [area.first_row] if is_row else list(self.rows):
            if area.first_row <= row <= area.last_row:
                for column in list(self.rows.get(row, {})):
                    if area.first_column <= column <= area.last_column:
                        yield row, column

    @property
    def has_text(self) -> bool:
        return bool(self.rows or self.above or self.below)


def write_sheet(sheet: Sheet, budget: Budget) -> str:
    """Return the sheet as Markdown, with its name as the heading."""
    title = markdown.heading(f"{sheet.name} {HIDDEN}" if sheet.is_hidden else sheet.name, 1)
    blocks = [title, *sheet.above]
    if sheet.rows:
        columns = sorted(set().union(*sheet.rows.values()))
        _fill_merged(sheet, columns, budget)
        rows = sorted(sheet.rows)
        if _is_scattered(sheet, rows, columns):
            blocks.append("\n".join(_write_cells(sheet, rows)))
        else:
            blocks += [_name_gaps(rows, columns), _write_table(sheet, rows, columns)]
    return "\n\n".join(block for block in [*blocks, *sheet.below] if block)


def _fill_merged(sheet: Sheet, columns: Sequence[int], budget: Budget) -> None:
    """Repeat the value of merged cells in the rows and columns that they cover.

    A cell as wide as the whole table is a title and is not repeated beside itself. Long texts are
    not repeated.
    """
    rows = sorted(sheet.rows)
    for area in sheet.merged:
        text = sheet.rows.get(area.first_row, {}).get(area.first_column)
        if not text or len(text) > markdown.MAX_REPEATED_LENGTH:
            continue
        covered = columns[
            bisect_left(columns, area.first_column) : bisect_right(columns, area.last_column)
        ]
        for row in rows[bisect_left(rows, area.first_row) : bisect_right(rows, area.last_row)]:
            for column in covered[:1] if len(covered) == len(columns) else covered:
                if (row, column) != (area.first_row, area.first_column):
                    budget.spend_cells(text)
                    _cover(sheet.rows[row], column, text)


def _cover(row: dict[int, str], column: int, text: str) -> None:
    """Write the value of a merged cell into a place that it covers."""
    behind = row.get(column, text)
    if behind == text:
        row[column] = text
    elif not behind.endswith(HIDDEN):
        row[column] = f"{behind} {HIDDEN}"


def _is_scattered(sheet: Sheet, rows: Sequence[int], columns: Sequence[int]) -> bool:
    """Return whether the cells are too far apart to be a table."""
    count = sum(map(len, sheet.rows.values()))
    area = len(rows) * len(columns)
    if area > MAX_SPARSE_AREA and area > SPARSE * count:
        return True
    is_far = any(last - first >= FAR_ROWS for first, last in find_gaps(rows)) or any(
        last - first >= FAR_COLUMNS for first, last in find_gaps(columns)
    )
    return is_far and area >= 2 * count


def _write_cells(sheet: Sheet, rows: Sequence[int]) -> Iterator[str]:
    for row in rows:
        for column, text in sorted(sheet.rows[row].items()):
            marks = [HIDDEN_ROW] if row in sheet.hidden_rows else []
            marks += [HIDDEN_COLUMN] if sheet.hidden_columns[column] else []
            yield " ".join([f"{format_address(row, column)}:", *text.split(), *marks])


def _name_gaps(rows: Sequence[int], columns: Sequence[int]) -> str:
    """Name the empty rows and columns that are left out, so that places can still be told."""
    names = [
        _name_each("row", [format_rows(gap) for gap in find_gaps(rows)]),
        _name_each("column", [format_columns(gap) for gap in find_gaps(columns)]),
    ]
    summary = "; ".join(name for name in names if name)
    return f"[Empty and left out: {summary}]" if summary else ""


def _name_each(what: str, gaps: Sequence[str]) -> str:
    if not gaps:
        return ""
    is_one = len(gaps) == 1 and " to " not in gaps[0]
    return f"{what if is_one else what + 's'} {', '.join(gaps)}"


def _write_table(sheet: Sheet, rows: Sequence[int], columns: Sequence[int]) -> str:
    table = [[sheet.rows[row].get(column, "") for column in columns] for row in rows]
    for i, column in enumerate(columns):
        if sheet.hidden_columns[column]:
            table[0][i] = f"{table[0][i]} {HIDDEN}"
    if not sheet.hidden_rows.isdisjoint(rows):
        for row, cells in zip(rows, table, strict=True):
            cells.append(HIDDEN_ROW if row in sheet.hidden_rows else "")
    return markdown.table(table)
