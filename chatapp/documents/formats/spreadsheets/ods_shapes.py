"""Shapes on an OpenDocument sheet: pictures, text boxes, charts and embedded files."""

from dataclasses import dataclass
from posixpath import normpath

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages

from .marks import mark_chart, mark_missing_picture, mark_text_box, place_picture
from .streams import Attributes, Stream

SHAPES = {
    "frame",
    "custom-shape",
    "rect",
    "ellipse",
    "circle",
    "line",
    "connector",
    "polygon",
    "path",
    "caption",
}


@dataclass
class Shape:
    place: str  # such as " at B5", or empty
    image: str = ""  # names of parts
    embedded: str = ""
    description: str = ""


class Shapes:
    """Writes shapes as blocks of text, with the parts of the file that they show."""

    def __init__(self, archive: Archive, pages: IllustratedPages) -> None:
        self._archive, self._pages = archive, pages

    def write(self, shape: Shape, text: str) -> str:
        if shape.embedded:
            return self._write_object(shape)
        if shape.image:
            return self._write_picture(shape)
        return mark_text_box(shape.place, text)

    def _write_object(self, shape: Shape) -> str:
        part = normpath(f"{shape.embedded}/content.xml")
        chart = _ChartReader()
        if part in self._archive:
            chart.read(self._archive, part)
        if not chart.is_chart:
            self._pages.leave_out("attachment")
            return f"[Embedded file{shape.place} that is not read]"
        self._pages.leave_out("chart")
        return mark_chart(shape.place, chart.title, chart.source)

    def _write_picture(self, shape: Shape) -> str:
        part = normpath(shape.image)
        if part not in self._archive:
            self._pages.leave_out("picture")
            return mark_missing_picture(shape.place, shape.description)
        mark = self._pages.picture(self._archive.part(part), shape.description)
        return place_picture(shape.place, mark)


class _ChartReader(Stream):
    """Finds the title of a chart and the cells that it shows."""

    accepts_document_types = True

    def __init__(self) -> None:
        super().__init__()
        self.is_chart = False
        self.title = self.source = ""
        self._is_in_title = False

    def begin(self, name: str, attributes: Attributes) -> None:
        if name == "chart":
            self.is_chart = True
        elif name == "title" and not self.title:
            self._is_in_title = True
            self.take_text()
        elif name == "plot-area":
            for key, value in attributes.items():
                if key.endswith("cell-range-address"):
                    self.source = value

    def end(self, name: str) -> None:
        if name == "title" and self._is_in_title:
            self.title = " ".join(self.take_text().split())
            self._is_in_title = False
