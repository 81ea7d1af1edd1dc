"""HTML as a browser's parser reads it, to be looked into, compared and changed.

A document, or a fragment as it would stand in a `template`, where table cells may stand alone.
What a template holds is found like everything else.
"""

from collections.abc import Iterator

import turbohtml
from turbohtml import Document, Element, Node, TokenType

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


def document(html: str) -> Document:
    check_closed(html)
    return turbohtml.parse(html)


def fragment(html: str) -> Element:
    """The fragment below an element of its own."""
    check_closed(html)
    return turbohtml.parse_fragment(html, "template")


def content(html: str) -> list[Node]:
    """The nodes of a fragment, to be put into a tree."""
    return list(fragment(html).children)


def check_closed(html: str) -> None:
    """A parser repairs what is not closed; a reader of our templates should not have to."""
    is_open: list[str | None] = []
    for token in turbohtml.tokenize(html):
        if token.type is TokenType.START_TAG and not (token.self_closing or token.tag in VOID):
            is_open.append(token.tag)
        elif token.type is TokenType.END_TAG:
            assert is_open, f"</{token.tag}> ends nothing"
            assert is_open.pop() == token.tag, f"</{token.tag}> ends another"
    assert not is_open, f"<{is_open[-1]}> is not closed"


def elements_in(node: Node) -> Iterator[Element]:
    """The elements right below a node, those of a template being its content's."""
    for child in node.children:
        if isinstance(child, Element):
            yield child
        elif isinstance(child, turbohtml.DocumentFragment):
            yield from elements_in(child)
