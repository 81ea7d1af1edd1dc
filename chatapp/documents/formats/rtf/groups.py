"""Takes RTF apart: its groups, control words and text, with the code pages of its fonts.

See the specification of RTF 1.9.1. Text comes with the group that it is in, and what a group says
ends with it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from chatapp.documents.formats.text import encoded_text as _encoded_text  # noqa: F401 - imports the encodings

TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?[0-9]{1,10})? ?"
    rb"|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<symbol>[^a-zA-Z'])|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)"
    rb"|[\r\n]+|\\'?",
    re.DOTALL,
)
MAX_DEPTH = 500
CHARSETS = {
    **{2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5"},
    **{161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257"},
    **{204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850"},
}
CODE_PAGES = {936: "gb18030", 950: "big5", 65001: "utf_8", 10000: "mac_roman", 1361: "cp949"}
CODE_PAGES |= {page: f"cp{page}" for page in (*range(1250, 1259), 437, 850, 866, 874, 932, 949)}
SYMBOL_CHARSET = 2
SYMBOLS = {0xB7: "•", 0xA7: "•", 0xD8: "•", 0xFC: "✓", 0xE0: "→"}  # of fonts of signs
PRIVATE_USE = range(0xF020, 0xF100)  # where Word puts the characters of such fonts
SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True)
class Group:
    """The state set by the control words of a group and of the groups around it."""

    destination: str = ""  # what its text is, such as "fonttbl"; the body has none
    is_optional: bool = False  # it begins with \\*, so an unknown destination is skipped
    encoding: str = "cp1252"
    is_symbol: bool = False
    skip: int = 1  # how many characters stand for one in Unicode, for old readers


@dataclass(frozen=True)
class Word:
    name: str
    number: int | None = None

    @property
    def is_on(self) -> bool:
        return self.number != 0


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Binary:
    data: bytes


class GroupBegin:
    pass


class GroupEnd:
    pass


Event = Word | Text | Binary | GroupBegin | GroupEnd


@dataclass
class Parser:
    """Yields events. The text between two of them is one piece, decoded at once."""

    content: bytes
    group: Group = field(default_factory=Group)
    _outer: list[Group] = field(default_factory=list)
    _pending: bytearray = field(default_factory=bytearray)
    _fonts: dict[int, tuple[str, bool]] = field(default_factory=dict)
    _font: int = 0  # which the table describes now
    _default_font: int = 0
    _default_encoding: str = "cp1252"
    _to_skip: int = 0
    _high: str = ""  # the first half of a surrogate pair

    def events(self) -> Iterator[Event]:
        position = 0
        while match := TOKEN.match(self.content, position):
            position = match.end()
            if match["text"] is not None:
                self._add(match["text"])
            elif match["hex"]:
                self._add(bytes.fromhex(match["hex"].decode()))
            elif match["symbol"] in (b"\\", b"{", b"}"):
                self._add(match["symbol"])
            elif match["word"] == b"u":
                yield from self._unicode(int(match["number"] or 0))
            elif match["word"] == b"bin":
                yield from self._flush()
                end = position + max(int(match["number"] or 0), 0)
                yield Binary(self.content[position:end])
                position = end
            elif match["word"] or match["symbol"] or match["brace"]:
                yield from self._flush()
                yield from self._control(match)
        yield from self._flush()

    def enter(self, destination: str) -> None:
        """Say what the text of the current group is."""
        self.group = replace(self.group, destination=destination)

    def _add(self, data: bytes) -> None:
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        self._pending += data[skipped:]

    def _unicode(self, number: int) -> Iterator[Event]:
        yield from self._flush()
        self._to_skip = self.group.skip
        code = number % 2**16
        if code in PRIVATE_USE:
            yield Text(SYMBOLS.get(code & 0xFF, chr(code)))
        elif code in SURROGATES:
            self._high, both = ("", self._high + chr(code)) if self._high else (chr(code), "")
            if both:
                yield Text(both.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        else:
            yield Text(chr(code))

    def _flush(self) -> Iterator[Event]:
        if self._pending:
            data = bytes(self._pending)
            self._pending.clear()
            if self.group.is_symbol:
                yield Text("".join(SYMBOLS.get(byte, chr(byte)) for byte in data))
            else:
                yield Text(data.decode(self.group.encoding, "replace"))

    def _control(self, match: re.Match[bytes]) -> Iterator[Event]:
        self._to_skip = 0
        if match["brace"] == b"{":
            if len(self._outer) < MAX_DEPTH:
                self._outer.append(self.group)
            self.group = replace(self.group, is_optional=False)
            yield GroupBegin()
        elif match["brace"]:
            yield GroupEnd()
            self.group = self._outer.pop() if self._outer else self.group
        elif match["symbol"] == b"*":
            self.group = replace(self.group, is_optional=True)
        elif match["symbol"]:
            yield Word(match["symbol"].decode("latin-1"))
        else:
            number = match["number"]
            word = Word(match["word"].decode(), int(number) if number else None)
            self._apply_word(word)
            yield word

    def _apply_word(self, word: Word) -> None:
        number = word.number or 0
        match word.name:
            case "ansicpg":
                self._set_default_encoding(CODE_PAGES.get(number, "cp1252"))
            case "mac":
                self._set_default_encoding("mac_roman")
            case "pc" | "pca":
                self._set_default_encoding("cp437" if word.name == "pc" else "cp850")
            case "deff":
                self._default_font = number
            case "f" if self.group.destination == "fonttbl":
                self._font = number
            case "fcharset" if self.group.destination == "fonttbl":
                encoding = CHARSETS.get(number, self._default_encoding)
                self._fonts[self._font] = (encoding, number == SYMBOL_CHARSET)
            case "f" | "plain":
                font = number if word.name == "f" else self._default_font
                encoding, is_symbol = self._fonts.get(font, (self._default_encoding, False))
                self.group = replace(self.group, encoding=encoding, is_symbol=is_symbol)
            case "uc":
                self.group = replace(self.group, skip=max(min(number, 9), 0))

    def _set_default_encoding(self, encoding: str) -> None:
        self._default_encoding = encoding
        self.group = replace(self.group, encoding=encoding)
