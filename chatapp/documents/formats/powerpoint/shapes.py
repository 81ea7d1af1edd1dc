"""The shapes of a slide in their order: text, tables, pictures, charts and embedded files."""

from collections import Counter
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.drawings import Drawings, description_in
from chatapp.documents.formats.office.numbering import format_number
from chatapp.documents.formats.office.xml import (
    attribute,
    child,
    children,
    descendants,
    local,
    number,
)
from chatapp.documents.formats.output import markdown, marks

from .text import TextReader

TITLES = {"title", "ctrTitle"}
LISTS = {"body", "obj"}
FOOTERS = {"dt", "ftr", "hdr"}
# Placeholders that say nothing: the number of the slide, and its picture above the notes.
FURNITURE = {"sldNum", "sldImg"}
SHAPES = {"sp", "graphicFrame", "cxnSp", "pic", "contentPart"}
MEDIA = {
    "videoFile": "Video",
    "audioFile": "Sound",
    "wavAudioFile": "Sound",
    "quickTimeFile": "Video",
}
INK = "[Ink drawing is left out]"
MAX_LEVEL = 8
# How `a:buAutoNum` writes numbers: the beginning of its type, and what the rest means.
FORMATS = {
    **{"alphaLc": "lowerLetter", "alphaUc": "upperLetter"},
    **{"romanLc": "lowerRoman", "romanUc": "upperRoman", "circleNum": "decimalEnclosedCircle"},
    **{"ea1": "chineseCounting", "hebrew": "hebrew1", "arabic1": "arabicAlpha"},
}


class ShapeReader:
    """Reads one part: a slide or its notes. Its footers are collected apart."""

    def __init__(self, drawings: Drawings, part: str) -> None:
        self._drawings, self._part = drawings, part
        self._text = TextReader(drawings, part)
        self.footers: list[str] = []

    def blocks(self, content: Element) -> list[str]:
        """Return the title first, as people read it, and the other shapes in their order."""
        background = child(content, "bg")
        tree = child(content, "spTree")
        pictures = self._pictures(background, "") if background is not None else ""
        shapes = list(tree) if tree is not None else []
        shapes.sort(key=lambda shape: _kind(shape) not in TITLES)
        return [text for text in (pictures, *map(self._shape, shapes)) if text.strip()]

    def _shape(self, shape: Element) -> str:
        name = local(shape)
        if name == "grpSp":
            texts = (text for each in shape if (text := self._shape(each)))
            return _mark_if_hidden(shape, "\n\n".join(texts))
        if name == "AlternateContent":
            return next((text for each in shape if (text := self._alternative(each)).strip()), "")
        return _mark_if_hidden(shape, self._content(shape)) if name in SHAPES else ""

    def _alternative(self, alternative: Element) -> str:
        return "\n\n".join(text for each in alternative if (text := self._shape(each)))

    def _content(self, shape: Element) -> str:
        name, kind = local(shape), _kind(shape)
        if name == "contentPart":
            return INK
        if name == "graphicFrame":
            return self._graphic(shape)
        if kind in FURNITURE:
            return ""
        text = self._body(shape, kind)
        if kind in FOOTERS:
            self.footers += [flat] if (flat := markdown.flat(text)) else []
            return ""
        description = description_in(shape)
        parts = [self._pictures(shape, description), *self._media(shape), text]
        content = "\n\n".join(part for part in parts if part.strip())
        if not content and description and kind is None:
            return marks.mark("Drawing", description)
        return content

    def _body(self, shape: Element, kind: str | None) -> str:
        paragraphs = children(child(shape, "txBody"), "p")
        if kind in TITLES:
            return markdown.heading(" ".join(map(self._text.paragraph, paragraphs)), 2)
        return self._lines(paragraphs, is_list=kind in LISTS and len(paragraphs) > 1)

    def _lines(self, paragraphs: list[Element], *, is_list: bool) -> str:
        counts: Counter[int] = Counter()
        lines = []
        for each in paragraphs:
            text = self._text.paragraph(each)
            if text.strip():
                marker, level = _marker(each, counts, is_list=is_list)
                lines.append(markdown.item(text, level, marker) if marker else text)
        return "\n".join(lines)

    def _graphic(self, frame: Element) -> str:
        data = child(frame, "graphic", "graphicData")
        if data is None:
            return ""
        description = description_in(frame)
        content = "\n\n".join(
            text for each in data if (text := self._graphic_data(each, description))
        )
        return content or (marks.mark("Drawing", description) if description else "")

    def _graphic_data(self, element: Element, description: str) -> str:
        key = attribute(element, "id")
        match local(element):
            case "tbl":
                return markdown.table(markdown.fill_merged(self._rows(element)))
            case "chart":
                return self._drawings.chart(self._part, key)
            case "relIds":
                return self._drawings.diagram(self._part, attribute(element, "dm"))
            case "oleObj":
                return self._read_embedded_file(element, description)
            case "AlternateContent":
                objects = list(descendants(element, "oleObj"))
                with_picture = [each for each in objects if child(each, "pic") is not None]
                return (
                    self._read_embedded_file((with_picture or objects)[0], description)
                    if objects
                    else ""
                )
        return ""

    def _read_embedded_file(self, element: Element, description: str) -> str:
        key = next((value for name, value in element.items() if name.endswith("}id")), "")
        program, name = element.get("progId", ""), element.get("name", "")
        mark = self._drawings.name_embedded_file(self._part, key, program, name)
        blips = descendants(element, "blip")
        pictures = (self._drawings.preview(self._part, attribute(blip, "embed")) for blip in blips)
        return "\n\n".join(filter(None, (f"{mark} {description}".strip(), *pictures)))

    def _rows(self, table: Element) -> list[list[str | None]]:
        return [[self._cell(cell) for cell in children(row, "tc")] for row in children(table, "tr")]

    def _cell(self, cell: Element) -> str | None:
        """Return the text of a cell; None if it is merged with the one above."""
        text = self._lines(children(child(cell, "txBody"), "p"), is_list=False)
        if text.strip():
            return markdown.flat(text)
        return None if cell.get("vMerge") in ("1", "true") else ""

    def _pictures(self, element: Element, description: str) -> str:
        """Return the pictures that an element shows or is filled with."""
        own = (each for each in element if local(each) != "txBody")
        blips = (blip for each in own for blip in _blips(each))
        pictures = (self._drawings.blip(self._part, blip, description) for blip in blips)
        return "\n\n".join(text for text in pictures if text)

    def _media(self, shape: Element) -> list[str]:
        elements = (
            each for each in list_children(shape, "nvPicPr", "nvPr") if local(each) in MEDIA
        )
        return [
            self._drawings.media(self._part, attribute(each, "link"), MEDIA[local(each)])
            for each in elements
        ]


