"""Makes small spreadsheets of Excel and OpenDocument from the XML of their cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from tests.documents.files import ODF, ODF_NAMESPACES, build_zip, image

SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
NAMESPACES = f'xmlns="{SPREADSHEET}" xmlns:r="{OFFICE}"'


@dataclass(frozen=True)
class ExcelSheet:
    """A sheet: the XML of its rows, and of what comes before and after them."""

    rows: str = ""
    name: str = "Sheet1"
    state: str = "visible"
    before: str = ""
    after: str = ""
    relationships: Mapping[str, str] = field(default_factory=dict)  # targets by kinds


def cell(
    address: str, value: object = "", kind: str = "n", style: int = 0, formula: str = ""
) -> str:
    """The XML of a cell; `kind` is Excel's, such as "str"."""
    attributes = f'r="{address}" t="{kind}" s="{style}"'
    if kind == "inlineStr":
        return f"<c {attributes}><is><t>{escape(str(value))}</t></is></c>"
    formula_xml = f"<f>{escape(formula)}</f>" if formula else ""
    return f"<c {attributes}>{formula_xml}<v>{escape(str(value))}</v></c>"


def text(address: str, value: str) -> str:
    return cell(address, value, "inlineStr")


def row(number: int, *cells: str, attributes: str = "") -> str:
    return f'<row r="{number}" {attributes}>{"".join(cells)}</row>'


def excel(
    *sheets: ExcelSheet,
    formats: Sequence[str] = (),
    properties: str = "",
    parts: Mapping[str, str | bytes] | None = None,
    related: Mapping[str, str] | None = None,
) -> bytes:
    """An Excel file. Style 1 of its cells has the first format, style 2 the second."""
    listed, targets = [], {"styles": "styles.xml", **(related or {})}
    written: dict[str, str | bytes] = {
        "_rels/.rels": relationships(officeDocument="xl/workbook.xml"),
        "xl/styles.xml": _styles(formats),
    }
    links = _relationship_entries(targets)
    for number, sheet in enumerate(sheets, 1):
        listed.append(
            f"<sheet name={quoteattr(sheet.name)} sheetId='{number}' state='{sheet.state}'"
            f" r:id='sheet{number}'/>"
        )
        links += _relationship(f"sheet{number}", "worksheet", f"worksheets/sheet{number}.xml")
        written[f"xl/worksheets/sheet{number}.xml"] = (
            f"<worksheet {NAMESPACES}>{sheet.before}<sheetData>{sheet.rows}</sheetData>"
            f"{sheet.after}</worksheet>"
        )
        written[f"xl/worksheets/_rels/sheet{number}.xml.rels"] = relationships(
            **sheet.relationships
        )
    written["xl/workbook.xml"] = (
        f"<workbook {NAMESPACES}>{properties}<sheets>{''.join(listed)}</sheets></workbook>"
    )
    written["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>'
    )
    return build_zip(written | dict(parts or {}))


def _styles(formats: Sequence[str]) -> str:
    codes = "".join(
        f'<numFmt numFmtId="{164 + i}" formatCode={quoteattr(code)}/>'
        for i, code in enumerate(formats)
    )
    styles = "".join(f'<xf numFmtId="{164 + i}"/>' for i, _ in enumerate(formats))
    return (
        f"<styleSheet {NAMESPACES}><numFmts>{codes}</numFmts><cellXfs><xf numFmtId='0'/>{styles}"
        "</cellXfs></styleSheet>"
    )


def relationships(**targets: str) -> str:
    """The part with relationships whose ids are their kinds."""
    return f'<Relationships xmlns="{PACKAGE}">{_relationship_entries(targets)}</Relationships>'


def _relationship_entries(targets: Mapping[str, str]) -> str:
    """Entries whose ids are their kinds; a URL is outside of the file."""
    return "".join(_relationship(kind, kind, target) for kind, target in targets.items())


def _relationship(identifier: str, kind: str, target: str) -> str:
    mode = ' TargetMode="External"' if ":" in target else ""
    return (
        f'<Relationship Id="{identifier}" Type="{OFFICE}/{kind}" Target={quoteattr(target)}{mode}/>'
    )


def drawing(*anchors: str) -> str:
    """A drawing of an Excel sheet."""
    return (
        f'<xdr:wsDr xmlns:xdr="{DRAWING}/spreadsheetDrawing" xmlns:a="{DRAWING}/main"'
        f' xmlns:c="{DRAWING}/chart" xmlns:r="{OFFICE}">{"".join(anchors)}</xdr:wsDr>'
    )


def anchor(column: int, row_number: int, shape: str) -> str:
    """A shape that begins in a cell; rows and columns count from 0."""
    start = f"<xdr:from><xdr:col>{column}</xdr:col><xdr:row>{row_number}</xdr:row></xdr:from>"
    return f"<xdr:oneCellAnchor>{start}{shape}</xdr:oneCellAnchor>"


