"""Headings and tables of documents, as the viewer shows them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.documents.formats.output import markdown
from chatapp.documents.formats.output.pages import clean_text
from chatapp.files.blocks import (
    MAX_CELL_LENGTH,
    MAX_COLUMNS,
    MAX_ROWS,
    Heading,
    Table,
    Text,
    csv_table,
    split_blocks,
    whole_blocks_length,
)

REPORT = """# Report

Plain *text* with # and | in it.

## Findings ##1

| Name | a\\|b |
| --- | --- |
| x |  |

- first"""


def parse_table(text: str) -> Table:
    [table] = split_blocks(text)
    assert isinstance(table, Table)
    return table


def test_headings_and_tables_are_found_and_all_else_is_text() -> None:
    assert split_blocks(REPORT) == [
        Heading(1, "Report"),
        Text("Plain *text* with # and | in it."),
        Heading(2, "Findings ##1"),
        Table(["Name", "a|b"], [["x", ""]]),
        Text("- first"),
    ]


@pytest.mark.parametrize(
    "text",
    ["#no", "####### seven", "# ", " # indented", "| a | b |", "| a |\nb", "```\n# code\n```", "|"],
)
def test_what_only_looks_like_a_heading_or_a_table_is_text(text: str) -> None:
    assert split_blocks(text) == [Text(text)]


CELLS = st.text(st.characters(codec="utf-8"), max_size=9) | st.text("|\\ \n#-:`a", max_size=9)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=4))
def test_any_cell_of_a_sheet_comes_back(rows: list[list[str]]) -> None:
    """The reader of spreadsheets writes them, and leaves out what is empty."""
    rows = [["a", "b"], *([f"x{cell}" for cell in row] for row in rows)]
    table = parse_table(clean_text(markdown.table(rows)))
    expected = [[clean_text(" ".join(cell.split())).strip() for cell in row] for row in rows]
    assert [table.head, *table.rows] == expected


@pytest.mark.parametrize(
    ("rows", "columns", "cell", "left_out"),
    [
        (MAX_ROWS, MAX_COLUMNS, "x" * MAX_CELL_LENGTH, ""),
        (1234, 2, "x", f"Only {MAX_ROWS} of 1,234 rows are shown. The model gets all of it."),
        (1, 45, "x", f"Only {MAX_COLUMNS} of 45 columns are shown. The model gets all of it."),
        (1, 2, "x" * 2_000_000, "Of long cells only the start is shown. The model gets all of it."),
    ],
)
def test_a_large_table_is_cut_and_says_so(
    rows: int, columns: int, cell: str, left_out: str
) -> None:
    values = [["head"] * columns, *[[cell] * columns] * rows]
    as_csv = io.StringIO()
    csv.writer(as_csv).writerows(values)
    tables = [parse_table(markdown.table(values))]
    if len(cell) < csv.field_size_limit():
        tables.append(csv_table(as_csv.getvalue()) or Table([], []))
    for table in tables:
        assert table.left_out == left_out
        assert len(table.rows) == min(rows, MAX_ROWS)
        assert {len(row) for row in table.rows} == {min(columns, MAX_COLUMNS)}
        assert max(len(cell) for row in table.rows for cell in row) <= MAX_CELL_LENGTH


def test_rows_have_equally_many_cells() -> None:
    ragged = csv_table("a;b\n1\n\n1;2;3\n")
    assert ragged == Table(["a", "b", ""], [["1", "", ""], ["1", "2", "3"]])


@pytest.mark.parametrize("text", ["", "one\ntwo", '"', 'a,b\n"' + "x" * 200_000])
def test_a_csv_file_that_is_no_table_stays_text(text: str) -> None:
    assert csv_table(text) is None


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("one\n\ntwo", "one\n"),
        ("one", ""),
        ("one\n\n```\n# a\n\n# b\n", "one\n\n"),
        ("```\na\n```\n\ntwo\n\nthree", "```\na\n```\n\ntwo\n"),
        ("```\na\n\nb", ""),
    ],
)
def test_a_piece_of_a_long_text_ends_before_a_block(text: str, whole: str) -> None:
    assert text[: whole_blocks_length(text)] == whole
