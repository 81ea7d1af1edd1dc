"""Sheets of Excel say what people see in them, and mark what people don't see."""

import io

import openpyxl
import pytest

from chatapp.documents import LeftOut
from tests.documents.conftest import Reader
from tests.documents.files import build_zip, image
from tests.documents.spreadsheet_files import (
    CHART,
    NAMESPACES,
    PICTURE,
    TEXT_BOX,
    ExcelSheet,
    anchor,
    cell,
    chart,
    drawing,
    excel,
    notes,
    relationships,
    row,
    text,
)

HEAD = "# Sheet1\n\n"


def table(*rows: str) -> str:
    head, *others = rows
    columns = head.count(" | ") + 1
    return "\n".join([f"| {head} |", "|" + " --- |" * columns, *(f"| {each} |" for each in others)])


def test_values_have_their_formats(read: Reader) -> None:
    formats = ("0.0%", '#,##0.00 "€"', "dd/mm/yyyy hh:mm", "[h]:mm", "@")
    cells = [
        cell("A1", 0.125, style=1),
        cell("B1", 1234.5, style=2),
        cell("C1", 46083.38541666666, style=3),
        cell("D1", 1.253472222222222, style=4),
        cell("E1", "00042", "inlineStr", style=5),
        cell("F1", "1E5", "str"),
        cell("G1", 45365),
        cell("H1", "123456789012345678"),
        cell("I1", 1, "b"),
        cell("J1", "#N/A", "e"),
        cell("K1", "2026-03-01T00:00:00", "d"),
    ]
    expected = (
        "12.5% | 1,234.50 € | 2026-03-02 09:15 | 30:05 | 00042 | 1E5 | 45365 | 123456789012345678"
        " | TRUE | #N/A | 2026-03-01"
    )
    content = excel(ExcelSheet(row(1, *cells)), formats=formats)
    assert read.text(content) == HEAD + table(expected)


def test_dates_count_from_1904_if_the_file_says_so(read: Reader) -> None:
    workbook = openpyxl.Workbook()
    workbook.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    workbook.active["A1"] = 44620
    workbook.active["A1"].number_format = "dd/mm/yyyy"
    assert "2026-03-01" in read.document(save_workbook(workbook)).pages[0]


def save_workbook(workbook: openpyxl.Workbook) -> bytes:
    file = io.BytesIO()
    workbook.save(file)
    return file.getvalue()


def test_formulas_without_a_value_are_shown(read: Reader) -> None:
    rows = row(
        1,
        cell("A1", 21, formula="B1*2"),
        cell("B1", formula="C2*2"),
        cell("C1", "", "str", formula='IF(A1>0,"","x")'),
        '<c r="D1" t="str"><f>_xlfn.CONCAT(A1,"x")</f></c>',
        '<c r="E1"><f t="array" ref="E1">SUM(A1:A3*B1:B3)</f></c>',
        cell("F1", "#DIV/0!", "e", formula="1/0"),
        cell("G1", 7),
    )
    expected = (
        '21 | =C2*2 (not calculated) | =CONCAT(A1,"x") (not calculated)'
        " | {=SUM(A1:A3*B1:B3)} (not calculated) | #DIV/0! | 7"
    )
    (page,) = read.document(excel(ExcelSheet(rows))).pages
    assert page == f"{HEAD}[Empty and left out: column C]\n\n{table(expected)}"


def test_shared_formulas_without_a_value_are_shown_in_each_cell(read: Reader) -> None:
    first = '<c r="A1"><f t="shared" ref="A1:A2" si="0">B1*$C$1</f></c>'
    second = '<c r="A2"><f t="shared" si="0"/></c>'
    page = read.text(excel(ExcelSheet(row(1, first) + row(2, second))))
    assert "=B1*$C$1 (not calculated)" in page
    assert "=B2*$C$1 (not calculated)" in page


def test_zeros_that_a_library_wrote_for_formulas_are_not_taken_for_values(read: Reader) -> None:
    rows = row(1, cell("A1", 0, formula="B1*2"), cell("B1", 0))
    calculated = excel(ExcelSheet(rows))
    assert read.text(calculated) == HEAD + table("0 | 0")
    not_calculated = excel(ExcelSheet(rows, before=""), properties='<calcPr fullCalcOnLoad="1"/>')
    assert read.text(not_calculated) == HEAD + table("=B1*2 (not calculated) | 0")


