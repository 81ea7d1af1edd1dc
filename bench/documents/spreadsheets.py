"""Spreadsheets with what readers tend to lose: formats, formulas, merged cells, comments."""

from collections.abc import Iterator

from bench.documents.case import Case
from tests.documents.spreadsheet_files import (
    CHART,
    NAMESPACES,
    TEXT_BOX,
    ExcelSheet,
    anchor,
    cell,
    chart,
    drawing,
    excel,
    notes,
    ods,
    ods_cell,
    ods_row,
    ods_table,
    relationships,
    row,
    text,
)

EXCEL, OPENDOCUMENT = "Excel", "OpenDocument spreadsheet"


def cases() -> Iterator[Case]:
    excel_files = (
        *_excel_values(),
        *_excel_formulas(),
        *_excel_layout(),
        *_excel_notes(),
        *_excel_texts(),
    )
    for name, content, words in excel_files:
        yield Case(EXCEL, name, content, words)
    for name, content, words in (*_opendocument_values(), *_opendocument_layout()):
        yield Case(OPENDOCUMENT, name, content, words)


def _excel_values() -> Iterator[tuple[str, bytes, str]]:
    formats = ("dd/mm/yyyy", "yyyy-mm-dd hh:mm", "h:mm AM/PM", "[h]:mm")
    dates = (46082, 46083.38541666666, 0.6041666666666666, 1.253472222222222)
    cells = [cell(f"{'ABCD'[i]}1", value, style=i + 1) for i, value in enumerate(dates)]
    yield (
        "dates, times and durations",
        excel(ExcelSheet(row(1, *cells)), formats=formats),
        "2026-03-01 2026-03-02 09:15 14:30 30:05",
    )
    yield (
        "dates from 1904",
        excel(
            ExcelSheet(row(1, text("A1", "Début"), cell("B1", 44620, style=1))),
            formats=("d. mmmm yyyy",),
            properties='<workbookPr date1904="1"/>',
        ),
        "Début 2026-03-01",
    )
    codes = ("0.0%", '#,##0.00 "€"', "#,##0.00;[Red]-#,##0.00", "00000", "# ?/?", '0.0,,"M"')
    numbers = (0.125, 1234567.891, -3.5, 42, 1.5, 2_500_000)
    cells = [cell(f"{'ABCDEF'[i]}1", value, style=i + 1) for i, value in enumerate(numbers)]
    yield (
        "formats of numbers",
        excel(ExcelSheet(row(1, *cells)), formats=codes),
        "12.5% 1,234,567.89 € -3.50 00042 1 1/2 2.5M",
    )
    cells = [
        text("A1", "00042"),
        text("B1", "1E5"),
        cell("C1", 45365),
        cell("D1", "123456789012345678"),
        cell("E1", "0.30000000000000004"),
        cell("F1", 1, "b"),
    ]
    yield (
        "numbers and texts as they were typed",
        excel(ExcelSheet(row(1, *cells))),
        "00042 1E5 45365 123456789012345678 0.3 TRUE",
    )


def _excel_formulas() -> Iterator[tuple[str, bytes, str]]:
    shared = '<c r="C{}"><f t="shared" ref="C1:C2" si="0">{}</f></c>'
    rows = row(1, cell("A1", 20), cell("B1", formula="A1*2"), shared.format(1, "A1*$A$1"))
    rows += row(2, cell("A2", 30), cell("B2", 60, formula="A2*2"), shared.format(2, ""))
    yield (
        "formulas without values",
        excel(ExcelSheet(rows)),
        "20 A1*2 A1*$A$1 30 60 A2*$A$1",
    )
    errors = ("#DIV/0!", "#N/A", "#NAME?", "#REF!")
    cells = [cell(f"{'ABCD'[i]}1", error, "e") for i, error in enumerate(errors)]
    yield "errors", excel(ExcelSheet(row(1, *cells))), " ".join(errors)


def _excel_layout() -> Iterator[tuple[str, bytes, str]]:
    rows = row(1, text("A1", "商品"), text("B1", "利润"))
    rows += row(2, text("A2", "铅笔"), cell("B2", 3), attributes='hidden="1"')
    yield (
        "hidden rows, columns and sheets",
        excel(
            ExcelSheet(rows, name="销售", before='<cols><col min="2" max="2" hidden="1"/></cols>'),
            ExcelSheet(row(1, text("A1", "内部")), name="税率", state="veryHidden"),
        ),
        "销售 商品 利润 铅笔 3 税率 内部",
    )
    rows = row(1, text("B1", "2025")) + row(
        2, text("A2", "Север"), text("B2", "I"), text("C2", "II")
    )
    rows += row(3, cell("B3", 1), cell("C3", 2)) + row(4, cell("B4", 3), cell("C4", 4))
    merged = '<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="A2:A4"/></mergeCells>'
    yield (
        "merged cells",
        excel(ExcelSheet(rows, after=merged)),
        "2025 2025 Север I II Север 1 2 Север 3 4",
    )
    rows = row(1, text("A1", "here"), text("C1", "near"))
    yield (
        "cells far apart",
        excel(ExcelSheet(rows + row(1_048_576, text("XFD1048576", "there")))),
        "here near there",
    )


