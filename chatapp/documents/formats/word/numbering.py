"""Counts the lists and headings of a Word file, to write their numbers as Word shows them."""

import re
from collections import defaultdict
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.numbering import format_number
from chatapp.documents.formats.office.symbols import translate
from chatapp.documents.formats.office.xml import attribute, child, children, number

PLACE = re.compile(r"%([1-9])")
BULLET = "-"
MAX_LEVEL = 8
MAX_MARKER_LENGTH = 60


@dataclass(frozen=True)
class Level:
    format: str
    text: str  # such as "%1.%2."
    start: int
    restarts: bool
    is_legal: bool  # all numbers in it are decimal
    style: str  # the paragraph style that has this level


class Numbering:
    """The numberings of a file and their counts so far."""

    def __init__(self, root: Element | None, styles: dict[str, Element]) -> None:
        abstracts = {
            attribute(each, "abstractNumId"): each for each in children(root, "abstractNum")
        }
        self._abstract_by_number: dict[str, str] = {}
        self._levels: dict[str, dict[int, Level]] = {}
        self._starts: dict[tuple[str, int], int] = {}
        for each in children(root, "num"):
            key, abstract = attribute(each, "numId"), _value(child(each, "abstractNumId"))
            linked = _value(child(abstracts.get(abstract), "numStyleLink"))
            if linked:  # the numbering is that of a style
                style = styles.get(linked)
                of_style = (
                    _value(child(style, "pPr", "numPr", "numId")) if style is not None else ""
                )
                abstract = next(
                    (
                        _value(child(other, "abstractNumId"))
                        for other in children(root, "num")
                        if attribute(other, "numId") == of_style
                    ),
                    abstract,
                )
            self._abstract_by_number[key] = abstract
            self._levels[key] = _levels(abstracts.get(abstract))
            self._override(key, each)
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)

    def level_of_style(self, key: str, style: str) -> int:
        levels = self._levels.get(key, {})
        return next((each for each, level in levels.items() if level.style == style), 0)

    def next_marker(self, key: str, level: int) -> str:
        """Count an item; return what stands before it: `BULLET`, a number, or an empty string."""
        levels = self._levels.get(key, {})
        if not levels:
            return ""
        if (own := levels.get(level)) is None:
            return BULLET
        if own.format == "bullet":
            return BULLET
        counts = self._counts[self._abstract_by_number[key]]
        start = self._starts.pop((key, level), None)
        counts[level] = start if start is not None else counts.get(level, own.start - 1) + 1
        for deeper in [each for each in counts if each > level]:
            if deeper not in levels or levels[deeper].restarts:
                del counts[deeper]
        text = PLACE.sub(lambda place: _count(int(place[1]) - 1, own, levels, counts), own.text)
        return " ".join(translate(text).split())[:MAX_MARKER_LENGTH]

    def _override(self, key: str, num: Element) -> None:
        for override in children(num, "lvlOverride"):
            level = number(attribute(override, "ilvl"), 0, MAX_LEVEL)
            if (own := child(override, "lvl")) is not None:
                self._levels[key][level] = _level(own)
            if (start := child(override, "startOverride")) is not None:
                self._starts[key, level] = number(_value(start), 0, 10**6, 1)


def _count(level: int, own: Level, levels: dict[int, Level], counts: dict[int, int]) -> str:
    if level not in levels:
        return ""
    count = counts.setdefault(level, levels[level].start)
    kind = "decimal" if own.is_legal else levels[level].format
    return "" if kind == "none" else format_number(count, kind)


def _levels(abstract: Element | None) -> dict[int, Level]:
    return {
        number(attribute(each, "ilvl"), 0, MAX_LEVEL): _level(each)
        for each in children(abstract, "lvl")
    }


def _level(level: Element) -> Level:
    return Level(
        _value(child(level, "numFmt")) or "decimal",
        _value(child(level, "lvlText")),
        number(_value(child(level, "start")), 0, 10**6, 1),
        _value(child(level, "lvlRestart")) != "0",
        _is_on(child(level, "isLgl")),
        _value(child(level, "pStyle")),
    )


def _is_on(element: Element | None) -> bool:
    return element is not None and _value(element) not in ("0", "false", "off")


def _value(element: Element | None) -> str:
    return attribute(element, "val") if element is not None else ""
