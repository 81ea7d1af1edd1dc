"""A page as htmx keeps it: HTML parsed to a tree, and frames swapped into it.

Knows as much of htmx's out-of-band swaps as our frames use, so that a test can say what a person
would read after any sequence of frames. The browser tests do the same with htmx itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
SELECTOR = re.compile(r"#([\w-]+)((?:>:last-child)*)(?:>:nth-child\((\d+)\))?")


@dataclass(eq=False)
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: "list[Element | str]" = field(default_factory=list)
    parent: "Element | None" = None

    def walk(self) -> "Iterator[Element]":
        yield self
        for child in self.elements:
            yield from child.walk()

    @property
    def elements(self) -> "list[Element]":
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def find(self, tag: str = "", **attributes: str) -> "Element":
        """The one element below with this tag and these attributes (`data_reply` is data-reply)."""
        found = self.find_all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of <{tag} {attributes}>"
        return found[0]

    def find_all(self, tag: str = "", **attributes: str) -> "list[Element]":
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.walk()
            if (not tag or element.tag == tag)
            and all(element.attributes.get(name) == value for name, value in wanted.items())
        ]

    def append(self, child: "Element | str") -> None:
        self.children.append(child)
        if isinstance(child, Element):
            child.parent = self

    def replace_with(self, *others: "Element | str") -> None:
        assert self.parent
        at = self.parent.children.index(self)
        self.parent.children[at : at + 1] = others
        for other in others:
            if isinstance(other, Element):
                other.parent = self.parent


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self._open = Element("")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open.append(element)
        if tag not in VOID:
            self._open = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.tag == tag, f"</{tag}> ends <{self._open.tag}>"
            assert self._open.parent
            self._open = self._open.parent

    def handle_data(self, data: str) -> None:
        self._open.append(data)


def parse(html: str) -> Element:
    """The tree of a document or fragment whose tags are all closed."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert parser._open is parser.root, f"<{parser._open.tag}> is not closed"
    return parser.root


class Page:
    """One page and what its socket made of it."""

    def __init__(self, html: str) -> None:
        self.root = parse(html)

    @property
    def socket_url(self) -> str:
        [url] = [
            element.attributes["hx-ws:connect"]
            for element in self.root.walk()
            if "hx-ws:connect" in element.attributes
        ]
        return url

    def form(self) -> dict[str, str]:
        """The composer's fields, as its form would send them."""
        composer = self.root.find("form", id="composer")
        fields = {
            element.attributes["name"]: element.attributes.get("value", "")
            for element in composer.find_all("input")
        }
        [model] = self.root.find_all("select", form="composer")
        chosen = [o for o in model.find_all("option") if "selected" in o.attributes]
        return fields | {"model": (chosen or model.find_all("option"))[0].attributes["value"]}

    def reply(self) -> Element:
        """The newest reply."""
        return [e for e in self.root.find_all("article") if "data-reply" in e.attributes][-1]

    def region(self, name: str) -> str:
        """What a region of the newest reply says; empty where there is none."""
        return "".join(element.text for element in self.reply().find_all(data_region=name))

    def swap(self, frame: str) -> None:
        """Does to the page what htmx does with a frame."""
        fragment = parse(frame)
        for piece in fragment.elements:
            assert "hx-swap-oob" in piece.attributes, f"<{piece.tag}> says not where it goes"
            self._swap(piece, piece.attributes.pop("hx-swap-oob"))
        assert not "".join(c for c in fragment.children if isinstance(c, str)).strip()

    def _swap(self, piece: Element, how: str) -> None:
        style, _, rest = how.partition(" target:")
        if not rest:
            target = self.root.find(id=piece.attributes["id"])
            if style == "outerMorph":
                target.attributes = dict(piece.attributes)
            else:
                target.replace_with(piece)
            return
        for target in self._targets(rest.removesuffix(" strip:true")):
            match style:
                case "append":
                    for child in piece.children:
                        target.append(child)
                case "prepend":
                    for child in reversed(piece.children):
                        target.children.insert(0, child)
                        if isinstance(child, Element):
                            child.parent = target
                case "innerHTML":
                    target.children = []
                    for child in piece.children:
                        target.append(child)
                case "outerHTML":
                    target.replace_with(*piece.children)
                case "delete":
                    target.replace_with()
                case _:
                    raise AssertionError(f"no swap is called {style}")

    def _targets(self, selectors: str) -> list[Element]:
        found = []
        for selector in selectors.split(","):
            match = SELECTOR.fullmatch(selector)
            assert match, f"{selector} is no selector of ours"
            targets = self.root.find_all(id=match[1])
            for _ in range(match[2].count(">")):
                targets = [target.elements[-1] for target in targets]
            if match[3]:
                targets = [target.elements[int(match[3]) - 1] for target in targets]
            found += targets
        return found
