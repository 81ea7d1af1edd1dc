"""The order of the text on PDFs' pages."""

import pytest

from chatapp.documents.formats.pdf import text as pdf_text
from tests.documents.conftest import Reader
from tests.documents.pdf_files import LEFT_COLUMN, RIGHT_COLUMN, at, draw_pdf, rows

LEFT = """The left column begins here and
goes on with its second line and
a third one, which ends in a middle of a word, as columns do, and
ends with the fifth of its lines."""
RIGHT = """The right column follows the left
one, but never line by line. It is
as narrow, and so it has an efficient hyphen at the end of a line
and a fifth line to end with, too."""


def test_columns_that_are_drawn_row_by_row_are_read_one_after_the_other(read: Reader) -> None:
    page = at(60, 800, "Two columns") + rows(LEFT_COLUMN, RIGHT_COLUMN) + at(60, 30, "Footer")
    assert read.text(draw_pdf([page])) == f"Two columns\n{LEFT}\n{RIGHT}\nFooter"


def test_a_page_that_is_too_long_to_be_looked_at_is_whole(
    read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf_text, "MAX_CHARACTERS", 280)
    text = read.text(draw_pdf([rows(LEFT_COLUMN, RIGHT_COLUMN)]))
    assert text.startswith("The left column begins here and")
    assert text.endswith("and a fifth line to end with, too.")


def test_three_columns_that_are_drawn_row_by_row_are_read_one_after_the_other(
    read: Reader,
) -> None:
    page = rows(LEFT_COLUMN, RIGHT_COLUMN, LEFT_COLUMN, x=20, width=190)
    assert read.text(draw_pdf([page])) == f"{LEFT}\n{RIGHT}\n{LEFT}"


def test_columns_of_a_landscape_page_are_read_one_after_the_other(read: Reader) -> None:
    sideways = rows(LEFT_COLUMN, RIGHT_COLUMN, top=500)
    page = f"q 0 1 -1 0 595 0 cm\n{sideways}Q"
    assert read.text(draw_pdf([page], "/Rotate 90")) == f"{LEFT}\n{RIGHT}"


def test_columns_that_are_drawn_one_after_the_other_stay_so(read: Reader) -> None:
    page = rows(LEFT_COLUMN) + rows([""] * 5, RIGHT_COLUMN)
    assert read.text(draw_pdf([page])) == f"{LEFT}\n{RIGHT}"


def test_rows_of_a_table_stay_rows(read: Reader) -> None:
    cells = ["Item", "Bread", "Milk", "Butter", "Wine"], ["Price", "10", "7", "3", "5"]
    text = "Item Price\nBread 10\nMilk 7\nButter 3\nWine 5"
    assert read.text(draw_pdf([rows(*cells)])) == text


def test_parts_of_a_word_that_are_drawn_one_by_one_stay_together(read: Reader) -> None:
    assert (
        read.text(draw_pdf([at(60, 700, "Wat") + at(76.2, 700, "e") + at(81.8, 700, "r")]))
        == "Water"
    )


def test_a_turned_page_keeps_its_line_ends(read: Reader) -> None:
    lines = ["Line one of it.", "Line two of it.", "| Item | Price |", "Service Building 1010A"]
    page = "".join(at(60 + 16 * row, 60, line, "0 1 -1 0") for row, line in enumerate(lines))
    assert read.text(draw_pdf([page], "/Rotate 90")).split("\n") == lines


def test_a_note_in_the_margin_does_not_cut_a_paragraph(read: Reader) -> None:
    note = at(30, 300, "arXiv:2603.00001 sideways", "0 1 -1 0")
    page = at(60, 700, "A paragraph that is made of") + note + at(60, 686, "two lines.")
    assert (
        read.text(draw_pdf([page]))
        == "A paragraph that is made of\ntwo lines.\narXiv:2603.00001 sideways"
    )


def test_text_beyond_the_edges_of_a_page_is_not_read(read: Reader) -> None:
    page = at(60, 700, "inside") + at(60, 900, "crop mark")
    assert read.text(draw_pdf([page])) == "inside"
    beyond = rows(LEFT_COLUMN, RIGHT_COLUMN) + at(60, 900, "crop mark")
    assert read.text(draw_pdf([beyond])) == f"{LEFT}\n{RIGHT}"
