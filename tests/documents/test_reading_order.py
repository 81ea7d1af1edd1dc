"""The order of lines: columns that are drawn row by row, and what only looks like them."""

from collections.abc import Sequence

import pytest

from chatapp.documents.formats.pdf.reading_order import Piece, lines_in_order
from tests.documents.pdf_files import LEFT_COLUMN, RIGHT_COLUMN

LETTER = 5.0


def piece(text: str, x: float, row: float, is_sideways: bool = False) -> Piece:
    top = 700 - 14 * row
    return Piece(text, x, top - 10, x + LETTER * len(text), top, is_sideways)


def rows(*columns: Sequence[str], width: float = 200) -> list[Piece]:
    return [
        piece(text, 60 + width * i, row)
        for row, cells in enumerate(zip(*columns, strict=True))
        for i, text in enumerate(cells)
        if text
    ]


LEFT = [
    "The left column begins here and",
    "goes on with its second line and",
    "a third one, which ends in a middle of a word, as columns do, and",
    "ends with the fifth of its lines.",
]
RIGHT = [
    "The right column follows the left",
    "one, but never line by line. It is",
    "as narrow, and so it has an efficient hyphen at the end of a line",
    "and a fifth line to end with, too.",
]


def test_columns_that_are_drawn_row_by_row_are_read_one_after_the_other() -> None:
    assert lines_in_order(rows(LEFT_COLUMN, RIGHT_COLUMN)) == [*LEFT, *RIGHT]


def test_three_columns_are_read_one_after_the_other() -> None:
    drawn = rows(LEFT_COLUMN, RIGHT_COLUMN, LEFT_COLUMN)
    assert lines_in_order(drawn) == [*LEFT, *RIGHT, *LEFT]


def test_a_title_over_the_columns_and_a_footer_stay_where_they_are() -> None:
    title, footer = piece("A title over both of the columns", 180, -3), piece("Footer", 60, 9)
    drawn = [title, *rows(LEFT_COLUMN, RIGHT_COLUMN), footer]
    assert lines_in_order(drawn) == [title.text, *LEFT, *RIGHT, footer.text]


def test_columns_without_upper_and_lower_case_are_read_one_after_the_other() -> None:
    left, right = ["春眠不覚暁処処聞啼鳥春眠不覚"] * 5, ["夜来風雨声花落知多少夜来風雨"] * 5
    assert lines_in_order(rows(left, right)) == [*left, *right]


def test_a_note_in_the_margin_does_not_cut_a_paragraph() -> None:
    first, note, second = piece("first", 60, 0), piece("note", 20, 0, True), piece("second", 60, 1)
    assert lines_in_order([first, note, second]) == ["first", "second", "note"]


ADDRESSES = ["Ann Example", "12 Long Street", "10115 Berlin", "Germany", "+49 30 123"]
CELLS = ["A word", "", "Another one", "", "A third"]


@pytest.mark.parametrize(
    "drawn",
    [
        rows(LEFT_COLUMN),
        rows(LEFT_COLUMN) + rows([""] * 5, RIGHT_COLUMN),
        rows(["Bread", "Milk", "Butter", "Cheese", "Wine"], ["10", "7", "3", "12", "5"]),
        rows(["How are you?"] * 6, ["Wie geht es Ihnen heute Abend?"] * 6),
        rows(ADDRESSES, ADDRESSES),
        rows(CELLS, LEFT_COLUMN),
        rows(LEFT_COLUMN[:3], RIGHT_COLUMN[:3]),
        rows(["CHAPTER AND VERSE"] * 6, ["NUMBERS AND DEUTERONOMY"] * 6),
        [piece("a", 60, 0), piece("label", 80, 0, True), piece("b", 120, 0)],
        [],
    ],
    ids=[
        "one column",
        "columns drawn one after the other",
        "a table",
        "sentences side by side",
        "addresses",
        "a table with cells of several lines",
        "few rows",
        "capitals",
        "a sideways label within the text",
        "nothing",
    ],
)
def test_everything_else_stays_as_it_is_drawn(drawn: list[Piece]) -> None:
    assert lines_in_order(drawn) is None


def test_a_page_of_very_many_pieces_is_left_alone() -> None:
    assert lines_in_order(rows(LEFT_COLUMN * 600, RIGHT_COLUMN * 600)) is None
