"""A page as htmx keeps it: HTML parsed to a tree, with frames swapped into it.

It implements those of htmx's out-of-band swaps that our frames use, so that a test can say what a
person would read after any sequence of frames. The browser tests do the same with htmx itself.
"""

import re
from collections.abc import Iterator, MutableMapping

import turbohtml
from turbohtml import Node

from tests.support import dom


def has_word(page: str, word: str) -> bool:
    """Whether the source of a page has a word. The letters of its random tokens are none."""
    return re.search(rf"\b{re.escape(word)}\b", page) is not None


class Attributes(MutableMapping[str, str]):
    """An element's attributes, each as written."""

    def __init__(self, element: turbohtml.Element) -> None:
        self._element = element

    def __getitem__(self, name: str) -> str:
        value = self._element.attr(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: str) -> None:
        self._element.attrs[name] = value

    def __delitem__(self, name: str) -> None:
        del self._element.attrs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._element.attrs)

    def __len__(self) -> int:
        return len(self._element.attrs)


class Element:
    """An element, or a whole page, with what tests ask of it."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def attributes(self) -> Attributes:
        assert isinstance(self.node, turbohtml.Element)
        return Attributes(self.node)

    @property
    def elements(self) -> "list[Element]":
        return [Element(child) for child in dom.elements_in(self.node)]

    @property
    def text(self) -> str:
        return self.node.text

    @property
    def html(self) -> str:
        assert isinstance(self.node, turbohtml.Element)
        return self.node.html

    def find(self, tag: str = "", **attributes: str) -> "Element":
        """Return the only descendant with this tag and these attributes (`data_reply` is
        data-reply)."""
        matches = self.find_all(tag, **attributes)
        assert len(matches) == 1, f"{len(matches)} of <{tag} {attributes}>"
        return matches[0]

    def find_all(self, tag: str = "", **attributes: str) -> "list[Element]":
        criteria = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        selector = tag + "".join(f'[{name}="{value}"]' for name, value in criteria.items())
        return [Element(node) for node in self.node.select(selector)]

    def walk(self) -> "Iterator[Element]":
        """Iterate over all descendants in document order."""
        return map(Element, self.node.iter_elements())


def parse(html: str) -> Element:
    """Parse a document whose tags must all be closed."""
    return Element(dom.document(html))


def collect_fields(form: Element) -> dict[str, list[str]]:
    """Return what a browser submits for the fields in this element, as they are."""
    fields: dict[str, list[str]] = {}
    for field in form.find_all("input") + form.find_all("textarea"):
        attributes = field.attributes
        is_choice = attributes.get("type") in ("radio", "checkbox")
        if "name" in attributes and (not is_choice or "checked" in attributes):
            value = attributes.get("value", "on" if is_choice else field.text)
            fields.setdefault(attributes["name"], []).append(value)
    for field in form.find_all("select"):
        chosen = field.find_all("option[selected]") or field.find_all("option")[:1]
        fields[field.attributes["name"]] = [chosen[0].attributes["value"]]
    return fields


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
        """Return the composer's fields as its form would send them."""
        composer = self.root.find("form", id="composer")
        fields = {
            element.attributes["name"]: element.attributes.get("value", "")
            for element in composer.find_all("input")
            if "name" in element.attributes
        }
        [model] = self.root.find_all("select", form="composer")
        chosen = [o for o in model.find_all("option") if "selected" in o.attributes]
        return fields | {"model": (chosen or model.find_all("option"))[0].attributes["value"]}

    def reply(self) -> Element:
        """Return the newest reply."""
        return [e for e in self.root.find_all("article") if "data-reply" in e.attributes][-1]

    def region(self, name: str) -> str:
        """Return the text of a region of the newest reply, or an empty string if it has none."""
        return "".join(element.text for element in self.reply().find_all(data_region=name))

    def swap(self, frame: str) -> None:
        """Change the page as htmx would for this frame."""
        for piece in dom.content(frame):
            if isinstance(piece, turbohtml.Element):
                swap_oob = piece.attr("hx-swap-oob")
                assert swap_oob, f"<{piece.tag}> says not where it goes"
                del piece.attrs["hx-swap-oob"]
                self._swap(piece, swap_oob)
            else:
                assert not piece.text.strip()

    def _swap(self, piece: turbohtml.Element, swap_oob: str) -> None:
        style, _, selectors = swap_oob.partition(" target:")
        if selectors:
            for target in self._targets(selectors.removesuffix(" strip:true")):
                _swap_content(style, target, dom.content(piece.inner_html))
            return
        # not shown if it is on another branch
        for target in self.root.node.select(f"#{piece.attr('id')}"):
            if style == "outerMorph":
                target.attrs.clear()
                target.attrs.update(piece.attrs)
            else:
                target.replace_with(piece)

    def _targets(self, selectors: str) -> Iterator[turbohtml.Element]:
        for selector in selectors.split(","):
            targets = self.root.node.select(selector)
            below = self.root.node.select(selector.partition(">")[0])
            assert targets or not below, f"{selector} finds nothing"
            yield from targets


def _swap_content(style: str, target: turbohtml.Element, content: list[Node]) -> None:
    match style:
        case "append":
            target.extend(content)
        case "prepend":
            for child in reversed(content):
                target.insert(0, child)
        case "after":
            target.insert_after(*content)
        case "innerHTML" | "innerMorph":
            target.clear()
            target.extend(content)
        case "outerHTML":
            target.replace_with(*content)
        case "delete":
            target.extract()
        case _:
            raise AssertionError(f"no swap is called {style}")
