"""Sheets of OpenDocument say what people see in them, and mark what people don't see."""

import pytest

from chatapp.documents import LeftOut
from tests.documents.conftest import Reader
from tests.documents.files import build_zip
from tests.documents.spreadsheet_files import ODS_NAMESPACES, ods, ods_cell, ods_row, ods_table
from tests.documents.test_excel import HEAD, PNG, table

FLOAT = 'office:value-type="float" office:value="{}"'
DATE = 'office:value-type="date" office:date-value="{}"'
TIME = 'office:value-type="time" office:time-value="{}"'


@pytest.mark.parametrize(
    ("attributes", "displayed", "expected"),
    [
        (FLOAT.format("1234.5"), "1.234,50 €", "1.234,50 €"),
        (FLOAT.format("0.30000000000000004"), "", "0.3"),
        (FLOAT.format("12345678901234567"), "1.23456789012346E+016", "12345678901234567"),
        (FLOAT.format("123456"), "1.23E+05", "1.23E+05"),
        (FLOAT.format("1234.5"), "###", "1234.5"),
        ('office:value-type="percentage" office:value="0.125"', "12.5 %", "12.5 %"),
        ('office:value-type="percentage" office:value="0.125"', "", "12.5%"),
        ('office:value-type="currency" office:currency="EUR" office:value="5"', "", "5 EUR"),
        ('office:value-type="boolean" office:boolean-value="true"', "WAHR", "TRUE"),
        ('office:value-type="string"', "00042", "00042"),
        ('office:value-type="string" office:string-value="1E5"', "", "1E5"),
        (DATE.format("2026-03-01"), "01/03/26", "2026-03-01"),
        (DATE.format("2026-03-02T09:15:00"), "2. März 2026 09:15", "2026-03-02 09:15"),
        (DATE.format("2026-03-02T09:14:59.999999999"), "02.03.26 09:15", "2026-03-02 09:15"),
        (DATE.format("2026-03-02T09:15:20"), "02.03.26 09:15:20", "2026-03-02 09:15:20"),
        (DATE.format("2026-03-02T09:15:00"), "02.03.26", "2026-03-02"),
        (DATE.format("2026-03-02T09:15:00"), "", "2026-03-02 09:15"),
        (DATE.format("soon"), "", "soon"),
        (TIME.format("PT14H30M00S"), "02:30 PM", "14:30:00"),
        (TIME.format("PT14H30M00S"), "14:30", "14:30"),
        (TIME.format("PT30H05M00S"), "30:05", "30:05"),
        (TIME.format("PT0H5M30S"), "05:30", "00:05:30"),
        (TIME.format("PT1H0M0.25S"), "01:00:00.25", "01:00:00.25"),
        (TIME.format("soon"), "14:30", "14:30"),
        ('table:formula="of:=[.C2]*2"', "", "=C2*2 (not calculated)"),
        ('table:formula="of:=[.C2]*2" ' + FLOAT.format("4"), "4", "4"),
        ('table:formula="of:=1/0" office:value-type="string"', "#DIV/0!", "#DIV/0!"),
        ('table:formula="=SUM(A1:A3)"', "", "=SUM(A1:A3) (not calculated)"),
    ],
)
def test_values_are_shown_as_they_are_displayed(
    read: Reader, attributes: str, displayed: str, expected: str
) -> None:
    content = ods(ods_table(ods_row(ods_cell(displayed, attributes), ods_cell("x"))))
    assert read.text(content) == HEAD + table(f"{expected} | x")


def test_the_result_of_a_formula_can_be_empty(read: Reader) -> None:
    formula = 'table:formula="of:=&quot;&quot;" office:value-type="string" office:string-value=""'
    content = ods(ods_table(ods_row(ods_cell("x"), ods_cell("", formula))))
    assert read.text(content) == HEAD + table("x")


def test_hidden_rows_columns_and_sheets_of_opendocument_are_marked(read: Reader) -> None:
    styles = (
        '<style:style style:name="gone" style:family="table"><style:table-properties'
        ' table:display="false"/></style:style>'
    )
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/>'
    group = f'<table:table-row-group table:display="false">{ods_row(ods_cell("grouped"))}'
    body = ods_table(
        ods_row(ods_cell("Item"), ods_cell("Margin")),
        ods_row(ods_cell("Pen"), ods_cell("3"), attributes='table:visibility="filter"'),
        f"{group}</table:table-row-group>",
        before=columns,
    )
    body += ods_table(ods_row(ods_cell("x")), name="Rates", attributes='table:style-name="gone"')
    assert read.document(ods(body, styles)).pages == (
        HEAD
        + table("Item | Margin (hidden) | ", "Pen | 3 | (hidden row)", "grouped |  | (hidden row)"),
        "# Rates (hidden)\n\n" + table("x"),
    )


