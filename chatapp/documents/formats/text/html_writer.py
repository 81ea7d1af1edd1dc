"""Writes Markdown while the elements of a clean HTML page begin and end."""

import re
from collections.abc import Callable
from html.parser import HTMLParser

from chatapp.documents.formats.output import markdown

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
PARAGRAPHS = {
    *("p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "address"),
    *("figure", "figcaption", "details", "summary", "dl", "form", "fieldset", "legend"),
}
MARKERS = {"ul": "- ", "ol": "1. "}
LISTS = set(MARKERS)
BEGINNING = re.compile(r" *(- |1\. )|\[\^.*\]: ")  # of an item or a note
TABLES = {"table", "tr", "td", "th", "tbody", "thead", "tfoot", "caption"}
EMBEDDED = {
    "iframe": "Embedded page",
    "object": "Embedded object",
    "embed": "Embedded object",
    "video": "Video",
    "audio": "Audio",
}
MARKS = {"del": "~~", "s": "~~", "strike": "~~"}
QUOTES = {"q": ("“", "”"), "rt": ("(", ")")}
FIELDS = {"select", "textarea"}
# Elements whose text is collected apart, because it is written in another way.
COLLECTED = {
    *(*HEADINGS, *MARKS, *QUOTES, *FIELDS, *EMBEDDED),
    *("a", "title", "caption", "blockquote", "dd", "sup", "math", "svg"),
}
SEPARATE = {*PARAGRAPHS, *HEADINGS, "title", "blockquote", "dt", "dd", "svg"}
TAGS = {
    *(*PARAGRAPHS, *LISTS, *TABLES, *COLLECTED),
    *("dt", "li", "img", "br", "hr", "pre", "code", "input", "option", "ruby", "image"),
}
SPACES = re.compile(r"[ \t\n\r\f]+")
LINK_SCHEMES = ("http:", "https:", "mailto:")
SILENT_FIELDS = ("hidden", "password", "submit", "button", "reset", "image", "file")
CHECKS = ("checkbox", "radio")
NOTES = ("footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote")
NOTE_REFERENCES = ("noteref", "doc-noteref")


class Writer(HTMLParser):
    """Collects text in buffers; the last is written to."""

    def __init__(self, picture: Callable[[dict[str, str]], str]) -> None:
        super().__init__(convert_charrefs=True)
        self._picture = picture
        self._buffers: list[list[str]] = [[]]
        self._collected: list[dict[str, str]] = []  # the attributes of the collecting elements
        self._lists: list[str] = []
        self._tables: list[list[list[str]]] = []
        self._preformatted = 0
        self._choices: list[str] = []
        self._chosen: list[int] = []
        self._in_option = False
        self._notes: dict[str, str] = {}  # marks by the ids of the notes

    def text(self) -> str:
        return "".join(part for buffer in self._buffers for part in buffer)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag in SEPARATE:
            self._break(1 if tag == "dd" else 2)
        self._begin_note(attributes)
        if tag in COLLECTED:
            self._buffers.append([])
            self._collected.append(attributes)
        match tag:
            case "img":
                self._write(self._picture(attributes))
            case "image":  # in a drawing, such as the cover of a book
                address = attributes.get("xlink:href") or attributes.get("href", "")
                self._write(self._picture({"src": address}))
            case "input":
                self._write(_input(attributes))
            case "option":
                self._begin_option(attributes)
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
        if tag in COLLECTED:
            text, attributes = self._pop_buffer(), self._collected.pop() if self._collected else {}
            self._write_collected(tag, text, attributes)
        elif tag == "option":
            self._in_option = False
        elif tag == "pre":
            self._preformatted -= 1
            self._write("\n```\n\n")
        elif tag in PARAGRAPHS:
            self._break(2)
        elif tag in LISTS:
            self._lists = self._lists[:-1]
            self._break(1 if self._lists else 2)
        elif tag in TABLES:
            self._end_in_table(tag)

    def handle_data(self, data: str) -> None:
        if self._in_option:
            self._choices[-1] += data
        elif self._preformatted:
            self._write(data)
        else:
            text = SPACES.sub(" ", data)
            self._write(text.lstrip(" ") if self._ends_with_space() else text)

    def _write_collected(self, tag: str, text: str, attributes: dict[str, str]) -> None:
        match tag:
            case "a":
                self._write(self._link(text, attributes))
            case "title" | "caption":
                self._write(text.strip() + "\n\n")
            case "blockquote":
                self._write(_format_quote(text))
            case "dd":
                self._write(f": {text.strip()}\n" if text.strip() else "")
            case "sup":
                self._write(f"^{text}" if text.strip().isdecimal() else text)
            case "math":
                self._write(attributes.get("alttext") or text)
            case "svg":
                words = " ".join(text.split())
                is_picture = words.startswith("\x1a") and words.count("\x1a") == 2
                self._write(words if is_picture or not words else f"[Drawing: {words}]")
            case _ if tag in HEADINGS:
                self._write(markdown.heading(text, int(tag[1])) + "\n\n")
            case _ if tag in MARKS:
                self._write(f"{MARKS[tag]}{text}{MARKS[tag]}" if text.strip() else text)
            case _ if tag in QUOTES:
                self._write(text.join(QUOTES[tag]) if text.strip() else "")
            case _ if tag in FIELDS:
                self._write(self._field(tag, text, attributes))
            case _ if tag in EMBEDDED:
                self._write(_format_embedded_element(tag, text, attributes))

    def _write(self, text: str) -> None:
        if text:
            self._buffers[-1].append(text)

    def _pop_buffer(self) -> str:
        """Return what the innermost collecting element has collected."""
        return "".join(self._buffers.pop()) if len(self._buffers) > 1 else ""

    def _ends_with_space(self) -> bool:
        written = next((buffer for buffer in reversed(self._buffers) if buffer), None)
        return written is None or written[-1][-1] in " \n"

    def _break(self, newlines: int) -> None:
        """End a line or a paragraph, except where an item, a note or a buffer begins."""
        buffer = self._buffers[-1]
        if buffer and not BEGINNING.fullmatch(buffer[-1]):
            buffer.append("\n" * newlines)

    def _begin_note(self, attributes: dict[str, str]) -> None:
        mark = self._notes.get(attributes.get("id", ""))
        if mark and _has_role(attributes, NOTES):
            self._write(f"[^{mark}]: ")

    def _link(self, text: str, attributes: dict[str, str]) -> str:
        address, label = attributes.get("href", ""), " ".join(text.split())
        if _has_role(attributes, NOTE_REFERENCES) and label:
            mark = self._notes.setdefault(address.partition("#")[2], label.strip("^[]()*"))
            return f"[^{mark}]"
        if not label or label == address or not address.startswith(LINK_SCHEMES):
            return text
        before, after = " " * text.startswith(" "), " " * text.endswith(" ")
        return f"{before}[{label}]({address}){after}"

    def _begin_option(self, attributes: dict[str, str]) -> None:
        self._choices.append("")
        self._in_option = True
        if "selected" in attributes:
            self._chosen.append(len(self._choices) - 1)

    def _field(self, tag: str, text: str, attributes: dict[str, str]) -> str:
        name = _field_name(attributes)
        if tag == "textarea":
            return f"[Form field{name}: {text.strip()}]" if text.strip() else ""
        choices = [" ".join(each.split()) for each in self._choices]
        chosen = [choices[index] for index in self._chosen] or choices[:1]
        self._choices, self._chosen = [], []
        return f"[Form field{name}: {', '.join(chosen)}; choices: {', '.join(choices)}]"

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
            rows[-1].append(self._pop_buffer().strip())
        elif tag == "table":
            self._write(_table(self._tables.pop()) + "\n\n")


def _has_role(attributes: dict[str, str], roles: tuple[str, ...]) -> bool:
    words = f"{attributes.get('role', '')} {attributes.get('epub:type', '')}".split()
    return any(word in roles for word in words)


def _table(rows: list[list[str]]) -> str:
    """Return a table; one of a single column only places things on the page."""
    if max(map(len, rows), default=0) <= 1:
        return "\n\n".join(cell for row in rows for cell in row if cell)
    return markdown.table(rows)


def _format_quote(text: str) -> str:
    lines = re.sub(r"\n{3,}", "\n\n", text).strip().splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines) + "\n\n" if lines else ""


def _input(attributes: dict[str, str]) -> str:
    kind, value = attributes.get("type", "text").lower(), attributes.get("value", "").strip()
    if kind in CHECKS:
        return "[x] " if "checked" in attributes else "[ ] "
    if kind in SILENT_FIELDS or not value:
        return ""
    return f"[Form field{_field_name(attributes)}: {value}]"


def _field_name(attributes: dict[str, str]) -> str:
    name = attributes.get("aria-label") or attributes.get("name", "")
    return f" {name}" if name else ""


def _format_embedded_element(tag: str, text: str, attributes: dict[str, str]) -> str:
    address = attributes.get("src") or attributes.get("data", "")
    about = [attributes.get("title", ""), address if address.startswith(LINK_SCHEMES) else ""]
    if tag != "iframe":  # whose content is shown by no browser
        about.append(" ".join(text.split()))
    words = ", ".join(word for word in about if word)
    return f"[{EMBEDDED[tag]}: {words}]" if words else f"[{EMBEDDED[tag]}]"