def test_hidden_rows_columns_and_sheets_are_marked(read: Reader) -> None:
    rows = row(1, text("A1", "Item"), text("B1", "Margin")) + row(
        2, text("A2", "Pen"), cell("B2", 3), attributes='hidden="1"'
    )
    content = excel(
        ExcelSheet(rows, before='<cols><col min="2" max="3" hidden="1"/></cols>'),
        ExcelSheet(row(1, text("A1", "rate")), name="Rates", state="hidden"),
        ExcelSheet(row(1, text("A1", "deep")), name="Very", state="veryHidden"),
    )
    assert read.document(content).pages == (
        HEAD + table("Item | Margin (hidden) | ", "Pen | 3 | (hidden row)"),
        "# Rates (hidden)\n\n" + table("rate"),
        "# Very (hidden)\n\n" + table("deep"),
    )


def test_merged_cells_are_repeated_where_they_reach(read: Reader) -> None:
    rows = row(1, text("A1", "Report of all regions"))
    rows += row(2, text("B2", "2025"), text("D2", "x"))
    rows += row(3, text("A3", "North"), cell("B3", 1), cell("C3", 4))
    rows += row(4, cell("B4", 2)) + row(5, cell("B5", 3))
    areas = ("A1:D1", "B2:C2", "A3:A5", "F1:XFD1048576")
    merged = "".join(f'<mergeCell ref="{area}"/>' for area in areas)
    assert read.text(excel(ExcelSheet(rows, after=f"<mergeCells>{merged}</mergeCells>"))) == (
        HEAD
        + table(
            "Report of all regions |  |  | ",
            " | 2025 | 2025 | x",
            "North | 1 | 4 | ",
            "North | 2 |  | ",
            "North | 3 |  | ",
        )
    )


def test_what_a_merged_cell_covers_is_marked(read: Reader) -> None:
    rows = row(1, text("A1", "seen"), text("B1", "covered"), text("C1", "x"))
    merged = '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>'
    page = read.text(excel(ExcelSheet(rows, after=merged)))
    assert page == HEAD + table("seen | covered (hidden) | x")


def test_empty_rows_and_columns_are_named(read: Reader) -> None:
    rows = row(3, text("B3", "a"), text("D3", "b")) + row(5, text("B5", "c"), text("D5", "d"))
    assert read.text(excel(ExcelSheet(rows))) == (
        f"{HEAD}[Empty and left out: rows 1 to 2, 4; columns A, C]\n\n{table('a | b', 'c | d')}"
    )


def test_cells_that_are_far_apart_have_addresses(read: Reader) -> None:
    rows = row(1, text("A1", "here"), text("C1", "a|b\nc"))
    rows += row(1_048_576, text("XFD1048576", "there"), attributes='hidden="1"')
    before = '<cols><col min="16384" max="16384" hidden="1"/></cols>'
    assert read.text(excel(ExcelSheet(rows, before=before))) == (
        f"{HEAD}A1: here\nC1: a|b c\nXFD1048576: there (hidden row) (hidden column)"
    )


