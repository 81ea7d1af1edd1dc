"""Styles of a Word file: which paragraphs are headings or list items, which runs are hidden."""

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import find_related_part
from chatapp.documents.formats.office.xml import attribute, child, children, number, parse_xml

from .numbering import MAX_LEVEL, Numbering

HEADING = re.compile(r"heading ([1-9])")
NESTED_LIST = re.compile(r"list (?:bullet|number) ([2-9])")
MAX_INHERITED = 20  # styles based on styles


@dataclass(frozen=True)
class Style:
    heading: int = 0  # its level, from 1
    marker: str = ""  # before an item or a heading: "-" or a number as Word shows it
    level: int = 0  # of an item, from 0
    begins_page: bool = False


class Styles:
    """The styles and numberings of a file."""

    def __init__(self, archive: Archive, main: str) -> None:
        styles = _read_related_part(archive, main, "styles")
        self._styles = {attribute(each, "styleId"): each for each in children(styles, "style")}
        self._numbering = Numbering(_read_related_part(archive, main, "numbering"), self._styles)
        self._known: dict[str, list[Element]] = {}

    def next(self, paragraph: Element) -> Style:
        """Return the style of the next paragraph of the file, whose number is counted."""
        own = child(paragraph, "pPr")
        chain = self._chain(_value(child(own, "pStyle")))
        properties = [own, *(child(style, "pPr") for style in chain)]
        begins_page = is_on(_first(properties, "pageBreakBefore"))
        marker, depth = self._marker(properties, chain)
        if level := _heading(chain, properties):
            return Style(level, marker.removeprefix("-"), begins_page=begins_page)
        return Style(marker=marker, level=depth or _nesting(chain), begins_page=begins_page)

    def has(self, run: Element, name: str) -> bool:
        """Return whether a run has a property that is on or off, such as `vanish`."""
        return is_on(self.run_property(run, name))

    def run_property(self, run: Element, name: str) -> Element | None:
        own = child(run, "rPr")
        if own is None:
            return None
        chain = self._chain(_value(child(own, "rStyle")))
        return _first([own, *(child(style, "rPr") for style in chain)], name)

    def _chain(self, style_id: str) -> list[Element]:
        """Return a style and those that it is based on."""
        if style_id not in self._known:
            chain: list[Element] = []
            following = style_id
            while (style := self._styles.get(following)) is not None and len(chain) < MAX_INHERITED:
                chain.append(style)
                following = _value(child(style, "basedOn"))
            self._known[style_id] = chain
        return self._known[style_id]

    def _marker(self, properties: list[Element | None], chain: list[Element]) -> tuple[str, int]:
        """Return what stands before a paragraph that is numbered, and its level."""
        numberings = [child(each, "numPr") for each in properties]
        key = _value(_first(numberings, "numId"))
        if key in ("", "0"):
            return "", 0
        if (stated := _first(numberings, "ilvl")) is not None:
            level = number(_value(stated), 0, MAX_LEVEL)
        else:
            style_ids = ["", *(attribute(style, "styleId") for style in chain)]
            holder = next(i for i, each in enumerate(numberings) if each is not None)
            level = self._numbering.level_of_style(key, style_ids[holder])
        return self._numbering.next_marker(key, level), level


def _heading(chain: list[Element], properties: list[Element | None]) -> int:
    for style in chain:
        name = _value(child(style, "name")).lower()
        if match := HEADING.fullmatch(name):
            return int(match[1])
        if name == "title":
            return 1
    for each in properties:
        level = _value(child(each, "outlineLvl"))
        if level.isdecimal() and int(level) < 9:  # 9 is body text
            return int(level) + 1
    return 0


def _nesting(chain: list[Element]) -> int:
    """Return the level of Word's own styles for nested lists, which have a numbering each."""
    match = NESTED_LIST.fullmatch(_value(child(chain[0], "name")).lower()) if chain else None
    return int(match[1]) - 1 if match else 0


def _read_related_part(archive: Archive, main: str, kind: str) -> Element | None:
    name = find_related_part(archive, main, kind)
    return parse_xml(archive.part(name)) if name else None


def _value(element: Element | None) -> str:
    return attribute(element, "val") if element is not None else ""


def _first(elements: list[Element | None], name: str) -> Element | None:
    """Return the child of this name of the first element that has one."""
    candidates = (child(each, name) for each in elements)
    return next((each for each in candidates if each is not None), None)


def is_on(element: Element | None) -> bool:
    return element is not None and _value(element) not in ("0", "false", "off")
