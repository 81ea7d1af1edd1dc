"""A viewer's page: the little of a browser's DOM that the changes need."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

from chatapp.markdown import Append, Change, ReplaceBlock, ReplaceLast

_VOID = {"br", "hr", "input"}


@dataclass
class Element:
    tag: str
    attributes: tuple[tuple[str, str | None], ...] = ()
    children: list[Element | str] = field(default_factory=list)

    @property
    def last_element(self) -> Element:
        return [child for child in self.children if isinstance(child, Element)][-1]

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)


class _Writer(HTMLParser):
    """Writes HTML at an element's end; refuses what is not balanced."""

    def __init__(self, into: Element) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [into]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, tuple(attrs))
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        children = self.open[-1].children
        if children and isinstance(children[-1], str):
            children[-1] += data
        else:
            children.append(data)


def write(html: str, into: Element) -> Element:
    writer = _Writer(into)
    writer.feed(html)
    writer.close()
    assert writer.open == [into], html
    return into


def parse(html: str) -> Element:
    return write(html, Element("region"))


def make(changes: list[Change], region: Element) -> None:
    """All changes of one call, as htmx makes them: every place is found before the first swap."""
    for change, place in [(change, _place(change, region)) for change in changes]:
        match change:
            case Append(_, html):
                write(html, place)
            case ReplaceLast(html) | ReplaceBlock(_, html):
                at = next(i for i, child in enumerate(region.children) if child is place)
                region.children[at : at + 1] = parse(html).children


def _place(change: Change, region: Element) -> Element:
    match change:
        case Append(depth, _):
            for _ in range(depth):
                region = region.last_element
            return region
        case ReplaceLast():
            return region.last_element
        case ReplaceBlock(index, _):
            return region.children[index]
