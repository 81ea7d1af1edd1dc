"""Reads HTML as a browser does and reports what chatapp.rendering.markdown.allowed forbids."""

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit

from turbohtml import DocumentFragment, Element, Namespace, Node, Text, parse_fragment

from chatapp.rendering.markdown.allowed import MATHML, PROSE, SCHEMES
from tests.support import dom

ALLOWED = {Namespace.HTML: PROSE, Namespace.MATHML: MATHML, Namespace.SVG: {}}
# A browser removes these from an address before it looks for the scheme.
LEFT_OUT = re.compile(r"[\t\n\r]|^[\x00-\x20]+")
# htmx looks for these in the raw text, not among the parsed tags.
SEEN_BY_HTMX = re.compile(r"<(?:hx-|head|title|body|html|script|template)", re.IGNORECASE)


@lru_cache(maxsize=20_000)
def breaches(html: str) -> list[str]:
    """Return what the HTML of foreign text has outside the allowlist; empty if nothing."""
    problems = [f"{match[0]} in the text" for match in SEEN_BY_HTMX.finditer(html)]
    for node in parse_foreign(html).descendants:
        problems += _find_breaches(node)
    return problems


def parse_foreign(html: str) -> Element:
    """Parse HTML as if put into a `div`, however malformed it is."""
    return parse_fragment(html, "div")


def breaches_below(root: Node, attribute: str) -> list[str]:
    """Return the breaches below all elements with this attribute, which hold foreign text."""
    holders = root.select(f"[{attribute}]")
    below = {id(inner): inner for element in holders for inner in element.descendants}
    return [breach for node in below.values() for breach in _find_breaches(node)]


def skeleton(root: Element, attribute: str = "hx-ignore") -> list[str]:
    """Return the elements outside foreign text, with the names of their attributes."""
    shape = [f"{root.namespace} {root.tag} {' '.join(sorted(root.attrs))}"]
    if attribute not in root.attrs:
        for child in dom.elements_in(root):
            shape += skeleton(child, attribute)
    return shape


def _find_breaches(node: Node) -> Iterator[str]:
    if isinstance(node, Element):
        yield from _find_element_breaches(node)
    elif not isinstance(node, Text | DocumentFragment):  # a template's content
        yield f"a {type(node).__name__}"


def _find_element_breaches(element: Element) -> Iterator[str]:
    forms = ALLOWED[element.namespace].get(element.tag)
    if forms is None:
        yield f"<{element.tag}>"
        return
    for name in element.attrs:
        value, form = element.attr(name, ""), forms.get(name)
        if form is None or value is None or form.fullmatch(value) is None:
            yield f"<{element.tag} {name}={value!r}>"
    address = element.attr("href")
    if address is not None and urlsplit(LEFT_OUT.sub("", address)).scheme not in SCHEMES:
        yield f"the address {address!r}"
