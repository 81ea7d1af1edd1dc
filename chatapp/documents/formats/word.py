"""Word files (ECMA-376, WordprocessingML): the body in order, with headings, lists and tables.

Pages end where their author or Word's last layout ended them, and notes follow the last page. Text
that a tracked change deletes, comments, headers and footers are left out.
"""

from xml.etree.ElementTree import Element

from chatapp.documents.results import Document, Limits

from . import markdown
from .archive import Archive
from .pages import Pages
from .relationships import related, relationships
from .word_styles import Styles
from .xml import attribute, child, children, descendants, local, parsed

KIND = "Word"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
# A page's end within text: XML cannot contain this character.
PAGE_END = "\f"
NOTES = {"footnote": "footnotes", "endnote": "endnotes"}
# What is text twice (the fallback of a text box), or is none to the reader.
LEFT_OUT = {"del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr", "tblPr", "sectPr"}
BLOCKS = {"p", "tbl"}


def read(archive: Archive, main: str, limits: Limits) -> Document:
    body = child(parsed(archive.part(main)), "body")
    reader = _Reader(archive, main)
    blocks = reader.blocks(body) if body is not None else []
    text = "\n\n".join([*blocks, *reader.notes()])
    texts = [page for page in text.split(PAGE_END) if page.strip()] or [""]
    pages = Pages(limits)
    pages.expect(len(texts))
    for page in texts:
        pages.add(page)
    return Document(MEDIA_TYPE, KIND, "Page" if len(texts) > 1 else "", pages.whole(KIND))


class _Reader:
    """Reads elements of one file, with its styles, links and notes at hand."""

    def __init__(self, archive: Archive, main: str) -> None:
        self._archive, self._main = archive, main
        self._styles = Styles(archive, main)
        self._links = {
            key: each.target
            for key, each in relationships(archive, main).items()
            if each.is_external and each.kind == "hyperlink"
        }
        self._notes: list[tuple[str, str]] = []

    def blocks(self, container: Element) -> list[str]:
        """Return the paragraphs and tables in an element; items of a list are one block."""
        found: list[str] = []
        is_in_list = False
        for block in container:
            text, is_item = self._block(block)
            if not text:
                continue
            if is_item and is_in_list:
                found[-1] += f"\n{text}"
            else:
                found.append(text)
            is_in_list = is_item
        return found

    def notes(self) -> list[str]:
        """Return the footnotes and endnotes that the text refers to."""
        parts = {kind: self._notes_of(kind) for kind in {kind for kind, _ in self._notes}}
        found = []
        for kind, number in dict.fromkeys(self._notes):
            if (note := parts[kind].get(number)) is not None:
                text = " ".join(self.blocks(note)).replace(PAGE_END, "")
                found.append(f"[^{_label(kind, number)}]: {text}")
        return found

    def _notes_of(self, kind: str) -> dict[str, Element]:
        name = related(self._archive, self._main, NOTES[kind])
        root = parsed(self._archive.part(name)) if name else None
        return {attribute(note, "id"): note for note in children(root, kind)}

    def _block(self, block: Element) -> tuple[str, bool]:
        """Return the text of a block and whether it is an item of a list."""
        match local(block):
            case "p":
                return self._paragraph(block)
            case "tbl":
                return markdown.table(self._rows(block)), False
            case name if name in LEFT_OUT:
                return "", False
        return "\n\n".join(self.blocks(block)), False  # such as a content control

    def _paragraph(self, paragraph: Element) -> tuple[str, bool]:
        text = self._text(paragraph).strip(" \n")
        style = self._styles.of(paragraph)
        page_end = PAGE_END if style.begins_page else ""
        if not text.strip():
            return page_end + text, False
        if style.heading:
            ends = PAGE_END * text.count(PAGE_END)
            return f"{page_end}{ends}{markdown.heading(text, style.heading)}", False
        if style.marker:
            return page_end + markdown.item(text, style.level, style.marker), True
        return page_end + text, False

    def _rows(self, table: Element) -> list[list[str]]:
        rows = []
        for row in descendants(table, "tr", lambda each: local(each) not in LEFT_OUT | BLOCKS):
            cells: list[str] = []
            for cell in descendants(row, "tc", lambda each: local(each) not in LEFT_OUT | BLOCKS):
                cells.append(" ".join(self.blocks(cell)))
                span = attribute(found, "val") if (found := _span(cell)) is not None else ""
                cells += [""] * (min(int(span), 100) - 1 if span.isdecimal() else 0)
            rows.append(cells)
        return rows

    def _text(self, element: Element) -> str:
        return "".join(map(self._inline, element))

    def _inline(self, element: Element) -> str:
        match local(element):
            case "t":
                return element.text or ""
            case "tab" | "ptab":
                return "\t"
            case "br" | "cr":
                return PAGE_END if attribute(element, "type") == "page" else "\n"
            case "lastRenderedPageBreak":
                return PAGE_END
            case "noBreakHyphen":
                return "-"
            case "footnoteReference" | "endnoteReference":
                return self._reference(element)
            case "hyperlink":
                return self._link(element)
            case "p":  # of a text box
                return f"\n{self._text(element)}\n"
            case name if name in LEFT_OUT:
                return ""
        return self._text(element)

    def _reference(self, element: Element) -> str:
        kind = local(element).removesuffix("Reference")
        number = attribute(element, "id")
        self._notes.append((kind, number))
        return f"[^{_label(kind, number)}]"

    def _link(self, element: Element) -> str:
        text = self._text(element)
        url = self._links.get(attribute(element, "id"), "")
        return f"[{text}]({url})" if url and text.strip() and url != text else text


def _span(cell: Element) -> Element | None:
    return child(cell, "tcPr", "gridSpan")


def _label(kind: str, number: str) -> str:
    return number if kind == "footnote" else f"e{number}"
