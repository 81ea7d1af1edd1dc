"""Reads HTML as a browser does, and says what chatapp.markdown.allowed forbids of it."""

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import html5lib

from chatapp.markdown.allowed import MATHML, PROSE, SCHEMES

HTML, MATH = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/1998/Math/MathML}"
ALLOWED = {HTML + tag: forms for tag, forms in PROSE.items()} | {
    MATH + tag: forms for tag, forms in MATHML.items()
}
# What a browser leaves out of an address before it looks for the scheme.
LEFT_OUT = re.compile(r"[\t\n\r]|^[\x00-\x20]+")
# htmx looks for these in a message's text, not among its tags.
SEEN_BY_HTMX = re.compile(r"<(?:hx-|head|title|body|html|script|template)", re.IGNORECASE)


@lru_cache(maxsize=20_000)
def breaches(html: str) -> list[str]:
    """What the HTML of foreign text holds outside the list; empty where all is well."""
    found = [f"{match[0]} in the text" for match in SEEN_BY_HTMX.finditer(html)]
    for element in parsed(html).iter():
        found += _of(element)
    return found


def parsed(html: str) -> Element:
    root: Element = html5lib.parseFragment(html, container="div")
    root.tag = HTML + "div"
    return root


def breaches_below(root: Element, attribute: str) -> list[str]:
    """The same for what stands below the elements that hold foreign text, by their attribute."""
    holders = [element for element in root.iter() if attribute in element.attrib]
    below = {
        id(inner): inner for element in holders for inner in element.iter() if inner != element
    }
    return [breach for element in below.values() for breach in _of(element)]


def skeleton(root: Element, attribute: str = "hx-ignore") -> list[str]:
    """The elements outside foreign text, with the names of their attributes."""
    shape = [f"{root.tag} {' '.join(sorted(root.attrib))}"]
    if attribute not in root.attrib:
        for child in root:
            shape += skeleton(child, attribute)
    return shape


def _of(element: Element) -> Iterator[str]:
    tag = element.tag
    if not isinstance(tag, str):
        yield f"a comment: {element.text!r}"
        return
    if tag not in ALLOWED:
        yield f"<{tag}>"
        return
    for name, value in element.attrib.items():
        form = ALLOWED[tag].get(name)
        if form is None or form.fullmatch(value) is None:
            yield f"<{tag} {name}={value!r}>"
    address = element.attrib.get("href")
    if address is not None and urlsplit(LEFT_OUT.sub("", address)).scheme not in SCHEMES:
        yield f"the address {address!r}"
