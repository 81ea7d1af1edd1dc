"""HTML as Markdown: headings, lists, tables, links and preformatted text.

nh3 parses the page like a browser and leaves only the elements listed here, closed and nested
properly. Scripts and styles are dropped with their content.
"""

import re
from html.parser import HTMLParser

import nh3

from chatapp.documents import refusals
from chatapp.documents.results import Document, Limits

from . import markdown
from .pages import Pages

KIND = "HTML"
MEDIA_TYPE = "text/html"
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
PARAGRAPHS = {
    *("p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "address"),
    *(
        "blockquote",
        "figure",
        "figcaption",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
        "form",
        "fieldset",
    ),
}
MARKERS = {"ul": "- ", "ol": "1. "}
LISTS = set(MARKERS)
TABLES = {"table", "tr", "td", "th", "tbody", "thead", "tfoot", "caption"}
TAGS = {
    *HEADINGS,
    *PARAGRAPHS,
    *LISTS,
    *TABLES,
    "title",
    "li",
    "a",
    "img",
    "br",
    "hr",
    "pre",
    "code",
}
DROPPED = {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select"}
SPACES = re.compile(r"[ \t\n\r\f]+")
TRAILING_SPACES = re.compile(r" +$", re.MULTILINE)
BLANK_LINES = re.compile(r"\n{3,}")


def read(page: str, limits: Limits) -> Document:
    pages = Pages(limits)
    pages.add(to_markdown(page))
    if pages.are_blank:
        raise refusals.no_text(KIND)
    return Document(MEDIA_TYPE, KIND, "", pages.whole(KIND))


def to_markdown(page: str) -> str:
    clean = nh3.clean(
        page,
        tags=TAGS,
        clean_content_tags=DROPPED,
        attributes={"a": {"href"}, "img": {"alt"}},
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )
    writer = _Writer()
    writer.feed(clean)
    writer.close()
    text = TRAILING_SPACES.sub("", writer.text())
    return BLANK_LINES.sub("\n\n", text).strip("\n")


class _Writer(HTMLParser):
    """Writes Markdown while elements begin and end. Tables and links collect their text apart."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._buffers: list[list[str]] = [[]]  # the last is written to
        self._lists: list[str] = []
        self._links: list[str] = []
        self._tables: list[list[list[str]]] = []
        self._preformatted = 0

    def text(self) -> str:
        return "".join(part for buffer in self._buffers for part in buffer)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in PARAGRAPHS or tag in HEADINGS or tag == "title":
            self._break(2)
        if tag in HEADINGS or tag in ("a", "title", "caption"):
            self._buffers.append([])
        match tag:
            case "a":
                self._links.append(dict(attrs).get("href") or "")
            case "img":
                self.handle_data(dict(attrs).get("alt") or "")
            case "br":
                self._write("\n")
            case "hr":
                self._break(2)
                self._write("---\n\n")
            case "pre":
                self._begin_preformatted()
            case _ if tag in LISTS | {"li"}:
                self._begin_item(tag)
            case _ if tag in TABLES:
                self._begin_in_table(tag)

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "a":
                self._write(_link(self._taken(), self._links.pop() if self._links else ""))
            case "pre":
                self._preformatted -= 1
                self._write("\n```\n\n")
            case "title" | "caption":
                self._write(self._taken().strip() + "\n\n")
            case _ if tag in HEADINGS:
                self._write(markdown.heading(self._taken(), int(tag[1])) + "\n\n")
            case _ if tag in PARAGRAPHS:
                self._break(2)
            case _ if tag in LISTS:
                self._lists = self._lists[:-1]
                self._break(1 if self._lists else 2)
            case _ if tag in TABLES:
                self._end_in_table(tag)

    def handle_data(self, data: str) -> None:
        if self._preformatted:
            self._write(data)
            return
        text = SPACES.sub(" ", data)
        self._write(text.lstrip(" ") if self._ends_with_space() else text)

    def _write(self, text: str) -> None:
        if text:
            self._buffers[-1].append(text)

    def _taken(self) -> str:
        """Return what the innermost collecting element has collected."""
        return "".join(self._buffers.pop()) if len(self._buffers) > 1 else ""

    def _ends_with_space(self) -> bool:
        written = next((buffer for buffer in reversed(self._buffers) if buffer), None)
        return written is None or written[-1][-1] in " \n"

    def _break(self, newlines: int) -> None:
        """End a line or a paragraph, except where an item or a collecting element begins."""
        buffer = self._buffers[-1]
        if buffer and buffer[-1].lstrip(" ") not in MARKERS.values():
            buffer.append("\n" * newlines)

    def _begin_preformatted(self) -> None:
        self._break(2)
        self._write("```\n")
        self._preformatted += 1

    def _begin_item(self, tag: str) -> None:
        if tag in LISTS:
            self._break(1 if self._lists else 2)
            self._lists.append(tag)
            return
        buffer = self._buffers[-1]
        if buffer and not buffer[-1].endswith("\n"):
            buffer.append("\n")
        marker = MARKERS[self._lists[-1] if self._lists else "ul"]
        self._write("   " * max(len(self._lists) - 1, 0) + marker)

    def _begin_in_table(self, tag: str) -> None:
        if tag == "table":
            self._break(2)
            self._tables.append([])
        elif tag == "tr" and self._tables:
            self._tables[-1].append([])
        elif tag in ("td", "th"):
            self._buffers.append([])

    def _end_in_table(self, tag: str) -> None:
        if not self._tables:
            return
        rows = self._tables[-1]
        if tag in ("td", "th") and rows:
            rows[-1].append(self._taken().strip())
        elif tag == "table":
            self._write(_table(self._tables.pop()) + "\n\n")


def _table(rows: list[list[str]]) -> str:
    """Return a table; one of a single column only places things on the page."""
    if max(map(len, rows), default=0) <= 1:
        return "\n\n".join(cell for row in rows for cell in row if cell)
    return markdown.table(rows)


def _link(text: str, url: str) -> str:
    label = " ".join(text.split())
    if not label or not url or label == url:
        return text
    before, after = " " * text.startswith(" "), " " * text.endswith(" ")
    return f"{before}[{label}]({url}){after}"