def test_a_sheet_that_is_almost_empty_is_no_table(read: Reader) -> None:
    letters = [f"{a}{b}" for a in "ABC" for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    rows = "".join(row(i, text(f"{each}{i}", "x")) for i, each in enumerate(letters, 1))
    page = read.text(excel(ExcelSheet(rows)))
    assert page.startswith(f"{HEAD}AA1: x\nAB2: x\n")
    assert len(page) < 1_000


def test_cells_without_addresses_follow_each_other(read: Reader) -> None:
    rows = "<row><c><v>1</v></c><c><v>2</v></c></row><row><c><v>3</v></c><c><v>4</v></c></row>"
    assert read.text(excel(ExcelSheet(rows))) == HEAD + table("1 | 2", "3 | 4")


def test_texts_of_the_whole_file_are_read_without_their_pronunciation(read: Reader) -> None:
    strings = (
        f"<sst {NAMESPACES}><si><r><t>東</t></r><r><t>京</t></r><rPh><t>トウキョウ</t></rPh></si>"
        "<si><t>a_x000D_\nb|c_x005F_x</t></si></sst>"
    )
    content = excel(
        ExcelSheet(row(1, cell("A1", 0, "s"), cell("B1", 1, "s"), cell("C1", 9, "s"))),
        related={"sharedStrings": "strings.xml"},
        parts={"xl/strings.xml": strings},
    )
    assert read.text(content) == HEAD + table("東京 | a b\\|c_x")


def test_links_have_their_targets(read: Reader) -> None:
    links = '<hyperlinks><hyperlink ref="A1" r:id="hyperlink"/></hyperlinks>'
    sheet = ExcelSheet(
        row(1, text("A1", "site"), text("B1", "x")),
        after=links,
        relationships={"hyperlink": "https://example.org/"},
    )
    assert read.text(excel(sheet)) == HEAD + table("[site](https://example.org/) | x")
    same = ExcelSheet(
        row(1, text("A1", "https://example.org/")),
        after=links,
        relationships={"hyperlink": "https://example.org/"},
    )
    assert read.text(excel(same)) == HEAD + table("https://example.org/")


def test_a_cell_has_one_link_and_its_target_counts_as_text(read: Reader) -> None:
    link = '<hyperlink ref="A1:B2" r:id="hyperlink"/>'
    url = "https://example.org/"
    sheet = ExcelSheet(
        row(1, text("A1", "x"), text("C1", "y")),
        after=f"<hyperlinks>{link * 9}</hyperlinks>",
        relationships={"hyperlink": url},
    )
    expected = f"{HEAD}[Empty and left out: column B]\n\n{table(f'[x]({url}) | y')}"
    assert read.text(excel(sheet)) == expected
    assert "more than 25 characters" in read.refusal(excel(sheet), characters=25)


def test_comments_name_their_author_and_cell(read: Reader) -> None:
    sheet = ExcelSheet(row(1, text("A1", "x")), relationships={"comments": "../comments.xml"})
    comments = notes("Ann", ("A1", "Ann:\nCheck\nthis"), ("C9", "And that"))
    assert read.text(excel(sheet, parts={"xl/comments.xml": comments})) == (
        f"{HEAD}{table('x')}\n\n[Comment by Ann on A1: Check this]\n\n"
        "[Comment by Ann on C9: And that]"
    )


def test_threads_of_comments_come_once(read: Reader) -> None:
    sheet = ExcelSheet(
        row(1, text("A1", "x")),
        relationships={"comments": "../comments.xml", "threadedComment": "../threads.xml"},
    )
    thread = (
        '<ThreadedComments><threadedComment ref="A1" personId="{1}" id="{7}"><text>Why?</text>'
        '</threadedComment><threadedComment ref="A1" personId="{2}" id="{8}" parentId="{7}">'
        "<text>Because.</text></threadedComment></ThreadedComments>"
    )
    people = '<personList><person displayName="Ann" id="{1}"/><person displayName="Bob" id="{2}"/>'
    content = excel(
        sheet,
        related={"person": "people.xml"},
        parts={
            "xl/people.xml": f"{people}</personList>",
            "xl/threads.xml": thread,
            "xl/comments.xml": notes("tc={7}", ("A1", "[Threaded comment] Why?")),
        },
    )
    assert read.text(content) == (
        f"{HEAD}{table('x')}\n\n[Comment by Ann on A1: Why?]\n\n[Reply by Bob on A1: Because.]"
    )


PNG = image("PNG", (60, 60))


def test_pictures_text_boxes_and_charts_have_their_cells(read: Reader) -> None:
    sheet = ExcelSheet(row(1, text("A1", "x")), relationships={"drawing": "../drawing.xml"})
    shapes = drawing(
        anchor(1, 4, PICTURE.format("A red square")),
        anchor(3, 0, TEXT_BOX.format("Read me")),
        anchor(5, 1, CHART),
        "<xdr:absoluteAnchor>" + TEXT_BOX.format("Anywhere") + "</xdr:absoluteAnchor>",
    )
    parts: dict[str, str | bytes] = {
        "xl/drawing.xml": shapes,
        "xl/_rels/drawing.xml.rels": relationships(image="red.png", chart="chart.xml"),
        "xl/red.png": PNG,
        "xl/chart.xml": chart("Sales", ["Sheet1!$A$1", "Sheet1!$B$1"]),
    }
    document = read.document(excel(sheet, parts=parts))
    assert document.pages == (
        f"{HEAD}{table('x')}\n\nAt B5: [Picture 1: A red square]\n\n[Text box at D1: Read me]\n\n"
        "[Chart at F2: Sales; its data is in Sheet1!$A$1, Sheet1!$B$1]\n\n[Text box: Anywhere]",
    )
    assert len(document.pictures) == 1
    assert document.left_out == (LeftOut("chart", 1),)


def test_pictures_in_cells_are_read(read: Reader) -> None:
    metadata = (
        "<metadata><futureMetadata><bk><rvb i='0'/></bk></futureMetadata>"
        "<valueMetadata><bk><rc t='1' v='0'/></bk></valueMetadata></metadata>"
    )
    structure = "<s><s t='_localImage'><k n='_rvRel:LocalImageIdentifier'/><k n='Text'/></s></s>"
    parts: dict[str, str | bytes] = {
        "xl/metadata.xml": metadata,
        "xl/values.xml": "<rvData><rv s='0'><v>0</v><v>Logo</v></rv></rvData>",
        "xl/structure.xml": structure,
        "xl/links.xml": f"<rels {NAMESPACES}><rel r:id='image'/></rels>",
        "xl/_rels/links.xml.rels": relationships(image="a.png"),
        "xl/a.png": PNG,
    }
    related = {
        "sheetMetadata": "metadata.xml",
        "rdRichValue": "values.xml",
        "rdRichValueStructure": "structure.xml",
        "richValueRel": "links.xml",
    }
    picture = '<c r="A1" t="e" vm="1"><v>#VALUE!</v></c><c r="B1" t="e" vm="2"><v>#VALUE!</v></c>'
    content = excel(ExcelSheet(row(1, picture)), parts=parts, related=related)
    document = read.document(content)
    assert document.pages == (HEAD + table("[Picture 1: Logo] | #VALUE!"),)
    assert len(document.pictures) == 1


def test_headers_and_footers_come_once(read: Reader) -> None:
    printed = (
        "<headerFooter><oddHeader>&amp;L&amp;B&amp;14Draft&amp;C&amp;A&amp;R© Müller &amp;&amp; Co"
        "</oddHeader><oddFooter>&amp;CPage &amp;P of &amp;N</oddFooter></headerFooter>"
    )
    sheets = [
        ExcelSheet(row(1, text("A1", "x")), name=name, after=printed) for name in ("One", "Two")
    ]
    assert read.document(excel(*sheets)).pages == (
        f"# One\n\n[Header: Draft | © Müller & Co]\n\n{table('x')}",
        f"# Two\n\n{table('x')}",
    )


def test_embedded_files_and_macros_are_named(read: Reader) -> None:
    sheet = ExcelSheet(row(1, text("A1", "x")), relationships={"package": "../embedded.docx"})
    macros = {"vbaProject": "vbaProject.bin"}
    parts = {"xl/vbaProject.bin": b"macros", "xl/embedded.docx": b"embedded"}
    document = read.document(excel(sheet, related=macros, parts=parts))
    assert document.pages == (f"{HEAD}{table('x')}\n\n[Embedded files that are not read: 1]",)
    assert document.left_out == (LeftOut("attachment", 1), LeftOut("macro project", 1))


def test_other_namespaces_and_places_of_the_workbook_are_read(read: Reader) -> None:
    parts = {
        "_rels/.rels": relationships(officeDocument="workbook.xml"),
        "workbook.xml": '<x:w xmlns:x="urn:x" xmlns:r="urn:r"><x:sheets><x:sheet name="Sheet1"'
        ' r:id="worksheet"/></x:sheets></x:w>',
        "_rels/workbook.xml.rels": relationships(worksheet="s.xml"),
        "s.xml": '<x:worksheet xmlns:x="urn:x"><x:sheetData><x:row r="1"><x:c r="A1"><x:v>1</x:v>'
        "</x:c></x:row></x:sheetData></x:worksheet>",
    }
    assert read.text(build_zip(parts)) == HEAD + table("1")


def test_binary_workbooks_are_refused_by_their_name(read: Reader) -> None:
    relationship = relationships(officeDocument="xl/workbook.bin")
    content = build_zip({"_rels/.rels": relationship, "xl/workbook.bin": b"binary"})
    assert read.refusal(content) == (
        "Binary Excel (.xlsb) files cannot be read. Save the file as .xlsx, then attach it."
    )


def test_too_many_cells_are_refused(read: Reader) -> None:
    content = excel(ExcelSheet(row(1, *(cell(f"{letter}1", 1) for letter in "ABCD"))))
    assert read.refusal(content, cells=3) == (
        "This spreadsheet has more than 3 cells with a value. Attach a part of it instead."
    )
    assert read.text(content, cells=4) == HEAD + table("1 | 1 | 1 | 1")


def test_cells_without_a_value_do_not_count(read: Reader) -> None:
    rows = "".join(
        row(i, *(f'<c r="{letter}{i}" s="1"/>' for letter in "ABC")) for i in range(1, 50)
    )
    content = excel(ExcelSheet(rows + row(60, cell("A60", 1))), formats=("0.00",))
    assert read.text(content, cells=1).endswith(table("1"))


@pytest.mark.parametrize("areas", [["A1:XFD1048576"] * 9, ["A1:B2"] * 99])
def test_merged_cells_count_as_often_as_they_are_repeated(read: Reader, areas: list[str]) -> None:
    rows = "".join(row(i, cell(f"A{i}", i), cell(f"B{i}", i), text(f"C{i}", "x")) for i in (1, 2))
    merged = "".join(f'<mergeCell ref="{area}"/>' for area in areas)
    content = excel(ExcelSheet(rows, after=f"<mergeCells>{merged}</mergeCells>"))
    assert "more than 12 cells" in read.refusal(content, cells=12)