def test_repeated_cells_and_rows_stay_in_their_places(read: Reader) -> None:
    body = ods_table(
        ods_row(
            ods_cell("", 'table:number-columns-repeated="2"'),
            ods_cell("x", 'table:number-columns-repeated="2"'),
            ods_cell("", 'table:number-columns-repeated="16000"'),
            attributes='table:number-rows-repeated="2"',
        ),
        ods_row(ods_cell(""), attributes='table:number-rows-repeated="5"'),
        ods_row(ods_cell("y"), attributes='table:number-rows-repeated="1"'),
        ods_row(ods_cell(""), attributes='table:number-rows-repeated="1048560"'),
    )
    assert read.text(ods(body)) == (
        f"{HEAD}[Empty and left out: rows 3 to 7; column B]\n\n"
        + table(" | x | x", " | x | x", "y |  | ")
    )


def test_repeated_rows_with_values_count_as_cells(read: Reader) -> None:
    body = ods_table(ods_row(ods_cell("x"), attributes='table:number-rows-repeated="999999"'))
    assert "more than 1,000 cells" in read.refusal(ods(body), cells=1_000)


def test_cells_of_opendocument_that_are_far_apart_have_addresses(read: Reader) -> None:
    body = ods_table(
        ods_row(ods_cell("here")),
        ods_row(ods_cell(""), attributes='table:number-rows-repeated="1048574"'),
        ods_row(ods_cell("", 'table:number-columns-repeated="16383"'), ods_cell("there")),
    )
    assert read.text(ods(body)) == f"{HEAD}A1: here\nXFD1048576: there"


def test_merged_cells_of_opendocument_are_repeated(read: Reader) -> None:
    spanned = 'table:number-rows-spanned="2" table:number-columns-spanned="1"'
    covered = "<table:covered-table-cell/>"
    body = ods_table(
        ods_row(ods_cell("North", spanned), ods_cell("1")), ods_row(covered, ods_cell("2"))
    )
    assert read.text(ods(body)) == HEAD + table("North | 1", "North | 2")


def test_comments_links_and_spaces_of_opendocument_are_read(read: Reader) -> None:
    comment = (
        "<office:annotation><dc:creator>Ann</dc:creator><dc:date>2026-03-01</dc:date>"
        "<text:p>Check</text:p><text:p>this</text:p></office:annotation>"
    )
    link = (
        '<text:p>a<text:s text:c="2"/><text:a xlink:href="https://example.org/">b</text:a></text:p>'
    )
    body = ods_table(ods_row(ods_cell("one\ntwo|", content=comment), ods_cell("", content=link)))
    cells = table("one two\\| | a [b](https://example.org/)")
    assert read.text(ods(body)) == f"{HEAD}{cells}\n\n[Comment by Ann on A1: Check this]"


def test_shapes_of_opendocument_have_their_cells(read: Reader) -> None:
    picture = (
        '<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:title>A square</svg:title>'
        "</draw:frame>"
    )
    boxes = "<draw:custom-shape><text:p>Read me</text:p></draw:custom-shape>"
    chart = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    embedded = '<draw:frame><draw:object-ole xlink:href="./Object 2"/></draw:frame>'
    body = ods_table(
        ods_row(ods_cell("x", content=picture), ods_cell("y", content=boxes)),
        before=f"<table:shapes>{chart}{embedded}</table:shapes>",
    )
    charted = (
        f"<office:document-content {ODS_NAMESPACES}><chart:chart><chart:title><text:p>Sales"
        "</text:p>"
        '</chart:title><chart:plot-area table:cell-range-address="Sheet1.A1:Sheet1.B1"/>'
        "</chart:chart>"
        "</office:document-content>"
    )
    parts: dict[str, str | bytes] = {
        "Pictures/a.png": PNG,
        "Object 1/content.xml": charted,
        "Basic/script-lc.xml": "<x/>",
    }
    document = read.document(ods(body, parts=parts))
    assert document.pages == (
        f"{HEAD}{table('x | y')}\n\n[Chart: Sales; its data is in Sheet1.A1:Sheet1.B1]\n\n"
        "[Embedded file that is not read]\n\nAt A1: [Picture 1: A square]\n\n"
        "[Text box at B1: Read me]",
    )
    assert len(document.pictures) == 1
    assert {(each.what, each.count) for each in document.left_out} == {
        ("chart", 1),
        ("attachment", 1),
        ("macro project", 1),
    }


