"""Paragraphs, lists and tables of Word files."""

import re
from xml.etree.ElementTree import Element

from chatapp.documents.formats.equations import office_math
from chatapp.documents.formats.office.xml import attribute, child, descendants, local, number
from chatapp.documents.formats.output import markdown, marks
from chatapp.documents.formats.text import html
from chatapp.documents.formats.text.encoded_text import decode_text

from .runs import PAGE_END, SKIPPED, RunReader
from .story import Story
from .styles import is_on

SKIPPED_BLOCKS = SKIPPED - {"rt"}
BLOCKS = {"p", "tbl"}
WEB_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml|p|div|table)\b", re.IGNORECASE)
PLAIN_TEXT = (".txt", ".text")
MAX_COLUMNS = 100
Block = tuple[str, bool]  # its text, and whether it is an item of a list


class BlockReader:
    """Reads elements of one part of a file."""

    def __init__(self, story: Story, part: str, *, repeats_on_pages: bool = False) -> None:
        self._story, self._part = story, part
        self._runs = RunReader(story, part, self.blocks, repeats_on_pages=repeats_on_pages)
        self._drop_cap = ""

    def blocks(self, container: Element) -> list[str]:
        """Return the paragraphs and tables in an element; items of a list are one block."""
        blocks: list[list[str]] = []
        is_in_list = False
        for element in container:
            for text, is_item in self._block(element):
                if not text:
                    continue
                if is_item and is_in_list:
                    blocks[-1].append(text)
                else:
                    blocks.append([text])
                is_in_list = is_item
        return ["\n".join(lines) for lines in blocks]

    def _block(self, element: Element) -> list[Block]:
        match local(element):
            case "p":
                return self._paragraph(element)
            case "tbl":
                return [(text, False) for text in self._table(element)]
            case "oMathPara":
                return [(office_math.to_latex(element), False)]
            case "altChunk":
                return [(self._read_imported_part(element), False)]
            case "subDoc":
                name = self._story.drawings.name_embedded_file(
                    self._part, attribute(element, "id"), ""
                )
                return [(name, False)]
            case "AlternateContent":
                return next((blocks for each in element if (blocks := self._inside(each))), [])
            case "sdt" if child(element, "sdtPr", "showingPlcHdr") is not None:
                texts = (text for text, _ in self._inside(element))
                return [(marks.mark("Placeholder", text), False) for text in texts]
            case name if name in SKIPPED_BLOCKS:
                return []
        return self._inside(element)  # such as a content control

    def _inside(self, element: Element) -> list[Block]:
        return [block for each in element for block in self._block(each) if block[0]]

    def _paragraph(self, paragraph: Element) -> list[Block]:
        text, beside = self._runs.paragraph(paragraph)
        beside = [each.replace(PAGE_END, "") for each in beside]
        style = self._story.styles.next(paragraph)
        text = self._drop_cap + text.strip(" \n")
        self._drop_cap = ""
        if attribute(_property(paragraph, "framePr"), "dropCap") in ("drop", "margin"):
            self._drop_cap = text  # which is the first letter of the next paragraph
            return [(each, False) for each in beside]
        begin = PAGE_END if style.begins_page or text.startswith(PAGE_END) else ""
        text = text.lstrip(PAGE_END)
        end = PAGE_END if self._story.ends_page(child(paragraph, "pPr", "sectPr")) else ""
        others = [(each, False) for each in (*beside, end) if each]
        if not text.strip():
            return [(begin + text, False), *others]
        if style.heading:
            begin += PAGE_END * text.count(PAGE_END)
            line = f"{style.marker} {text}" if style.marker else text
            return [(begin + markdown.heading(line, style.heading), False), *others]
        line, is_item = markdown.number_paragraph(text, style.level, style.marker)
        return [(begin + line, is_item), *others]

    def _read_imported_part(self, element: Element) -> str:
        """Return a part in another format that Word would import, such as HTML."""
        key = attribute(element, "id")
        name, content = self._story.drawings.content(self._part, key)
        text = decode_text(content) if content and b"\0" not in content[:1000] else ""
        if WEB_PAGE.match(text):
            return html.to_markdown(text, self._story.pages)
        if name.endswith(PLAIN_TEXT):
            return text.strip()
        return self._story.drawings.name_embedded_file(self._part, key, "")

    def _table(self, table: Element) -> list[str]:
        """Return a table, which ends with each page. One with a single cell is only a frame."""
        elements = list(self._row_elements(table))
        if len(elements) == 1 and len(cells := list(_cells(elements[0]))) == 1:
            return self.blocks(cells[0])
        rows = markdown.fill_merged([self._row(row) for row in elements])
        head = rows[0] if elements and is_on(child(elements[0], "trPr", "tblHeader")) else None
        parts: list[list[list[str]]] = [[]]
        for row in rows:
            if parts[-1] and any(PAGE_END in cell for cell in row):
                parts.append([head] if head else [])
            parts[-1].append([markdown.flat(cell) for cell in row])
        texts = [markdown.table(part) for part in parts]
        return [*texts[:1], *(PAGE_END + text for text in texts[1:])]

    def _row_elements(self, table: Element) -> list[Element]:
        rows = []
        for row in descendants(table, "tr", _is_around_cells):
            if child(row, "trPr", "del") is not None:
                self._story.deletions += 1
            else:
                rows.append(row)
        return rows

    def _row(self, row: Element) -> list[str | None]:
        before = child(row, "trPr", "gridBefore")
        cells: list[str | None] = [""] * _number(before, 0)
        for cell in _cells(row):
            merged = child(cell, "tcPr", "vMerge")
            is_merged = merged is not None and attribute(merged, "val") != "restart"
            text = "\n".join(self.blocks(cell))
            cells.append(None if is_merged and not text.strip() else text)
            cells += [cells[-1] and ""] * (_number(child(cell, "tcPr", "gridSpan"), 1) - 1)
        return cells


def _cells(row: Element) -> list[Element]:
    return list(descendants(row, "tc", _is_around_cells))


def _is_around_cells(element: Element) -> bool:
    return local(element) not in SKIPPED_BLOCKS | BLOCKS


def _number(element: Element | None, default: int) -> int:
    text = attribute(element, "val") if element is not None else ""
    return number(text, default, MAX_COLUMNS, default)


def _property(paragraph: Element, name: str) -> Element:
    properties = child(paragraph, "pPr", name)
    return properties if properties is not None else Element("none")
