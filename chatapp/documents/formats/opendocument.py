"""OpenDocument text and presentations (ODF 1.3): headings, lists, tables, notes and slides.

Spreadsheets are read by `spreadsheet`.
"""

from xml.etree.ElementTree import Element

from chatapp.documents import refusals
from chatapp.documents.results import Document, Limits

from . import markdown
from .archive import Archive
from .pages import Pages
from .xml import attribute, child, descendants, local, parsed

KIND = "OpenDocument"
PREFIX = "application/vnd.oasis.opendocument."
TEXTS = {f"{PREFIX}text", f"{PREFIX}text-template"}
SPREADSHEETS = {f"{PREFIX}spreadsheet", f"{PREFIX}spreadsheet-template"}
PRESENTATIONS = {f"{PREFIX}presentation", f"{PREFIX}presentation-template"}
KINDS = TEXTS | SPREADSHEETS | PRESENTATIONS
MANIFEST = "META-INF/manifest.xml"
PAGE_END = "\f"  # XML cannot contain this character
LEFT_OUT = {"tracked-changes", "annotation", "forms", "sequence-decls", "note-citation", "settings"}
MAX_REPEATED = 1_000  # cells and spaces


def check_encryption(archive: Archive) -> None:
    """Raise `Unreadable` if the file is encrypted."""
    if MANIFEST in archive:
        entries = parsed(archive.part(MANIFEST))
        if next(descendants(entries, "encryption-data"), None) is not None:
            raise refusals.encrypted(KIND)


def read(archive: Archive, media_type: str, limits: Limits) -> Document:
    body = child(parsed(archive.part("content.xml")), "body")
    if media_type in PRESENTATIONS:
        slides = list(descendants(body, "page")) if body is not None else []
        texts, unit = [_blocks(slide) for slide in slides], "Slide"
    else:
        whole = _blocks(body) if body is not None else ""
        texts = [page for page in whole.split(PAGE_END) if page.strip()]
        unit = "Page" if len(texts) > 1 else ""
    pages = Pages(limits, unit or "Page")
    pages.expect(len(texts))
    for text in texts:
        pages.add(text)
    return Document(media_type, KIND, unit, pages.whole(KIND))


def _blocks(element: Element) -> str:
    blocks = (_block(each) for each in element)
    return "\n\n".join(block for block in blocks if block)


def _block(element: Element) -> str:
    match local(element):
        case "h":
            level = attribute(element, "outline-level")
            text = _text(element)
            ends = PAGE_END * text.count(PAGE_END)
            return ends + markdown.heading(text, int(level) if level.isdecimal() else 1)
        case "p":
            return _text(element).strip(" \n")
        case "list":
            return "\n".join(_items(element, 0))
        case "table":
            return markdown.table(_rows(element))
        case "soft-page-break":
            return PAGE_END
        case "notes":
            return f"Notes:\n\n{said}" if (said := _blocks(element)) else ""
        case name if name in LEFT_OUT:
            return ""
    return _blocks(element)


def _items(list_: Element, level: int) -> list[str]:
    lines = []
    for item in list_:
        own: list[str] = []
        for each in item:
            if local(each) == "list":
                lines += [markdown.item(" ".join(own), level)] if own else []
                own = []
                lines += _items(each, level + 1)
            elif text := _block(each):
                own.append(text)
        lines += [markdown.item(" ".join(own), level)] if own else []
    return lines


def _rows(table: Element) -> list[list[str]]:
    rows = []
    for row in descendants(table, "table-row", lambda each: local(each) != "table-cell"):
        cells: list[str] = []
        for cell in row:
            text = _blocks(cell).replace(PAGE_END, "")
            cells += [text] * _repeated(cell, "number-columns-repeated")
        rows.append(cells)
    return rows


def _repeated(element: Element, name: str) -> int:
    times = attribute(element, name)
    return min(int(times), MAX_REPEATED) if times.isdecimal() and len(times) < 10 else 1


def _text(element: Element) -> str:
    parts = [element.text or ""]
    for each in element:
        parts += [_inline(each), each.tail or ""]
    return "".join(parts)


def _inline(element: Element) -> str:
    match local(element):
        case "s":
            return " " * _repeated(element, "c")
        case "tab":
            return "\t"
        case "line-break":
            return "\n"
        case "soft-page-break":
            return PAGE_END
        case "note":
            return f" [{' '.join(_blocks(element).split())}]"
        case "a":
            text, url = _text(element), attribute(element, "href")
            is_link = url.startswith(("http:", "https:", "mailto:")) and text != url
            return f"[{text}]({url})" if is_link else text
        case "p" | "h" | "frame" | "text-box" | "custom-shape":
            return f"\n{_text(element)}\n" if local(element) in "ph" else _text(element)
        case name if name in LEFT_OUT:
            return ""
    return _text(element)