def list_children(element: Element, *path: str) -> list[Element]:
    parent = child(element, *path)
    return list(parent) if parent is not None else []


def _blips(element: Element) -> list[Element]:
    return [element] if local(element) == "blip" else list(descendants(element, "blip"))


def _kind(shape: Element) -> str | None:
    """Return the type of the placeholder that a shape fills; None if it fills none."""
    for each in shape:
        if local(each).startswith("nv"):
            placeholder = child(each, "nvPr", "ph")
            return placeholder.get("type", "obj") if placeholder is not None else None
    return None


def _mark_if_hidden(shape: Element, text: str) -> str:
    properties = (child(each, "cNvPr") for each in shape if local(each).startswith("nv"))
    is_hidden = any(each is not None and each.get("hidden") in ("1", "true") for each in properties)
    return marks.mark("Hidden", text) if is_hidden and text.strip() else text


def _marker(paragraph: Element, counts: Counter[int], *, is_list: bool) -> tuple[str, int]:
    """Return what stands before a paragraph, and its level. Items with numbers are counted."""
    properties = child(paragraph, "pPr")
    level = number(properties.get("lvl", ""), 0, MAX_LEVEL) if properties is not None else 0
    for deeper in [each for each in counts if each > level]:
        del counts[deeper]
    if (automatic := child(properties, "buAutoNum")) is None:
        del counts[level]
        if child(properties, "buNone") is not None:
            return "", level
        has_bullet = child(properties, "buChar") is not None or is_list
        return "-" if has_bullet else "", level
    counts[level] += 1
    start = number(automatic.get("startAt", ""), 1, 32767, 1)
    return _number_marker(automatic.get("type", ""), counts[level] + start - 1), level


def _number_marker(kind: str, count: int) -> str:
    style = next((style for start, style in FORMATS.items() if kind.startswith(start)), "decimal")
    text = format_number(count, style)
    if kind.endswith("ParenBoth"):
        return f"({text})"
    return f"{text})" if kind.endswith("ParenR") else f"{text}."
