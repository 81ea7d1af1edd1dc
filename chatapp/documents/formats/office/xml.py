"""Parses the XML of Office files. Document types are refused, and with them all entities.

Names are compared without their namespaces, because Office files come with two sets of them.
"""

from collections.abc import Callable, Iterator
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError, XMLParser
from xml.parsers import expat
from zipfile import BadZipFile

from chatapp.documents import refusals
from chatapp.documents.results import Unreadable

# What reading a part raises if it is missing, damaged or hostile.
PART_ERRORS = (Unreadable, ParseError, expat.ExpatError, BadZipFile, ValueError)
MAX_DEPTH = 200  # the readers recurse


def parse_xml(content: bytes) -> Element:
    """Return the root element. Raises `Unreadable` and `ParseError`."""
    _check(content)
    parser = XMLParser()  # noqa: S314 - the document type, where all attacks are, is refused above
    parser.feed(content)
    root: Element = parser.close()
    return root


class _Checker:
    """Stops expat at a document type, and at elements that are nested too deeply."""

    def __init__(self) -> None:
        self._depth = 0

    def begin(self, _name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise refusals.damaged()

    def end(self, _name: str) -> None:
        self._depth -= 1

    def refuse(self, *_declaration: object) -> NoReturn:
        raise refusals.declares_entities()


def _check(content: bytes) -> None:
    checker = _Checker()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = checker.refuse
    parser.StartElementHandler = checker.begin
    parser.EndElementHandler = checker.end
    parser.Parse(content, True)


def local(element: Element) -> str:
    """Return an element's name without its namespace."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    """Return the attribute of this name in any namespace, or an empty string."""
    if (value := element.get(name)) is not None:
        return value
    return next((v for key, v in element.items() if key.rpartition("}")[2] == name), "")


def number(text: str, minimum: int, maximum: int, default: int = 0) -> int:
    """Return the number that an attribute says, within bounds."""
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        return default
    return min(max(int(text), minimum), maximum)


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first child by a path of names."""
    for name in path:
        if element is None:
            return None
        element = next((each for each in element if local(each) == name), None)
    return element


def children(element: Element | None, name: str) -> list[Element]:
    return [each for each in element if local(each) == name] if element is not None else []


def descendants(
    element: Element, name: str, enters: Callable[[Element], bool] = lambda _: True
) -> Iterator[Element]:
    """Yield the outermost descendants of this name."""
    for each in element:
        if local(each) == name:
            yield each
        elif enters(each):
            yield from descendants(each, name, enters)
