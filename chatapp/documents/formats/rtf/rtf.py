"""RTF: paragraphs, headings, lists, tables, notes, comments and pictures."""

import re
from dataclasses import dataclass, field
from typing import BinaryIO

from chatapp.documents.formats.output import markdown
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.formats.text import html
from chatapp.documents.results import Document, Limits

from .groups import Binary, GroupBegin, GroupEnd, Parser, Text, Word

KIND, MEDIA_TYPE = "RTF", "application/rtf"
# Destinations whose text is read, each in its own way. The others are skipped if they are optional
# or listed below.
MARKED = {  # and what stands before their text
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "Header"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "Footer"),
    "shptxt": "Text box",
    "annotation": "Comment",
}
COLLECTED = {
    *MARKED,
    *("footnote", "listtext", "pntext", "pict", "fldinst", "field", "sn", "sv", "atnauthor"),
    *("stylesheet", "htmltag"),
}
ENTERED = {"shppict", "shpinst", "fldrslt", "rtf", "shp", "picprop"}
SKIPPED = {
    *("fonttbl", "colortbl", "info", "nonshppict", "xe", "tc", "rxe", "filetbl"),
    *("pntxta", "pntxtb", "private1", "fchars", "lchars", "objclass", "objname", "atrfstart"),
}
CHARACTERS = {
    **{
        "tab": "\t",
        "line": "\n",
        "emdash": "\u2014",
        "endash": "\u2013",
        "bullet": "•",
        "~": "\xa0",
    },
    **{
        "lquote": "\u2018",
        "rquote": "\u2019",
        "ldblquote": "\u201c",
        "rdblquote": "\u201d",
        "_": "\u2011",
        "-": "",
    },
    **{"emspace": " ", "enspace": " ", "qmspace": " ", "zwj": "\u200d", "zwnj": "\u200c"},
    **{"\n": "\n\n", "\r": "\n\n", "nestcell": "; ", "nestrow": "\n", "softline": "\n"},
}
OF_PARAGRAPHS = {"pard", "intbl", "s", "outlinelevel", "cell", "row"}  # not of notes in them
HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
HYPERLINK = re.compile(r'HYPERLINK\s+"?([^"\s]{1,2000})')


def read(file: BinaryIO, limits: Limits) -> Document:
    pages = IllustratedPages(limits)
    texts = to_pages(file.read(), pages)
    unit = "Page" if len(texts) > 1 else ""
    pages.expect(len(texts))
    for text in texts:
        pages.add(text)
    return Document(MEDIA_TYPE, KIND, unit, pages.whole(KIND), pages.pictures, pages.left_out)


def to_pages(content: bytes, pages: IllustratedPages) -> list[str]:
    """Return the text of each page that the author ended, with stand-ins of `pages` in it."""
    writer = _Writer(Parser(content), pages)
    writer.run()
    return writer.texts()


@dataclass
class _DestinationText:
    """The text of a destination that is written when its group ends."""

    destination: str
    depth: int
    parts: list[str] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)

    @property
    def text(self) -> str:
        return "".join(self.parts).strip(" \n\r\t")