def _excel_notes() -> Iterator[tuple[str, bytes, str]]:
    sheet = ExcelSheet(
        row(1, text("A1", "Betrag"), cell("B1", 7)), relationships={"comments": "../comments.xml"}
    )
    yield (
        "comments",
        excel(sheet, parts={"xl/comments.xml": notes("Jörg Öztürk", ("B1", "Bitte prüfen"))}),
        "Betrag 7 Jörg Öztürk B1 Bitte prüfen",
    )
    sheet = ExcelSheet(row(1, text("A1", "월")), relationships={"drawing": "../drawing.xml"})
    parts = {
        "xl/drawing.xml": drawing(
            anchor(1, 1, TEXT_BOX.format("먼저 읽으세요")), anchor(4, 1, CHART)
        ),
        "xl/_rels/drawing.xml.rels": relationships(chart="chart.xml"),
        "xl/chart.xml": chart("지역별 매출", ["Sheet1!$A$1"]),
    }
    yield (
        "text boxes and titles of charts",
        excel(sheet, parts=parts),
        "월 먼저 읽으세요 지역별 매출",
    )


def _excel_texts() -> Iterator[tuple[str, bytes, str]]:
    strings = (
        f"<sst {NAMESPACES}><si><r><t>東京</t></r><r><t>支店</t></r><rPh><t>とうきょう</t></rPh>"
        "</si><si><t>one\ntwo|three</t></si></sst>"
    )
    yield (
        "rich text and line breaks",
        excel(
            ExcelSheet(row(1, cell("A1", 0, "s"), cell("B1", 1, "s"))),
            related={"sharedStrings": "sharedStrings.xml"},
            parts={"xl/sharedStrings.xml": strings},
        ),
        "東京支店 one two three",
    )
    link = '<hyperlinks><hyperlink ref="A1" r:id="hyperlink"/></hyperlinks>'
    header = "<headerFooter><oddHeader>&amp;Lความลับ</oddHeader></headerFooter>"
    sheet = ExcelSheet(
        row(1, text("A1", "ราคา")),
        after=link + header,
        relationships={"hyperlink": "https://example.org/prices"},
    )
    yield (
        "links and headers",
        excel(sheet),
        "ความลับ ราคา https example org prices",
    )


def _opendocument_values() -> Iterator[tuple[str, bytes, str]]:
    date = 'office:value-type="date" office:date-value="2026-03-02T09:15:00"'
    number = 'office:value-type="float" office:value="{}"'
    percentage = 'office:value-type="percentage" office:value="0.125"'
    cells = (
        ods_cell("02.03.26 09:15", date),
        ods_cell("12,5 %", percentage),
        ods_cell("1.234,50 €", number.format(1234.5)),
        ods_cell("1.23456789012346E+016", number.format("12345678901234567")),
        ods_cell("00042", 'office:value-type="string"'),
    )
    yield (
        "values as displayed",
        ods(ods_table(ods_row(*cells))),
        "2026-03-02 09:15 12,5 % 1.234,50 € 12345678901234567 00042",
    )
    formula = ods_cell("", 'table:formula="of:=SUM([.A1:.A2])*2"')
    error = ods_cell("#DIV/0!", 'table:formula="of:=1/0" office:value-type="string"')
    yield (
        "formulas and errors",
        ods(ods_table(ods_row(ods_cell("5", number.format(5)), formula, error))),
        "5 SUM(A1:A2)*2 #DIV/0!",
    )


def _opendocument_layout() -> Iterator[tuple[str, bytes, str]]:
    styles = (
        '<style:style style:name="gone" style:family="table"><style:table-properties'
        ' table:display="false"/></style:style>'
    )
    spanned = 'table:number-rows-spanned="2"'
    body = ods_table(
        ods_row(ods_cell("שם"), ods_cell("מחיר")),
        ods_row(ods_cell("עט", spanned), ods_cell("3")),
        ods_row("<table:covered-table-cell/>", ods_cell("4")),
        ods_row(ods_cell("x"), attributes='table:visibility="collapse"'),
        name="מכירות",
    )
    body += ods_table(ods_row(ods_cell("סוד")), attributes='table:style-name="gone"', name="פנימי")
    yield (
        "hidden and merged cells",
        ods(body, styles),
        "מכירות שם מחיר עט 3 עט 4 x פנימי סוד",
    )
    comment = (
        "<office:annotation><dc:creator>संजय</dc:creator><text:p>जाँचें</text:p></office:annotation>"
    )
    box = "<draw:custom-shape><text:p>पहले पढ़ें</text:p></draw:custom-shape>"
    yield (
        "comments and text boxes",
        ods(ods_table(ods_row(ods_cell("मूल्य", content=comment), ods_cell("5", content=box)))),
        "मूल्य 5 संजय A1 जाँचें पहले पढ़ें",
    )
    far = ods_row(ods_cell("", 'table:number-columns-repeated="16383"'), ods_cell("there"))
    empty = ods_row(ods_cell(""), attributes='table:number-rows-repeated="1048574"')
    yield "cells far apart", ods(ods_table(ods_row(ods_cell("here")), empty, far)), "here there"
    document_type = (
        '<!DOCTYPE x PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "office.dtd">'
    )
    yield (
        "a document type",
        ods(ods_table(ods_row(ods_cell("سعر"))), document_type=document_type),
        "سعر",
    )
