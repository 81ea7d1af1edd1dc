"""Diagrams (SmartArt) of Office Open XML files: the texts of their data part, as a nested list."""

from collections import defaultdict
from collections.abc import Callable
from xml.etree.ElementTree import Element

from chatapp.documents.formats.output import markdown

from .xml import child, children, number

TEXT_POINTS = {"", "node", "asst"}  # the others are connections and layout
MAX_LEVELS = 20


def list_points(root: Element, read_text: Callable[[Element], str]) -> str:
    """Return the diagram in `dgm:dataModel` as a list. `read_text` reads one of its points."""
    points = {each.get("modelId", ""): each for each in children(child(root, "ptLst"), "pt")}
    below = _children_by_parent(root)
    tops = [key for key, point in points.items() if point.get("type") == "doc"]
    lines: list[str] = []
    seen: set[str] = set()
    waiting = [(key, -1) for key in reversed(list(points))]  # those without a parent come last
    waiting += [(key, -1) for key in reversed(tops)]
    while waiting:
        key, level = waiting.pop()
        point = points.get(key)
        if key in seen or point is None:
            continue
        seen.add(key)
        if point.get("type", "") in TEXT_POINTS and (text := read_text(point).strip()):
            lines.append(markdown.item(text, max(level, 0)))
        following = reversed(below[key])
        waiting += [(each, min(level + 1, MAX_LEVELS)) for each in following]
    return "\n".join(lines)


def _children_by_parent(root: Element) -> defaultdict[str, list[str]]:
    entries_by_parent: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for each in children(child(root, "cxnLst"), "cxn"):
        if each.get("type", "parOf") == "parOf":
            order = number(each.get("srcOrd", ""), 0, 10**6)
            entries_by_parent[each.get("srcId", "")].append((order, each.get("destId", "")))
    below: defaultdict[str, list[str]] = defaultdict(list)
    for parent, entries in entries_by_parent.items():
        below[parent] = [key for _, key in sorted(entries)]
    return below
