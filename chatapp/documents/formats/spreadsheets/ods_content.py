"""Reads the sheets of an OpenDocument spreadsheet (ODF 1.3, part 3, chapter 9) as a stream.

The programs that write these files differ much, so nothing is required but tables with cells.
"""

from collections.abc import Callable

from .addresses import MAX_COLUMNS, MAX_ROWS, Area, format_address
from .marks import mark_comment
from .ods_shapes import SHAPES, Shape, Shapes
from .ods_values import cell_text
from .sheets import Budget, Sheet
from .streams import Attributes, Stream, without_prefixes

# What has texts that are no cells: what was deleted, and settings.
SKIPPED = {
    "tracked-changes",
    "content-validations",
    "calculation-settings",
    "named-expressions",
    "database-ranges",
    "data-pilot-tables",
    "dde-links",
    "forms",
    "scripts",
    "ruby-text",
    "scenario",
}
# Fields in a text, which only their prefix tells from what a shape or a comment says of itself.
FIELDS = ("text:title", "text:date", "text:creator")
INVISIBLE = ("collapse", "filter")
MAX_SPACES = 1_000


class ContentReader(Stream):
    """Finds the sheets and their cells; `finish` takes each sheet with the name of its layout."""

    accepts_document_types = True

    def __init__(
        self, max_sheets: int, budget: Budget, shapes: Shapes, finish: Callable[[Sheet, str], None]
    ) -> None:
        super().__init__()
        self.names.update({name: name for name in FIELDS})
        self.sheet_count = 0
        self._max_sheets, self._budget, self._finish = max_sheets, budget, finish
        self._shapes = shapes
        self._skipped = 0  # elements within one that is skipped
        self._style = ""
        self._hidden_styles: set[str] = set()
        self._layouts: dict[str, str] = {}  # by styles
        self._sheet: Sheet | None = None
        self._layout = ""
        self._tables = 0  # within the sheet
        self._row = self._column = self._first_column = 0
        self._rows_repeated = 1
        self._is_hidden_row = False
        self._cells: dict[int, str] = {}
        self._hidden_groups: list[bool] = []
        self._cell: Attributes | None = None
        self._paragraphs: list[list[str]] = [[]]  # of the cell, and of what is in it
        self._before: list[str] = []  # the texts before elements that are within paragraphs
        self._links: list[str] = []
        self._author = ""
        self._open_shapes: list[Shape] = []
        self._begins, self._ends = self._list_begins(), self._list_ends()

    def _list_begins(self) -> dict[str, Callable[[Attributes], None]]:
        begins: dict[str, Callable[[Attributes], None]] = {
            "style": self._begin_style,
            "table-properties": self._add_table_properties,
            "table": self._begin_table,
            "table-row-group": self._begin_group,
            "table-column-group": self._begin_group,
            "table-column": self._add_columns,
            "table-row": self._begin_row,
            "table-cell": self._begin_cell,
            "covered-table-cell": self._begin_cell,
            "annotation": self._begin_annotation,
            "p": self._begin_text,
            "h": self._begin_text,
            "a": self._begin_link,
            "s": self._add_spaces,
            "tab": lambda _: self._pieces.append("\t"),
            "line-break": lambda _: self._pieces.append("\n"),
            "image": self._add_image,
            "object": self._add_object,
            "object-ole": self._add_object,
        }
        begins |= dict.fromkeys(("creator", "date", "title", "desc"), self._begin_text)
        return begins | dict.fromkeys(SHAPES, self._begin_shape)

    def _list_ends(self) -> dict[str, Callable[[], object]]:
        ends: dict[str, Callable[[], object]] = {
            "table": self._end_table,
            "table-row-group": self._end_group,
            "table-column-group": self._end_group,
            "table-row": self._end_row,
            "table-cell": self._end_cell,
            "covered-table-cell": self._end_cell,
            "annotation": self._end_annotation,
            "p": self._end_paragraph,
            "h": self._end_paragraph,
            "a": self._end_link,
            "creator": self._end_creator,
            "date": self._pop_inner_text,
            "title": self._end_description,
            "desc": self._end_description,
        }
        return ends | dict.fromkeys(SHAPES, self._end_shape)

    def begin(self, name: str, attributes: Attributes) -> None:
        if self._skipped or name in SKIPPED:
            self._skipped += 1
        elif begin := self._begins.get(name):
            begin(without_prefixes(attributes))

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
            if not self._skipped:
                self.take_text()
        elif end := self._ends.get(name):
            end()

    def _begin_style(self, attributes: Attributes) -> None:
        self._style = attributes.get("name", "")
        self._layouts[self._style] = attributes.get("master-page-name", "")

    def _add_table_properties(self, attributes: Attributes) -> None:
        if attributes.get("display") == "false":
            self._hidden_styles.add(self._style)

    def _begin_table(self, attributes: Attributes) -> None:
        self._tables += 1
        if self._tables > 1:  # in a cell: its texts are the cell's
            return
        self.sheet_count += 1
        if self.sheet_count > self._max_sheets:
            self._skipped = 1  # sheets are only counted from here on
            self._tables = 0
            return
        style = attributes.get("style-name", "")
        name = attributes.get("name") or f"Sheet{self.sheet_count}"
        self._sheet = Sheet(name, is_hidden=style in self._hidden_styles)
        self._layout = self._layouts.get(style, "")
        self._row = self._column = self._first_column = 0

    def _end_table(self) -> None:
        self._tables -= 1
        if not self._tables and self._sheet is not None:
            self._finish(self._sheet, self._layout)
            self._sheet = None

    def _begin_group(self, attributes: Attributes) -> None:
        self._hidden_groups.append(attributes.get("display") == "false")

    def _end_group(self) -> None:
        if self._hidden_groups:
            self._hidden_groups.pop()

    def _is_hidden(self, attributes: Attributes) -> bool:
        return attributes.get("visibility") in INVISIBLE or any(self._hidden_groups)

    def _add_columns(self, attributes: Attributes) -> None:
        if self._sheet is None or self._tables > 1:
            return
        count = _count(attributes, "number-columns-repeated", MAX_COLUMNS)
        if self._is_hidden(attributes):
            self._sheet.hide_columns(self._first_column, self._first_column + count - 1)
        self._first_column += count

    def _begin_row(self, attributes: Attributes) -> None:
        if self._sheet is None or self._tables > 1:
            return
        left = max(MAX_ROWS - self._row, 0)
        self._rows_repeated = min(_count(attributes, "number-rows-repeated", MAX_ROWS), left)
        self._cells, self._column = {}, 0
        self._is_hidden_row = self._is_hidden(attributes)

    def _end_row(self) -> None:
        if self._sheet is None or self._tables > 1:
            return
        if self._cells:
            for text in self._cells.values():
                self._budget.spend_cells(text, self._rows_repeated)
            for row in range(self._row, self._row + self._rows_repeated):
                self._sheet.rows[row] = dict(self._cells)
                if self._is_hidden_row:
                    self._sheet.hidden_rows.add(row)
        self._row += self._rows_repeated

    def _begin_cell(self, attributes: Attributes) -> None:
        if self._sheet is not None and self._tables == 1:
            self._cell = attributes
            self._paragraphs = [[]]

    def _end_cell(self) -> None:
        cell = self._cell
        if self._sheet is None or self._tables > 1 or cell is None:
            return
        text = cell_text(cell, "\n".join(self._paragraphs[0]))
        left = max(MAX_COLUMNS - self._column, 0)
        count = min(_count(cell, "number-columns-repeated", MAX_COLUMNS), left)
        if text and not text.isspace():
            self._cells.update(dict.fromkeys(range(self._column, self._column + count), text))
        rows = _count(cell, "number-rows-spanned", MAX_ROWS)
        columns = _count(cell, "number-columns-spanned", MAX_COLUMNS)
        if text and (rows > 1 or columns > 1):
            last = self._row + rows - 1, self._column + columns - 1
            self._sheet.merged.append(Area(self._row, self._column, *last))
        self._column += count
        self._cell = None

    def _begin_text(self, _attributes: Attributes) -> None:
        self._before.append(self.take_text())

    def _pop_inner_text(self) -> str:
        """Return the text of an element, and go on with the text that was before it."""
        text = self.take_text()
        self._pieces.append(self._before.pop() if self._before else "")
        return text

    def _end_paragraph(self) -> None:
        self._paragraphs[-1].append(self._pop_inner_text())

    def _begin_link(self, attributes: Attributes) -> None:
        self._begin_text(attributes)
        self._links.append(attributes.get("href", ""))

    def _end_link(self) -> None:
        text, url = self._pop_inner_text(), self._links.pop() if self._links else ""
        is_link = url.startswith(("http:", "https:", "mailto:"))
        is_link = is_link and text not in (url, url.removeprefix("mailto:"))
        self._pieces.append(f"[{text}]({url})" if is_link else text)

    def _add_spaces(self, attributes: Attributes) -> None:
        self._pieces.append(" " * _count(attributes, "c", MAX_SPACES))

    def _begin_annotation(self, _attributes: Attributes) -> None:
        self._paragraphs.append([])
        self._author = ""

    def _end_creator(self) -> None:
        self._author = self._pop_inner_text().strip()

    def _end_annotation(self) -> None:
        text = "\n".join(self._pop_paragraphs())
        if self._sheet is not None and text.strip():
            address = format_address(self._row, self._column)
            self._sheet.below.append(mark_comment(self._author, address, text))

    def _pop_paragraphs(self) -> list[str]:
        return self._paragraphs.pop() if len(self._paragraphs) > 1 else []

    def _begin_shape(self, _attributes: Attributes) -> None:
        self._paragraphs.append([])
        place = f" at {format_address(self._row, self._column)}" if self._cell is not None else ""
        self._open_shapes.append(Shape(place))

    def _add_image(self, attributes: Attributes) -> None:
        if self._open_shapes:
            self._open_shapes[-1].image = attributes.get("href", "")

    def _add_object(self, attributes: Attributes) -> None:
        if self._open_shapes:
            self._open_shapes[-1].embedded = attributes.get("href", "")

    def _end_description(self) -> None:
        text = self._pop_inner_text()
        if self._open_shapes:
            self._open_shapes[-1].description = text

    def _end_shape(self) -> None:
        text = " ".join(" ".join(self._pop_paragraphs()).split())
        block = self._shapes.write(self._open_shapes.pop(), text) if self._open_shapes else ""
        if block and self._sheet is not None:
            self._sheet.below.append(block)


def _count(attributes: Attributes, name: str, maximum: int) -> int:
    """Return how often something is repeated or how far it reaches: at least once."""
    text = attributes.get(name, "")
    if not (text.isascii() and text.isdecimal()):
        return 1
    return max(min(int(text), maximum), 1) if len(text) < 10 else maximum
