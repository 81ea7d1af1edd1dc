"""Paragraphs, headings, lists, tables and sections of OpenDocument files."""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.xml import attribute, descendants, local, number
from chatapp.documents.formats.output import markdown, marks

from .file import File
from .inline import PAGE_END, SHAPES, SKIPPED, InlineReader
from .styles import ListCounts

MAX_REPEATED = 1_000  # cells
DRAWINGS = SHAPES | {"frame", "control"}
TITLES = {"title"}
FURNITURE = {"header", "footer", "date-time", "page-number"}
Rows = list[list[str | None]]


class BlockReader:
    """Reads elements of a file, or of its headers and footers."""

    def __init__(self, file: File, *, repeats_on_pages: bool = False) -> None:
        self._file = file
        self._inline = InlineReader(file, self.blocks, repeats_on_pages=repeats_on_pages)

    def blocks(self, element: Element) -> str:
        blocks: list[str] = []
        was_list = False
        for each in element:
            is_list = local(each) == "list"
            text = self._list(each, goes_on=was_list) if is_list else self._block(each)
            if text:
                blocks += ["\n" if was_list and is_list else "\n\n", text]
                was_list = is_list
        return "".join(blocks[1:])

    def slide(self, slide: Element) -> str:
        """Return a slide's title first, then its other shapes in their order."""
        is_hidden = self._file.styles.is_hidden_slide(attribute(slide, "style-name"))
        shapes = sorted(slide, key=lambda shape: attribute(shape, "class") not in TITLES)
        blocks = ["(hidden slide)" if is_hidden else "", *map(self._block, shapes)]
        return "\n\n".join(block for block in blocks if block.strip())

    def _block(self, element: Element) -> str:
        name = local(element)
        if name in SKIPPED:
            return ""
        if name in DRAWINGS:
            return self._drawing(element)
        match name:
            case "h":
                return self._heading(element)
            case "p":
                return self._paragraph(element)
            case "list":
                return self._list(element, goes_on=False)
            case "table":
                table = markdown.table(markdown.fill_merged(self._rows(element)))
                style = attribute(element, "style-name")
                begins_page = self._file.styles.begins_page("table", style)
                return PAGE_END + table if begins_page and table else table
            case "soft-page-break":
                return PAGE_END
            case "notes":
                return f"Notes:\n\n{text}" if (text := self.blocks(element)) else ""
            case "annotation":
                return self._inline.comment(element)
            case "section" if self._is_hidden_section(element):
                text = self.blocks(element)
                return marks.mark("Hidden", text) if text.strip() else ""
        return self.blocks(element)

    def _drawing(self, element: Element) -> str:
        kind = attribute(element, "class") if self._file.has_slides else ""
        if kind in FURNITURE:
            return ""
        text = "\n\n".join(self._inline.drawing(element))
        return markdown.heading(text, 2) if kind in TITLES else text

    def _heading(self, element: Element, marker: str = "") -> str:
        text, beside = self._inline.paragraph(element)
        level = number(attribute(element, "outline-level"), 1, 10, 1)
        if not marker and attribute(element, "is-list-header") != "true" and text.strip():
            marker = self._outline_marker(level)
        ends = PAGE_END * (text.count(PAGE_END) or self._begins_page(element))
        line = f"{marker} {text}" if marker else text
        heading = markdown.heading(line, level) if text.strip() else ""
        return "\n\n".join(block for block in (ends + heading, *beside) if block)

    def _outline_marker(self, level: int) -> str:
        if level - 1 not in self._file.styles.outline:
            return ""
        return self._file.outline.next_marker(level - 1).removeprefix("-")

    def _paragraph(self, element: Element) -> str:
        text, beside = self._inline.paragraph(element)
        text = text.strip(" \n")
        style = attribute(element, "style-name")
        if self._file.styles.is_title(style) and not self._file.has_slides:
            text = markdown.heading(text, 1)
        if text.strip() and self._file.styles.is_hidden("paragraph", style):
            text = marks.mark("Hidden", text)
        begin = PAGE_END * self._begins_page(element)
        end = PAGE_END * self._file.styles.ends_page("paragraph", style)
        return "\n\n".join(block for block in (begin + text, *beside, end) if block)

    def _begins_page(self, element: Element) -> bool:
        return self._file.styles.begins_page("paragraph", attribute(element, "style-name"))

    def _is_hidden_section(self, element: Element) -> bool:
        display = attribute(element, "display")
        return display == "none" or attribute(element, "is-hidden") == "true"

    def _list(self, element: Element, *, goes_on: bool) -> str:
        """Return a list. Its numbers go on from another if it says so; on slides, if it is next."""
        style, lists = attribute(element, "style-name"), self._file.lists
        counts = None
        goes_on = goes_on and self._file.has_slides
        if goes_on or attribute(element, "continue-numbering") == "true":
            counts = lists.get(f"style {style}")
        elif other := attribute(element, "continue-list"):
            counts = lists.get(f"list {other}")
        counts = counts or ListCounts(self._file.styles.list_levels(style))
        lists[f"style {style}"] = counts
        if key := next((v for name, v in element.items() if name.endswith("}id")), ""):
            lists[f"list {key}"] = counts
        return "\n".join(self._items(element, 0, counts))

    def _items(self, list_: Element, level: int, counts: ListCounts) -> list[str]:
        lines: list[str] = []
        for item in list_:
            is_item = local(item) == "list-item"
            own: list[str] = []
            marker: str | None = None if is_item else ""
            for each in item:
                if local(each) == "list":
                    lines += self._item(own, level, marker)
                    own = []
                    marker = "" if marker is not None else None
                    lines += self._items(each, level + 1, counts)
                    continue
                if marker is None:
                    marker = self._marker(item, level, counts)
                if local(each) == "h":
                    own.append(self._heading(each, marker.removeprefix("-")))
                elif text := self._block(each):
                    own.append(text)
            lines += self._item(own, level, marker)
        return lines

    def _marker(self, item: Element, level: int, counts: ListCounts) -> str:
        return counts.next_marker(level, attribute(item, "start-value"))

    def _item(self, texts: list[str], level: int, marker: str | None) -> list[str]:
        text = " ".join(texts)
        if not text.strip():
            return []
        begin = PAGE_END if text.startswith(PAGE_END) else ""
        text = text.lstrip(PAGE_END)
        if text.startswith("#") or not marker:
            return [begin + text]
        return [begin + markdown.number_paragraph(text, level, marker)[0]]

    def _rows(self, table: Element) -> Rows:
        rows: Rows = []
        spans: dict[int, int] = {}  # rows that cells still reach into, by their columns
        for row in descendants(table, "table-row", lambda each: local(each) != "table-cell"):
            cells: list[str | None] = []
            for cell in row:
                times = number(attribute(cell, "number-columns-repeated"), 1, MAX_REPEATED, 1)
                if local(cell) == "covered-table-cell":
                    cells += [self._read_covered_cell(spans, len(cells) + i) for i in range(times)]
                elif local(cell) == "table-cell":
                    height = number(attribute(cell, "number-rows-spanned"), 1, 10**6, 1)
                    if height > 1:
                        spans[len(cells)] = height - 1
                    cells += [markdown.flat(self.blocks(cell))] * times
            rows.append(cells)
        return rows

    def _read_covered_cell(self, spans: dict[int, int], column: int) -> str | None:
        """Return None for a cell that is merged with the one above."""
        if spans.get(column, 0) < 1:
            return ""
        spans[column] -= 1
        return None
