"""HTML parsed as a browser does, to be inspected, compared and changed.

Either a document, or a fragment parsed as the content of a `template`, where table cells may appear
outside a table. Searches also find the content of templates.
"""

from collections.abc import Iterator

import turbohtml
from turbohtml import Document, Element, Node, TokenType

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


def document(html: str) -> Document:
    check_closed(html)
    return turbohtml.parse(html)


def fragment(html: str) -> Element:
    """Parse a fragment; the result is its root element."""
    check_closed(html)
    return turbohtml.parse_fragment(html, "template")


def content(html: str) -> list[Node]:
    """Return the nodes of a fragment, to be inserted into a tree."""
    return list(fragment(html).children)


def check_closed(html: str) -> None:
    """Fail if a tag is not closed: browsers repair that, but our templates should not need it."""
    is_open: list[str | None] = []
    for token in turbohtml.tokenize(html):
        if token.type is TokenType.START_TAG and not (token.self_closing or token.tag in VOID):
            is_open.append(token.tag)
        elif token.type is TokenType.END_TAG:
            assert is_open, f"</{token.tag}> ends nothing"
            assert is_open.pop() == token.tag, f"</{token.tag}> ends another"
    assert not is_open, f"<{is_open[-1]}> is not closed"


def elements_in(node: Node) -> Iterator[Element]:
    """Iterate over a node's child elements; a template's children are those of its content."""
    for child in node.children:
        if isinstance(child, Element):
            yield child
        elif isinstance(child, turbohtml.DocumentFragment):
            yield from elements_in(child)
