"""Numbers and symbols of Office files are those that people see."""

import pytest

from chatapp.documents.formats.office.numbering import format_number
from chatapp.documents.formats.office.symbols import symbol, translate


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (3, "decimal", "3"),
        (3, "decimalZero", "03"),
        (28, "lowerLetter", "bb"),
        (14, "upperRoman", "XIV"),
        (22, "ordinal", "22nd"),
        (12, "ordinal", "12th"),
        (21, "japaneseCounting", "二十一"),
        (10, "chineseCounting", "十"),
        (105, "chineseCounting", "105"),
        (3, "aiueo", "ウ"),
        (3, "iroha", "ハ"),
        (2, "ganada", "나"),
        (115, "hebrew1", "קטו"),
        (3, "arabicAbjad", "ج"),
        (2, "russianUpper", "Б"),
        (3, "decimalEnclosedCircle", "③"),
        (21, "decimalEnclosedCircle", "21"),
        (0, "upperRoman", "0"),
        (10**9, "upperRoman", "1000000000"),
        (7, "unknown", "7"),
        (2, "A", "B"),  # of OpenDocument
    ],
)
def test_numbers_are_written_as_their_format_says(number: int, kind: str, text: str) -> None:
    assert format_number(number, kind) == text


def test_symbols_are_found_by_their_place_in_the_font() -> None:
    assert symbol("Wingdings", 0xF0FE) + symbol("Symbol", 0xF0B3) + symbol("Symbol", 0x70) == "☑≥π"
    assert symbol("My Font", 0xF041) == "[Symbol F041 of My Font]"
    assert translate("\uf050\uf0fc x", "Wingdings 2") == "✓[Symbol F0FC of Wingdings 2] x"
    assert translate("\uf0a3 5\uf020", "Arial") == "≤ 5 "
    assert translate("\uf8ff", "Symbol") == "\uf8ff"  # of no symbol font
