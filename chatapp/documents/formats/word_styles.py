"""Which paragraphs of a Word file are headings and items of lists."""

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from .archive import Archive
from .relationships import related
from .xml import attribute, child, children, parsed

HEADING = re.compile(r"heading ([1-9])")
NESTED_LIST = re.compile(r"list (?:bullet|number) ([2-9])")
MAX_INHERITED = 20  # styles based on styles


@dataclass(frozen=True)
class Style:
    heading: int = 0  # its level, from 1
    marker: str = ""  # of an item: "-" or "1."
    level: int = 0  # of an item, from 0
    begins_page: bool = False


class Styles:
    """The styles and numberings of a file."""

    def __init__(self, archive: Archive, main: str) -> None:
        styles = _related(archive, main, "styles")
        self._styles = {attribute(each, "styleId"): each for each in children(styles, "style")}
        numbering = _related(archive, main, "numbering")
        abstract = {
            attribute(each, "abstractNumId"): each for each in children(numbering, "abstractNum")
        }
        self._numberings = {
            attribute(each, "numId"): abstract.get(_value(child(each, "abstractNumId")))
            for each in children(numbering, "num")
        }
        self._known: dict[str, list[Element]] = {}

    def of(self, paragraph: Element) -> Style:
        own = child(paragraph, "pPr")
        chain = self._chain(_value(child(own, "pStyle")))
        properties = [own, *(child(style, "pPr") for style in chain)]
        begins_page = child(own, "pageBreakBefore") is not None
        if level := _heading(chain, properties):
            return Style(heading=level, begins_page=begins_page)
        marker, depth = self._numbering(properties)
        return Style(marker=marker, level=depth or _nesting(chain), begins_page=begins_page)

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

    def _numbering(self, properties: list[Element | None]) -> tuple[str, int]:
        numbering = next(
            (found for each in properties if (found := child(each, "numPr")) is not None), None
        )
        number = _value(child(numbering, "numId"))
        abstract = self._numberings.get(number)
        if number in ("", "0") or abstract is None:
            return "", 0
        level = _value(child(numbering, "ilvl")) or "0"
        for each in children(abstract, "lvl"):
            if attribute(each, "ilvl") == level:
                is_bullet = _value(child(each, "numFmt")) in ("bullet", "none")
                return "-" if is_bullet else "1.", int(level) if level.isdecimal() else 0
        return "-", 0


def _heading(chain: list[Element], properties: list[Element | None]) -> int:
    for style in chain:
        name = _value(child(style, "name")).lower()
        if found := HEADING.fullmatch(name):
            return int(found[1])
        if name == "title":
            return 1
    for each in properties:
        level = _value(child(each, "outlineLvl"))
        if level.isdecimal() and int(level) < 9:  # 9 is body text
            return int(level) + 1
    return 0


def _nesting(chain: list[Element]) -> int:
    """Return the level of Word's own styles for nested lists, which have a numbering each."""
    found = NESTED_LIST.fullmatch(_value(child(chain[0], "name")).lower()) if chain else None
    return int(found[1]) - 1 if found else 0


def _related(archive: Archive, main: str, kind: str) -> Element | None:
    name = related(archive, main, kind)
    return parsed(archive.part(name)) if name else None


def _value(element: Element | None) -> str:
    return attribute(element, "val") if element is not None else ""