class _Writer:
    def __init__(self, parser: Parser, pages: IllustratedPages) -> None:
        self._parser = parser
        self._pages = pages
        self._depth = 0
        self._collected: list[_DestinationText] = [_DestinationText("", 0)]
        self._skipped_from = 0  # the depth of a group that is skipped
        self._blocks: list[str] = []
        self._texts: list[str] = []  # of the pages that have ended
        self._notes: list[str] = []
        self._marks: dict[str, None] = {}  # headers and footers, each once
        self._rows: list[list[str]] = []
        self._cells: list[str] = []
        self._is_in_table = False
        self._level = 0
        self._styles: dict[int, int] = {}  # the levels of headings
        self._style = 0
        self._hidden: list[bool] = [False]
        self._deleted: list[bool] = [False]
        self._property = self._description = self._author = self._address = ""
        self._is_html = False
        self._is_in_rtf_only = False

    def run(self) -> None:
        for event in self._parser.events():
            match event:
                case GroupBegin():
                    self._depth += 1
                    self._hidden.append(self._hidden[-1])
                    self._deleted.append(self._deleted[-1])
                case GroupEnd():
                    self._end_group()
                case Text(text):
                    self._write(text)
                case Binary(data):
                    self._collected[-1].data.extend(data)
                case Word():
                    self._word(event)
        self._end_paragraph()
        self._end_table()

    def texts(self) -> list[str]:
        if self._is_html:
            return [html.to_markdown("".join(self._collected[0].parts), self._pages)]
        self._end_page()
        texts = [text for text in self._texts if text.strip()] or [""]
        texts[0] = "\n\n".join(part for part in (*self._marks, texts[0]) if part)
        return texts

    def _write(self, text: str) -> None:
        if self._skipped_from or (self._is_in_rtf_only and self._destination != "htmltag"):
            return
        collected = self._collected[-1]
        if collected.destination == "stylesheet" and (name := HEADING.match(text)):
            self._styles[self._style] = int(name[1])
        if text.strip() and self._hidden[-1]:
            text = f"{text} (hidden)"
        if text.strip() and self._deleted[-1]:
            text = f"~~{text}~~"
        collected.parts.append(text)

    @property
    def _destination(self) -> str:
        return self._collected[-1].destination

    def _word(self, word: Word) -> None:
        name = word.name
        if self._skipped_from:
            return
        if name in COLLECTED:
            self._parser.enter(name)
            self._collected.append(_DestinationText(name, self._depth))
        elif name == "objdata":
            self._parser.enter(name)
            self._skip_embedded_file()
        elif name in SKIPPED or (self._parser.group.is_optional and name not in ENTERED):
            self._parser.enter(name)
            self._skipped_from = self._depth
        elif name in CHARACTERS:
            self._write(CHARACTERS[name])
        elif name not in OF_PARAGRAPHS or self._destination in ("", "stylesheet"):
            self._apply_word(word)

    def _skip_embedded_file(self) -> None:
        self._pages.leave_out("attachment")
        self._write("[Embedded file]")
        self._skipped_from = self._depth

    def _apply_word(self, word: Word) -> None:
        match word.name:
            case "par" | "sect":
                self._end_paragraph()
            case "page":
                self._end_paragraph()
                self._end_page()
            case "cell":
                self._cells.append(self._pop_paragraph())
            case "row":
                self._rows.append(self._cells)
                self._cells = []
            case "intbl":
                self._is_in_table = True
            case "pard":
                self._is_in_table, self._level = False, 0
            case "s":
                self._style = word.number or 0
                self._level = self._styles.get(self._style, 0)
            case "outlinelevel" if word.number is not None and 0 <= word.number < 9:
                self._level = word.number + 1
                if self._destination == "stylesheet":
                    self._styles[self._style] = self._level
            case "v":
                self._hidden[-1] = word.is_on
            case "deleted":
                self._deleted[-1] = word.is_on
            case "plain":
                self._hidden[-1] = self._deleted[-1] = False
            case "fromhtml":
                self._is_html = word.is_on
            case "htmlrtf":
                self._is_in_rtf_only = self._is_html and word.is_on

    def _pop_paragraph(self) -> str:
        """Return the text of the paragraph so far."""
        text = self._collected[0].text
        self._collected[0].parts.clear()
        return text

    def _end_paragraph(self) -> None:
        if len(self._collected) > 1 or self._is_in_table or self._is_html:
            self._write("\n")
            return
        if self._rows:
            self._end_table()
        text = self._pop_paragraph()
        if text:
            self._blocks.append(markdown.heading(text, self._level) if self._level else text)

    def _end_table(self) -> None:
        if self._cells:
            self._rows.append(self._cells)
        if table := markdown.table(self._rows):
            self._blocks.append(table)
        self._rows, self._cells = [], []

    def _end_page(self) -> None:
        if self._rows:
            self._end_table()
        if text := self._pop_paragraph():
            self._blocks.append(text)
        self._texts.append(_join_blocks(self._blocks + self._notes))
        self._blocks, self._notes = [], []

    def _end_group(self) -> None:
        if self._skipped_from == self._depth:
            self._skipped_from = 0
        while len(self._collected) > 1 and self._collected[-1].depth == self._depth:
            self._write_collected(self._collected.pop())
        if self._depth:
            self._hidden.pop()
            self._deleted.pop()
        self._depth = max(self._depth - 1, 0)

    def _write_collected(self, collected: _DestinationText) -> None:
        text = collected.text
        match collected.destination:
            case "pict":
                self._write_picture(collected)
            case "footnote" if text:
                number = len(self._notes) + 1
                self._notes.append(f"[^{number}]: {text}")
                self._write(f"[^{number}]")
            case "listtext" | "pntext":
                self._write(f"{text} " if any(map(str.isalnum, text)) else "- ")
            case "header" | "headerl" | "headerr" | "headerf" | "footer" | "footerl" | "footerr":
                self._keep_mark(collected)
            case "footerf":
                self._keep_mark(collected)
            case "shptxt" if text:
                self._write(f"\n\n[Text box: {text}]\n\n")
            case "annotation" if text:
                by = f" by {self._author}" if self._author else ""
                self._write(f" [Comment{by}: {text}]")
            case "atnauthor":
                self._author = text
            case "sn":
                self._property = text
            case "sv" if "\x1a" in text:  # a picture, such as one that text flows around
                self._write(text)
            case "sv" if self._property == "wzDescription":
                self._description = text
            case "fldinst":
                self._begin_field(text)
            case "field":
                self._write_field("".join(collected.parts))
            case "htmltag":
                self._collected[0].parts.append("".join(collected.parts))

    def _keep_mark(self, collected: _DestinationText) -> None:
        if collected.text:
            self._marks[f"[{MARKED[collected.destination]}: {collected.text}]"] = None

    def _write_picture(self, collected: _DestinationText) -> None:
        digits = "".join("".join(collected.parts).split())
        content = bytes(collected.data) or _from_hex(digits)
        if content:
            self._write(self._pages.picture(content, self._description))
        self._description = ""

    def _begin_field(self, instruction: str) -> None:
        link = HYPERLINK.search(instruction)
        self._address = link[1] if link else ""

    def _write_field(self, text: str) -> None:
        address, self._address = self._address, ""
        is_link = address.startswith(("http:", "https:", "mailto:")) and text.strip() != address
        self._write(f"[{text.strip()}]({address})" if is_link and text.strip() else text)


def _join_blocks(blocks: list[str]) -> str:
    """Join paragraphs, and the items of a list without an empty line between them."""
    pieces: list[str] = []
    last_line = ""
    for block in blocks:
        if pieces:
            are_items = block.startswith("- ") and last_line.startswith("- ")
            pieces.append("\n" if are_items else "\n\n")
        pieces.append(block)
        last_line = block.rpartition("\n")[2]
    return "".join(pieces)


def _from_hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits[: len(digits) // 2 * 2])
    except ValueError:
        return b""
