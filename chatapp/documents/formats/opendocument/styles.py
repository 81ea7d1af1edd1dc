"""Styles of OpenDocument files: what is hidden or struck, where pages end, and numbers of lists."""

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.numbering import format_number
from chatapp.documents.formats.office.xml import attribute, child, children, local, number

MAX_INHERITED = 20  # styles based on styles
MAX_LEVEL = 10
BULLET = "-"
TITLE = "Title"
CONTAINERS = ("font-face-decls", "styles", "automatic-styles", "master-styles")


@dataclass(frozen=True)
class ListLevel:
    """The numbering of a level's items; without a format they have a bullet or nothing."""

    format: str
    prefix: str
    suffix: str
    display_levels: int
    start: int
    is_bullet: bool


@dataclass
class ListCounts:
    """The list that is being read: its style, and the count at each level so far."""

    style: dict[int, ListLevel]
    counts: dict[int, int] = field(default_factory=dict)

    def next_marker(self, level: int, start: str = "") -> str:
        """Count an item of a level, from 0; return what stands before it."""
        own = self.style.get(level)
        if own is None:
            return BULLET
        begin = number(start, 0, 10**6, own.start)
        self.counts[level] = begin if start else self.counts.get(level, own.start - 1) + 1
        for deeper in [each for each in self.counts if each > level]:
            del self.counts[deeper]
        if own.is_bullet:
            return BULLET
        return self._number(level, own) if own.format else ""

    def _number(self, level: int, own: ListLevel) -> str:
        first = max(level - own.display_levels + 1, 0)
        numbers = []
        for each in range(first, level + 1):
            list_level = self.style.get(each)
            if list_level is not None and list_level.format:
                numbers.append(
                    format_number(self.counts.get(each, list_level.start), list_level.format)
                )
        return f"{own.prefix}{'.'.join(numbers)}{own.suffix}".strip()


class Styles:
    """The styles of a file, those of content.xml and those of styles.xml."""

    def __init__(self, *roots: Element | None) -> None:
        self._styles: dict[tuple[str, str], Element] = {}
        self._lists: dict[str, dict[int, ListLevel]] = {}
        self.outline: dict[int, ListLevel] = {}
        for root in roots:
            for container in root if root is not None else ():
                if local(container) in CONTAINERS:
                    self._add(container)

    def _add(self, container: Element) -> None:
        for each in container:
            match local(each):
                case "style":
                    self._styles[attribute(each, "family"), attribute(each, "name")] = each
                case "list-style":
                    self._lists[attribute(each, "name")] = _levels(each)
                case "outline-style":
                    self.outline = _levels(each)

    def list_levels(self, name: str) -> dict[int, ListLevel]:
        return self._lists.get(name, {})

    def is_hidden(self, family: str, name: str) -> bool:
        return self._property(family, name, "text-properties", "display") == "none"

    def is_struck(self, name: str) -> bool:
        line = self._property("text", name, "text-properties", "text-line-through-style")
        return line not in ("", "none")

    def is_raised(self, name: str) -> bool:
        place = self._property("text", name, "text-properties", "text-position")
        return place.startswith("super") or place[:1] in set("123456789")

    def is_title(self, name: str) -> bool:
        """Return whether a paragraph has the style of the document's title, or one based on it."""
        for _ in range(MAX_INHERITED):
            if name == TITLE or not name:
                break
            style = self._styles.get(("paragraph", name))
            name = attribute(style, "parent-style-name") if style is not None else ""
        return name == TITLE

    def begins_page(self, family: str, name: str) -> bool:
        """Return whether a paragraph or table with this style stands on a new page."""
        own = self._styles.get((family, name))
        if own is not None and attribute(own, "master-page-name"):
            return True
        return self._property(family, name, f"{family}-properties", "break-before") == "page"

    def ends_page(self, family: str, name: str) -> bool:
        return self._property(family, name, f"{family}-properties", "break-after") == "page"

    def is_hidden_slide(self, name: str) -> bool:
        visibility = self._property("drawing-page", name, "drawing-page-properties", "visibility")
        return visibility == "hidden"

    def master_pages(self) -> set[str]:
        """Return the names of master pages that styles refer to."""
        names = {attribute(each, "master-page-name") for each in self._styles.values()}
        return names - {""}

    def _property(self, family: str, name: str, kind: str, key: str) -> str:
        for _ in range(MAX_INHERITED):
            style = self._styles.get((family, name))
            if style is None:
                return ""
            properties = child(style, kind)
            if properties is not None and (value := attribute(properties, key)):
                return value
            name = attribute(style, "parent-style-name")
        return ""


def _levels(style: Element) -> dict[int, ListLevel]:
    return {
        number(attribute(each, "level"), 1, MAX_LEVEL, 1) - 1: ListLevel(
            attribute(each, "num-format"),
            attribute(each, "num-prefix"),
            attribute(each, "num-suffix"),
            number(attribute(each, "display-levels"), 1, MAX_LEVEL, 1),
            number(attribute(each, "start-value"), 0, 10**6, 1),
            local(each) in ("list-level-style-bullet", "list-level-style-image"),
        )
        for each in style
    }


def headers_and_footers(root: Element | None, used: set[str]) -> list[tuple[str, Element]]:
    """Return those of the master pages that are used, with the word for what they are."""
    masters = children(child(root, "master-styles"), "master-page")
    elements = []
    for master in masters:
        is_used = attribute(master, "name") in used or master is masters[0]
        for each in master if is_used else ():
            kind = local(each).partition("-")[0]
            if kind in ("header", "footer") and attribute(each, "display") != "false":
                elements.append((kind.capitalize(), each))
    return elements
