"""Values of Excel's cells that are no text: pictures in a cell, and data types such as shares.

Old versions of Excel show `#VALUE!` in such cells. A cell has the number of a value's metadata,
which has the number of the value. A picture is the number of a relationship ([MS-XLSX] 2.3).
"""

from collections.abc import Sequence
from typing import TypeVar
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import find_related_part, relationships
from chatapp.documents.formats.office.xml import attribute, child, children, descendants, parse_xml
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages

from .marks import mark_missing_picture

T = TypeVar("T")
PICTURE, TEXT, DISPLAY_STRING = "_rvRel:LocalImageIdentifier", "Text", "_DisplayString"


class RichValues:
    """Writes the values of one workbook, which are read when the first is asked for."""

    def __init__(self, archive: Archive, main: str, pages: IllustratedPages) -> None:
        self._archive, self._main, self._pages = archive, main, pages
        self._values: Sequence[dict[str, str]] | None = None
        self._pictures: Sequence[str] | None = None  # their names

    def write(self, number: str) -> str:
        """Return what a cell with this number shows, or an empty text if it isn't known."""
        if self._values is None:
            self._values = self._read_values()
        value = _item(self._values, number, first=1) or {}
        if PICTURE not in value:
            return value.get(DISPLAY_STRING, "")
        part = self._find_picture(value[PICTURE])
        if part not in self._archive:
            self._pages.leave_out("picture")
            return mark_missing_picture("", value.get(TEXT, ""))
        mark = self._pages.picture(self._archive.part(part), value.get(TEXT, ""))
        return mark or "[Small picture]"

    def _read_values(self) -> Sequence[dict[str, str]]:
        """Return the fields of each value, in the order of their metadata."""
        structures = [
            [attribute(key, "n") for key in children(structure, "k")]
            for structure in self._list("rdRichValueStructure", "s")
        ]
        fields = []
        for value in self._list("rdRichValue", "rv"):
            keys = _item(structures, value.get("s", "")) or []
            texts = (each.text or "" for each in children(value, "v"))
            fields.append(dict(zip(keys, texts, strict=False)))
        metadata = self._root("sheetMetadata")
        numbers = [
            next((attribute(rich, "i") for rich in descendants(block, "rvb")), "")
            for block in children(child(metadata, "futureMetadata"), "bk")
        ]
        blocks = children(child(metadata, "valueMetadata"), "bk")
        records = (next(iter(children(block, "rc")), None) for block in blocks)
        places = (record.get("v", "") if record is not None else "" for record in records)
        return [_item(fields, _item(numbers, place) or "") or {} for place in places]

    def _find_picture(self, number: str) -> str:
        if self._pictures is None:
            part = find_related_part(self._archive, self._main, "richValueRel")
            targets = relationships(self._archive, part) if part else {}
            entries = (
                targets.get(attribute(element, "id"))
                for element in self._list("richValueRel", "rel")
            )
            self._pictures = [element.target if element else "" for element in entries]
        return _item(self._pictures, number) or ""

    def _list(self, kind: str, name: str) -> list[Element]:
        return children(self._root(kind), name)

    def _root(self, kind: str) -> Element | None:
        part = find_related_part(self._archive, self._main, kind)
        return parse_xml(self._archive.part(part)) if part else None


def _item(items: Sequence[T], number: str, first: int = 0) -> T | None:
    index = int(number) - first if number.isdecimal() and len(number) < 10 else -1
    return items[index] if 0 <= index < len(items) else None
