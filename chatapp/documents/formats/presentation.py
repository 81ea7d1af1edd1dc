"""PowerPoint files (ECMA-376, PresentationML): each slide's title, text, tables and notes."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from chatapp.documents.results import Document, Limits

from . import markdown
from .archive import Archive
from .pages import Pages
from .relationships import related, relationships
from .xml import child, children, descendants, local, parsed

KIND = "PowerPoint"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
TITLES = {"title", "ctrTitle"}
# Placeholders that the layout fills: slide number, date, footer, header, picture of the slide.
FURNITURE = {"sldNum", "dt", "ftr", "hdr", "sldImg"}


def read(archive: Archive, main: str, limits: Limits) -> Document:
    slides = _slides(archive, main)
    pages = Pages(limits, "Slide")
    pages.expect(len(slides))
    for slide in slides:
        pages.add(_slide(archive, slide))
    return Document(MEDIA_TYPE, KIND, "Slide", pages.whole(KIND))


def _slides(archive: Archive, main: str) -> list[str]:
    """Return the names of the slides in order."""
    targets = relationships(archive, main)
    listed = children(child(parsed(archive.part(main)), "sldIdLst"), "sldId")
    found = (targets.get(_relationship_id(each)) for each in listed)
    return [each.target for each in found if each and each.target in archive]


def _relationship_id(slide: Element) -> str:
    """Return `r:id`; the attribute `id` without a namespace is another."""
    return next((value for key, value in slide.items() if key.endswith("}id")), "")


def _slide(archive: Archive, name: str) -> str:
    slide = parsed(archive.part(name))
    parts = ["(hidden slide)"] if slide.get("show") in ("0", "false") else []
    parts += _texts(slide)
    notes = related(archive, name, "notesSlide")
    if notes and (said := _texts(parsed(archive.part(notes)))):
        parts += ["Notes:", *said]
    return "\n\n".join(parts)


def _texts(slide: Element) -> list[str]:
    tree = child(slide, "cSld", "spTree")
    return [text for shape in _shapes(tree) if (text := _shape(shape))] if tree is not None else []


def _shapes(tree: Element) -> Iterator[Element]:
    """Yield shapes, those in groups too. Of alternatives only the first is yielded."""
    for shape in tree:
        match local(shape):
            case "grpSp" | "AlternateContent" | "Choice":
                yield from _shapes(shape)
            case "sp" | "graphicFrame" | "cxnSp":
                yield shape


def _shape(shape: Element) -> str:
    if local(shape) == "graphicFrame":
        return "\n\n".join(markdown.table(_rows(table)) for table in descendants(shape, "tbl"))
    placeholder = child(shape, "nvSpPr", "nvPr", "ph")
    kind = placeholder.get("type", "body") if placeholder is not None else ""
    if kind in FURNITURE:
        return ""
    paragraphs = children(child(shape, "txBody"), "p")
    if kind in TITLES:
        return markdown.heading(" ".join(map(_text, paragraphs)), 2)
    is_list = kind in ("body", "obj") and len(paragraphs) > 1
    lines = [_item(each) if is_list else _text(each) for each in paragraphs]
    return "\n".join(line for line in lines if line.strip())


def _item(paragraph: Element) -> str:
    properties = child(paragraph, "pPr")
    level = properties.get("lvl", "0") if properties is not None else "0"
    return markdown.item(_text(paragraph), int(level) if level.isdecimal() else 0)


def _rows(table: Element) -> list[list[str]]:
    return [
        [" ".join(map(_text, children(child(cell, "txBody"), "p"))) for cell in children(row, "tc")]
        for row in children(table, "tr")
    ]


def _text(element: Element) -> str:
    """Return the text of a paragraph; a field has the text that was last shown."""
    parts = []
    for each in element:
        match local(each):
            case "t":
                parts.append(each.text or "")
            case "br":
                parts.append("\n")
            case "rPr" | "pPr" | "endParaRPr" | "Fallback":
                pass
            case _:
                parts.append(_text(each))
    return "".join(parts)
