"""A viewer's page: a region, and the changes as htmx makes them."""

from turbohtml import Element

from chatapp.rendering.markdown import Append, Change, ReplaceBlock, ReplaceLast
from tests.support import dom


def region() -> Element:
    """An empty one. What it holds, its `inner_html`, is to be what `LiveMarkdown.html` says."""
    return dom.fragment("")


def make(changes: list[Change], region: Element) -> None:
    """All changes of one call: each finds its element before the first is made."""
    for change, element in [(change, _element(change, region)) for change in changes]:
        match change:
            case Append(_, html):
                element.extend(dom.content(html))
            case ReplaceLast(html) | ReplaceBlock(_, html):
                element.replace_with(*dom.content(html))


def _element(change: Change, region: Element) -> Element:
    match change:
        case Append(depth, _):
            for _ in range(depth):
                region = _children(region)[-1]
            return region
        case ReplaceLast():
            return _children(region)[-1]
        case ReplaceBlock(index, _):
            return _children(region)[index]


def _children(element: Element) -> list[Element]:
    return list(dom.elements_in(element))