def test_headers_of_opendocument_come_once(read: Reader) -> None:
    styles = (
        f"<office:document-styles {ODS_NAMESPACES}><office:master-styles>"
        '<style:master-page style:name="Default"><style:header><style:region-left><text:p>Draft'
        "</text:p></style:region-left><style:region-center><text:p><text:sheet-name>???"
        "</text:sheet-name></text:p></style:region-center></style:header><style:footer><text:p>"
        "Page <text:page-number>1</text:page-number></text:p></style:footer></style:master-page>"
        "</office:master-styles></office:document-styles>"
    )
    body = "".join(ods_table(ods_row(ods_cell("x")), name=name) for name in ("One", "Two"))
    assert read.document(ods(body, parts={"styles.xml": styles})).pages == (
        f"# One\n\n[Header: Draft]\n\n{table('x')}",
        f"# Two\n\n{table('x')}",
    )


def test_what_is_no_cell_is_not_taken_for_one(read: Reader) -> None:
    elsewhere = (
        "<table:tracked-changes><table:table-cell><text:p>deleted</text:p></table:table-cell>"
        "</table:tracked-changes><table:dde-links><table:table><table:table-row><table:table-cell>"
        "<text:p>linked</text:p></table:table-cell></table:table-row></table:table></table:dde-links>"
    )
    assert read.text(ods(elsewhere + ods_table(ods_row(ods_cell("x"))))) == HEAD + table("x")


def test_sheets_of_old_programs_are_read(read: Reader) -> None:
    content = (
        '<!DOCTYPE o:document-content PUBLIC "-//OpenOffice.org//DTD" "office.dtd">'
        '<o:document-content xmlns:o="urn:o" xmlns:t="urn:t" xmlns:x="urn:x"><o:body>'
        "<o:spreadsheet><t:table><t:table-column/><t:table-row>"
        '<t:table-cell t:value-type="float" o:value="1"'
        ' t:number-columns-repeated=""><x:p>1</x:p></t:table-cell><t:table-cell'
        ' o:value-type="float"><x:p>2</x:p></t:table-cell></t:table-row></t:table>'
        "</o:spreadsheet></o:body></o:document-content>"
    )
    manifest = (
        '<!DOCTYPE m:manifest PUBLIC "-//OpenOffice.org//DTD" "Manifest.dtd">'
        '<m:manifest xmlns:m="m"><m:file-entry m:full-path="/"'
        ' m:media-type="application/vnd.oasis.opendocument.spreadsheet"/></m:manifest>'
    )
    parts = {"content.xml": content, "META-INF/manifest.xml": manifest}
    assert read.text(build_zip(parts)) == HEAD + table("1 | 2")


def test_encrypted_and_empty_sheets_of_opendocument_are_refused(read: Reader) -> None:
    manifest = {"META-INF/manifest.xml": "<m><file-entry><encryption-data/></file-entry></m>"}
    encrypted = ods(ods_table(ods_row(ods_cell("x"))), parts=manifest)
    assert "This OpenDocument file is encrypted." in read.refusal(encrypted)
    assert read.refusal(ods(ods_table())) == "This OpenDocument file has no text."


def test_too_many_sheets_of_opendocument_are_refused_with_their_number(read: Reader) -> None:
    content = ods("".join(ods_table(ods_row(ods_cell("x"))) for _ in range(4)))
    assert read.refusal(content, pages=2) == "This file has 4 sheets. At most 2 can be read."


def test_charts_are_counted(read: Reader) -> None:
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    body = ods_table(before=f"<table:shapes>{frame}</table:shapes>")
    chart = {"Object 1/content.xml": f"<chart:chart {ODS_NAMESPACES}/>"}
    document = read.document(ods(body, parts=chart))
    assert document.pages == (f"{HEAD}[Chart]",)
    assert document.left_out == (LeftOut("chart", 1),)


def test_fields_in_cells_are_text(read: Reader) -> None:
    fields = (
        "<text:p><text:title>Report</text:title> of <text:date>2026-03-01</text:date>"
        " by <text:creator>Ann</text:creator></text:p>"
    )
    content = ods(ods_table(ods_row(ods_cell(content=fields))))
    assert read.text(content) == HEAD + table("Report of 2026-03-01 by Ann")


def test_a_long_text_in_merged_cells_comes_once(read: Reader) -> None:
    merged = 'table:number-columns-spanned="2"'
    covered = "<table:covered-table-cell/>"
    rows = ods_row(ods_cell("word " * 30, merged), covered, ods_cell("a"))
    content = ods(ods_table(rows, ods_row(*map(ods_cell, "bcd"))))
    assert read.text(content).count("word") == 30
