"""A viewer's page: a region, and changes applied to it as htmx does."""

from turbohtml import Element

from chatapp.rendering.markdown import Append, Change, ReplaceBlock, ReplaceLast
from tests.support import dom


def region() -> Element:
    """Return an empty region. Its `inner_html` must always equal `LiveMarkdown.html`."""
    return dom.fragment("")


def make(changes: list[Change], region: Element) -> None:
    """Apply the changes of one call. All elements are found before the first change."""
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