PICTURE = (
    '<xdr:pic><xdr:nvPicPr><xdr:cNvPr id="2" name="Picture" descr="{}"/></xdr:nvPicPr>'
    '<xdr:blipFill><a:blip r:embed="image"/></xdr:blipFill></xdr:pic>'
)
TEXT_BOX = "<xdr:sp><xdr:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
CHART = (
    '<xdr:graphicFrame><a:graphic><a:graphicData><c:chart r:id="chart"/></a:graphicData>'
    "</a:graphic></xdr:graphicFrame>"
)


def chart(title: str, references: Sequence[str]) -> str:
    series = "".join(
        f"<c:ser><c:val><c:numRef><c:f>{each}</c:f></c:numRef></c:val></c:ser>"
        for each in references
    )
    return (
        f'<c:chartSpace xmlns:c="{DRAWING}/chart" xmlns:a="{DRAWING}/main"><c:chart><c:title><c:tx>'
        f"<c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea>"
        f"<c:barChart>{series}</c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )


def notes(author: str, *texts: tuple[str, str]) -> str:
    """Comments of an Excel sheet, each with the address of its cell."""
    listed = "".join(
        f'<comment ref="{address}" authorId="0"><text><r><t>{content}</t></r></text></comment>'
        for address, content in texts
    )
    return (
        f"<comments {NAMESPACES}><authors><author>{author}</author></authors>"
        f"<commentList>{listed}</commentList></comments>"
    )


ODS_NAMESPACES = (
    f'{ODF_NAMESPACES} xmlns:style="{ODF}:style:1.0" xmlns:svg="{ODF}:svg-compatible:1.0"'
    f' xmlns:chart="{ODF}:chart:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def ods(
    body: str,
    styles: str = "",
    parts: Mapping[str, str | bytes] | None = None,
    document_type: str = "",
) -> bytes:
    """An OpenDocument spreadsheet."""
    content = (
        f"{document_type}<office:document-content {ODS_NAMESPACES}><office:automatic-styles>"
        f"{styles}</office:automatic-styles><office:body><office:spreadsheet>{body}"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    written: dict[str, str | bytes] = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "content.xml": content,
        "META-INF/manifest.xml": f'<manifest xmlns="{ODF}:manifest:1.0"/>',
    }
    return build_zip(written | dict(parts or {}))


def ods_table(*rows: str, name: str = "Sheet1", attributes: str = "", before: str = "") -> str:
    return (
        f"<table:table table:name={quoteattr(name)} {attributes}>{before}{''.join(rows)}"
        "</table:table>"
    )


def ods_row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def ods_cell(display_text: str = "", attributes: str = "", content: str = "") -> str:
    """A cell with what is displayed in it; `content` is what else it has."""
    paragraphs = "".join(f"<text:p>{escape(line)}</text:p>" for line in display_text.splitlines())
    return f"<table:table-cell {attributes}>{content}{paragraphs}</table:table-cell>"


def excel_with_everything() -> bytes:
    """An Excel file that needs each module that reads one."""
    formats = ("# ?/?", "0.00E+00", "yyyy-mm-dd h:mm", "[h]:mm", "#,##0.00 [$€-407]", "0.0%")
    cells = [cell(f"A{i}", 1.5, style=i) for i in range(1, len(formats) + 1)]
    rows = "".join(row(i, each) for i, each in enumerate(cells, 1))
    formula = row(9, cell("A9", formula="A1*2"), text("B9", "merged"))
    sheet = ExcelSheet(
        rows + formula,
        after='<mergeCells><mergeCell ref="B9:B10"/></mergeCells>',
        relationships={"drawing": "../drawing.xml", "comments": "../comments.xml"},
    )
    return excel(
        sheet,
        formats=formats,
        parts={
            "xl/comments.xml": notes("Ann", ("A1", "Why?")),
            "xl/drawing.xml": drawing(anchor(1, 1, PICTURE.format("Red")), anchor(1, 9, CHART)),
            "xl/_rels/drawing.xml.rels": relationships(image="red.png", chart="chart.xml"),
            "xl/red.png": image("PNG"),
            "xl/chart.xml": chart("Sales", ["Sheet1!$A$1"]),
        },
    )


def ods_with_everything() -> bytes:
    """An OpenDocument spreadsheet that needs each module that reads one."""
    date = 'office:value-type="date" office:date-value="2026-03-02T09:15:00"'
    number = 'office:value-type="float" office:value="1.5"'
    picture = '<draw:frame><draw:image xlink:href="red.png"/></draw:frame>'
    formula = 'table:formula="of:=[.A1]*2"'
    cells = (ods_cell("9:15", date), ods_cell("", number), ods_cell("", formula, picture))
    return ods(ods_table(ods_row(*cells)), parts={"red.png": image("PNG")})
