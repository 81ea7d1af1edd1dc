"""Numbers, dates and times are shown as Excel shows them, but dates and times in ISO 8601."""

import pytest

from chatapp.documents.formats.spreadsheets.formulas import from_opendocument, move_formula
from chatapp.documents.formats.spreadsheets.number_formats import NumberFormat

ACCOUNTING = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'
THOUSANDS = '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0'


@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        # Without a format
        ("General", "45365", "45365"),
        ("General", "0.1", "0.1"),
        ("General", "0.30000000000000004", "0.3"),
        ("General", "123456789012345678", "123456789012345678"),
        ("General", "1.234567890123457e+16", "12345678901234570"),
        ("General", "1e300", "1E+300"),
        ("General", "1.5e-7", "1.5E-07"),
        ("General", "-0.5", "-0.5"),
        ("", "5", "5"),
        ("@", "12", "12"),
        ('General "pcs"', "5", "5 pcs"),
        # Decimals, zeros and thousands
        ("0.00", "2.675", "2.68"),
        ("0", "0.5", "1"),
        ("0", "123456789012345678", "123456789012345678"),
        ("00000", "42", "00042"),
        ("#,##0", "-1234567", "-1,234,567"),
        ("0,000", "12", "0,012"),
        ("0.##", "5", "5"),
        ("0.##", "5.25", "5.25"),
        ("#.##", "0.5", ".5"),
        ("##,##0.00##", "1234.5", "1,234.50"),
        ("000-0000", "5551234", "555-1234"),
        ("(###) ###-####", "5551234567", "(555) 123-4567"),
        ('"No. ".00', "3.14159", "No. 3.14"),
        # Percentages, currencies and units
        ("0.0%", "0.125", "12.5%"),
        ("0%", "-0.5", "-50%"),
        ('#,##0.00 "€"', "1234567.891", "1,234,567.89 €"),
        ("#,##0.00\\ [$€-407]", "1234.5", "1,234.50 €"),
        ("[$£-809]#,##0.00", "1234.5", "£1,234.50"),
        ("[$USD] 0.00", "5", "USD 5.00"),
        ("#,##0\\ [$zł-415]", "1234", "1,234 zł"),
        ('0 "kg"', "7", "7 kg"),
        ('0.0,,"M"', "12345678", "12.3M"),
        # Sections and conditions
        ("#,##0.00;[Red]-#,##0.00", "-3.5", "-3.50"),
        ("$#,##0_);($#,##0)", "-5", "($5)"),
        (ACCOUNTING, "0", "$ -"),
        (ACCOUNTING, "-1234.5", "$ (1,234.50)"),
        ('"yes";"no";"none"', "-1", "no"),
        ('"yes";"no";"none"', "0", "none"),
        (THOUSANDS, "2500000", "2.5M"),
        (THOUSANDS, "1500", "1.5K"),
        (THOUSANDS, "15", "15"),
        ("[Blue]0", "-5", "-5"),
        # What a format hides
        (";;;", "5", "5 (hidden)"),
        ("0;-0;;@", "0", "0"),
        # Scientific notation and fractions
        ("0.00E+00", "123456", "1.23E+05"),
        ("0.00E+00", "9.999e9", "1.00E+10"),
        ("##0.0E+0", "12345", "12.3E+3"),
        ("0E+0", "1e-10", "1E-10"),
        ("# ?/?", "1.5", "1 1/2"),
        ("# ??/??", "0.3333333", "1/3"),
        ("# ?/8", "2.25", "2 2/8"),
        ("# ?/?", "3", "3"),
        # Dates and times
        ("dd/mm/yyyy", "46082", "2026-03-01"),
        ("mmm-yy", "46082", "2026-03-01"),
        ("dd/mm/yyyy hh:mm", "46083.38541666666", "2026-03-02 09:15"),
        ("yyyy-mm-dd h:mm:ss", "46083", "2026-03-02"),
        ('yyyy"年"m"月"d"日"', "46082", "2026-03-01"),
        ("[$-F800]dddd, mmmm dd, yyyy", "46082", "2026-03-01"),
        ("h:mm AM/PM", "0.6041666666666666", "14:30"),
        ("hh:mm:ss.000", "0.5000115740", "12:00:01.000"),
        ("mm:ss", "0.0038194444", "00:05:30"),
        ("h:mm:ss", "0", "00:00:00"),
        # Durations
        ("[h]:mm", "1.253472222222222", "30:05"),
        ("[h]:mm", "0.0625", "1:30"),
        ("[hh]:mm:ss", "1.5", "36:00:00"),
        ("[mm]:ss", "1", "1440:00"),
        ("[h]:mm", "-0.5", "-12:00"),
        # The leap year that 1900 was not, and numbers that are no dates
        ("d", "1", "1900-01-01"),
        ("d", "59", "1900-02-28"),
        ("d", "60", "1900-02-29"),
        ("d", "61", "1900-03-01"),
        ("yyyy-mm-dd", "-5", "-5"),
        ("yyyy-mm-dd", "3000000", "3000000"),
        # What no format is for
        ("0.00", "1e999", "1e999"),
        ("0.00", "no number", "no number"),
    ],
)
def test_numbers_are_shown_by_their_format(code: str, value: str, expected: str) -> None:
    assert " ".join(NumberFormat(code).format_number(value).split()) == expected


def test_dates_from_1904_have_another_first_day() -> None:
    assert NumberFormat("d/m/y", is_1904=True).format_number("44620") == "2026-03-01"
    assert NumberFormat("d/m/y", is_1904=True).format_number("0") == "1904-01-01"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("0.00", "00042"),
        ("@", "00042"),
        ('"Customer "@', "Customer 00042"),
        ("0;-0;0;", "00042 (hidden)"),
        ("[Red]0;[Blue]0;[Green]0;[Yellow]General", "00042"),
    ],
)
def test_texts_are_shown_by_their_format(code: str, expected: str) -> None:
    assert NumberFormat(code).format_text("00042") == expected


@pytest.mark.parametrize(
    "code",
    ["0" * 2_000, "[", '"', "\\", "_", "*", "/", "?/", "0/", "E+0", ".", ",", "0.0.0", "@@;"],
)
def test_a_broken_format_still_shows_the_number(code: str) -> None:
    assert NumberFormat(code).format_number("5")


def test_shared_formulas_move_with_their_cells() -> None:
    formula = "SUM($A2:B$3)+\"A1\"&Sheet1!C4*LOG10(D5)+'A1 x'!B2+A:A+$1:2"
    moved = "SUM($A4:C$3)+\"A1\"&Sheet1!D6*LOG10(E7)+'A1 x'!C4+B:B+$1:4"
    assert move_formula(formula, rows=2, columns=1) == moved


def test_formulas_of_opendocument_are_written_as_people_read_them() -> None:
    formula = 'of:=SUM([.A1:.B3])*[$Rates.B1]&"[.A1]"'
    assert from_opendocument(formula) == '=SUM(A1:B3)*$Rates.B1&"[.A1]"'
