"""Drawings on an Excel sheet: pictures, text boxes, diagrams and charts, with their cells."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import Relationship, relationships
from chatapp.documents.formats.office.xml import attribute, child, descendants, local, parse_xml
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages

from .addresses import MAX_COLUMNS, MAX_ROWS, format_address
from .marks import mark_chart, mark_missing_picture, mark_text_box, place_picture

ANCHORS = ("twoCellAnchor", "oneCellAnchor", "absoluteAnchor")
SHAPES = ("pic", "sp", "cxnSp", "graphicFrame")
MAX_REFERENCES = 10  # of a chart's series


def read_drawing(archive: Archive, part: str, pages: IllustratedPages) -> list[str]:
    """Return a block for each thing in a drawing, in its order."""
    reader = _DrawingReader(archive, relationships(archive, part), pages)
    blocks = (
        reader.read_shape(shape, _place(child(anchor, "from")))
        for anchor in parse_xml(archive.part(part))
        if local(anchor) in ANCHORS
        for shape in _list_shapes(anchor)
    )
    return [block for block in blocks if block]


def _place(start: Element | None) -> str:
    """Return " at B5" for an anchor that begins there."""
    numbers = []
    for name in ("row", "col"):
        element = child(start, name)
        text = (element.text or "").strip() if element is not None else ""
        numbers.append(int(text) if text.isdecimal() and len(text) < 8 else -1)
    row, column = numbers
    is_cell = 0 <= row < MAX_ROWS and 0 <= column < MAX_COLUMNS
    return f" at {format_address(row, column)}" if is_cell else ""


def _list_shapes(container: Element) -> Iterator[Element]:
    """Yield shapes, those in groups too. Of alternatives only the first is yielded."""
    for each in container:
        match local(each):
            case "grpSp" | "Choice":
                yield from _list_shapes(each)
            case "AlternateContent":
                yield from _list_shapes(each)
            case name if name in SHAPES:
                yield each


class _DrawingReader:
    """Reads the shapes of one drawing, with its parts at hand."""

    def __init__(
        self, archive: Archive, targets: dict[str, Relationship], pages: IllustratedPages
    ) -> None:
        self._archive, self._targets, self._pages = archive, targets, pages

    def read_shape(self, shape: Element, place: str) -> str:
        match local(shape):
            case "pic":
                return self._read_picture(shape, place)
            case "graphicFrame":
                return self._read_frame(shape, place)
        text = _text(child(shape, "txBody"))
        return mark_text_box(place, text)

    def _read_picture(self, shape: Element, place: str) -> str:
        properties = next(descendants(shape, "cNvPr"), None)
        description = properties.get("descr", "") if properties is not None else ""
        part = self._find_part(next(descendants(shape, "blip"), None), "embed")
        if not part:
            self._pages.leave_out("picture")
            return mark_missing_picture(place, description)
        mark = self._pages.picture(self._archive.part(part), description)
        return place_picture(place, mark)

    def _read_frame(self, frame: Element, place: str) -> str:
        """Read a chart or a diagram. Others, such as slicers, have no text of their own."""
        if chart := self._find_part(next(descendants(frame, "chart"), None), "id"):
            self._pages.leave_out("chart")
            return _write_chart(parse_xml(self._archive.part(chart)), place)
        if diagram := self._find_part(next(descendants(frame, "relIds"), None), "dm"):
            points = descendants(parse_xml(self._archive.part(diagram)), "pt")
            texts = [text for point in points if (text := _text(point))]
            return f"[Diagram{place}: {'; '.join(texts)}]" if texts else ""
        return ""

    def _find_part(self, element: Element | None, name: str) -> str:
        """Return the part that an attribute of the element refers to, or an empty string."""
        target = self._targets.get(attribute(element, name)) if element is not None else None
        return target.target if target and target.target in self._archive else ""


def _write_chart(root: Element, place: str) -> str:
    """Return a chart's title, and where its data is."""
    title = next(descendants(root, "title"), None)
    name = _text(title) if title is not None else ""
    if title is not None and not name:
        name = " ".join(value.text or "" for value in descendants(title, "v"))
    references = [each.text.strip() for value in _list_values(root) for each in value if each.text]
    data = ", ".join(dict.fromkeys(references[:MAX_REFERENCES]))
    return mark_chart(place, name, data)


def _list_values(root: Element) -> Iterator[list[Element]]:
    for kind in ("cat", "xVal", "val", "yVal", "bubbleSize", "numDim", "strDim"):
        for values in descendants(root, kind):
            yield list(descendants(values, "f"))


def _text(element: Element | None) -> str:
    if element is None:
        return ""
    paragraphs = descendants(element, "p")
    lines = ("".join(run.text or "" for run in descendants(each, "t")) for each in paragraphs)
    return " ".join(" ".join(lines).split())
