"""OpenDocument spreadsheets: `.ods`, of LibreOffice, Excel, Calligra and others.

Cells show what people see, but dates and times in ISO 8601; formulas without a value are shown as
formulas. Pictures, text boxes and comments follow the cells.
"""

from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

from chatapp.documents import refusals
from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Limits

from .ods_content import ContentReader
from .ods_headers import read_headers, read_manifest
from .ods_shapes import Shapes
from .sheets import Budget, Sheet, write_sheet

KIND = "OpenDocument"
MEDIA_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
CONTENT = "content.xml"
MACROS = "Basic/script-lc.xml"


def read(archive: Archive, limits: Limits) -> Document:
    pages = IllustratedPages(limits, "Sheet")
    try:
        if read_manifest(archive).is_encrypted:
            raise refusals.encrypted(KIND)
        has_text = _Reader(archive, limits, pages).read()
    except (BadZipFile, ExpatError, ValueError) as error:
        raise refusals.damaged(KIND) from error
    if not has_text:
        raise refusals.no_text(KIND)
    if MACROS in archive:
        pages.leave_out("macro project")
    return Document(MEDIA_TYPE, KIND, "Sheet", pages.whole(KIND), pages.pictures, pages.left_out)


class _Reader:
    """Adds the sheets of one file to the pages."""

    def __init__(self, archive: Archive, limits: Limits, pages: IllustratedPages) -> None:
        self._archive, self._limits, self._pages = archive, limits, pages
        self._budget = Budget(limits)
        self._headers = read_headers(archive)
        self._written: set[str] = set()  # headers and footers
        self._has_text = False

    def read(self) -> bool:
        """Add all sheets; return whether one has text."""
        content = ContentReader(
            self._limits.pages, self._budget, Shapes(self._archive, self._pages), self._add
        )
        content.read(self._archive, CONTENT)
        self._pages.expect(content.sheet_count)
        return self._has_text

    def _add(self, sheet: Sheet, layout: str) -> None:
        for header in self._headers.get(layout or "Default", []):
            block = header.write(sheet.name)
            if block and block not in self._written:
                self._written.add(block)
                (sheet.above if header.kind == "Header" else sheet.below).append(block)
        self._has_text = self._has_text or sheet.has_text
        self._pages.add(write_sheet(sheet, self._budget))
