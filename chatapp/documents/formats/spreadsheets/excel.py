"""Excel files (ECMA-376, SpreadsheetML): `.xlsx` and `.xlsm`.

Cells show what people see: numbers, dates and times by their formats, and formulas by the values
that were last calculated, or else as formulas. Pictures, text boxes and comments follow the cells.
"""

from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

from chatapp.documents import refusals
from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import (
    Relationship,
    find_related_part,
    relationships,
)
from chatapp.documents.formats.office.xml import child, children, parse_xml
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Limits

from .excel_comments import read_comments, read_people
from .excel_drawings import read_drawing
from .excel_rich_values import RichValues
from .excel_sheets import TRUE, Hyperlink, SheetReader, Values
from .excel_strings import read_strings
from .excel_styles import read_formats
from .header_codes import plain_header
from .sheets import Budget, Sheet, write_sheet

KIND = "Excel"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
WEB = ("http:", "https:", "mailto:")
EMBEDDED = ("package", "oleObject")


def read(archive: Archive, main: str, limits: Limits) -> Document:
    if main.endswith(".bin"):
        raise refusals.outdated("Binary Excel (.xlsb)", ".xlsx")
    pages = IllustratedPages(limits, "Sheet")
    try:
        has_text = _Reader(archive, main, limits, pages).read()
    except (BadZipFile, ExpatError, ParseError, ValueError) as error:
        raise refusals.damaged(KIND) from error
    if not has_text:
        raise refusals.no_text(KIND)
    if find_related_part(archive, main, "vbaProject"):
        pages.leave_out("macro project")
    return Document(MEDIA_TYPE, KIND, "Sheet", pages.whole(KIND), pages.pictures, pages.left_out)


@dataclass(frozen=True)
class _SheetEntry:
    """A sheet's entry in the workbook."""

    name: str
    is_hidden: bool
    part: str


class _Reader:
    """Reads the sheets of one workbook."""

    def __init__(
        self, archive: Archive, main: str, limits: Limits, pages: IllustratedPages
    ) -> None:
        self._archive, self._main, self._pages = archive, main, pages
        self._budget = Budget(limits)
        self._headers: set[str] = set()  # written so far
        self._workbook = parse_xml(archive.part(main))
        self._people = read_people(archive, main)

    def read(self) -> bool:
        """Add all sheets to the pages; return whether one has text."""
        parts = self._list_sheets()
        self._pages.expect(len(parts))
        values = self._read_values()
        has_text = False
        for part in parts:
            sheet = self._read_sheet(part, values)
            has_text = has_text or sheet.has_text
            self._pages.add(write_sheet(sheet, self._budget))
        return has_text

    def _list_sheets(self) -> list[_SheetEntry]:
        targets = relationships(self._archive, self._main)
        parts = []
        for each in children(child(self._workbook, "sheets"), "sheet"):
            target = targets.get(_relationship_id(each))
            if target and target.target in self._archive:
                is_hidden = each.get("state", "visible") != "visible"
                parts.append(_SheetEntry(each.get("name", ""), is_hidden, target.target))
        return parts

    def _read_values(self) -> Values:
        is_1904 = _has_flag(child(self._workbook, "workbookPr"), "date1904")
        return Values(
            read_strings(self._archive, self._main),
            read_formats(self._archive, self._main, is_1904),
            RichValues(self._archive, self._main, self._pages),
            _has_flag(child(self._workbook, "calcPr"), "fullCalcOnLoad"),
        )

    def _read_sheet(self, part: _SheetEntry, values: Values) -> Sheet:
        sheet = Sheet(part.name, part.is_hidden)
        reader = SheetReader(sheet, values, self._budget)
        reader.read(self._archive, part.part)
        targets = relationships(self._archive, part.part)
        self._add_links(sheet, reader.hyperlinks, targets)
        sheet.above += self._new_headers("Header", reader.headers, sheet.name)
        sheet.below += read_comments(self._archive, targets.values(), self._people)
        for target in targets.values():
            if target.kind == "drawing" and target.target in self._archive:
                sheet.below += read_drawing(self._archive, target.target, self._pages)
        if embedded := sum(each.kind in EMBEDDED for each in targets.values()):
            self._pages.leave_out("attachment", embedded)
            sheet.below.append(f"[Embedded files that are not read: {embedded}]")
        sheet.below += self._new_headers("Footer", reader.footers, sheet.name)
        return sheet

    def _add_links(
        self, sheet: Sheet, links: list[Hyperlink], targets: dict[str, Relationship]
    ) -> None:
        """Write the targets of links into their cells. Of several of a cell the first counts."""
        linked: set[tuple[int, int]] = set()
        for link in links:
            target = targets.get(link.relationship)
            if target is None or not (target.is_external and target.target.startswith(WEB)):
                continue
            url = target.target
            for row, column in sheet.list_cells(link.area):
                text = sheet.rows[row][column]
                if (row, column) not in linked and text not in (url, url.removeprefix("mailto:")):
                    linked.add((row, column))
                    self._budget.spend_characters(len(url))
                    sheet.rows[row][column] = f"[{text}]({url})"

    def _new_headers(self, kind: str, texts: list[str], sheet_name: str) -> list[str]:
        """Return the headers or footers that no sheet had before."""
        blocks = []
        for text in texts:
            plain = plain_header(text, sheet_name)
            if plain and (block := f"[{kind}: {plain}]") not in self._headers:
                self._headers.add(block)
                blocks.append(block)
        return blocks


def _relationship_id(sheet: Element) -> str:
    """Return `r:id`; the attribute `id` without a namespace is another."""
    return next((value for key, value in sheet.items() if key.endswith("}id")), "")


def _has_flag(element: Element | None, name: str) -> bool:
    return element is not None and element.get(name) in TRUE
