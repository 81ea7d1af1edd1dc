"""Fields of Word files: what their codes say, if their results do not show it."""

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office import symbols
from chatapp.documents.formats.office.xml import attribute, child, children, number
from chatapp.documents.formats.output import marks

CHECKED, UNCHECKED = "☒", "☐"
LINK = re.compile(r'\s*HYPERLINK\s+"([^"]{1,2000})"')
PAGE = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b")
BUTTON = re.compile(r"\s*MACROBUTTON\s+\S+\s+(.{1,500})", re.DOTALL)
SYMBOL = re.compile(r"\s*SYMBOL\s+(\d{1,5}|0x[0-9A-Fa-f]{1,4})(?:.*\\f\s+\"?([^\"\\]{1,40}))?")
EQUATION = re.compile(r"\s*EQ\s+(.{1,1000})", re.DOTALL)
RUBY = re.compile(
    r".*?\\o\s*\\ad\s*\(\s*\\s\s*\\up\s*\d+\s*\(([^()]*)\)\s*[,;]\s*([^()]*)\)", re.DOTALL
)
MAX_CODE_LENGTH = 4_000


@dataclass
class Field:
    """A field that has begun and not ended."""

    code: str = ""
    url: str = ""
    has_result: bool = False

    def add(self, code: str) -> None:
        self.code = (self.code + code)[:MAX_CODE_LENGTH]

    @property
    def is_page_number(self) -> bool:
        return PAGE.match(self.code) is not None

    def begin_result(self) -> str:
        self.has_result = True
        match = LINK.match(self.code)
        self.url = match[1] if match else ""
        return marks.link_begin() if self.url else ""

    def end(self) -> str:
        """Return the end of the result, or what is shown instead of one."""
        if self.url:
            return marks.link_end(self.url)
        return "" if self.has_result else _display_code(self.code)


def _display_code(code: str) -> str:
    if match := BUTTON.match(code):
        return marks.mark("Placeholder", match[1].strip(" []<>"))
    if match := SYMBOL.match(code):
        return symbols.symbol((match[2] or "Symbol").strip(), int(match[1], 0))
    if match := EQUATION.match(code):
        ruby = RUBY.match(match[1])
        return f"{ruby[2]}({ruby[1]})" if ruby else marks.mark("Equation", match[1].strip())
    return ""


def form_field(data: Element) -> str:
    """Return the value of a form field that has no result: a check box or a list."""
    if (box := child(data, "checkBox")) is not None:
        state = child(box, "checked")
        state = child(box, "default") if state is None else state
        is_checked = state is not None and attribute(state, "val") not in ("0", "false", "off")
        return CHECKED if is_checked else UNCHECKED
    if (choices := child(data, "ddList")) is not None:
        chosen = child(choices, "result")
        chosen = child(choices, "default") if chosen is None else chosen
        entries = [attribute(each, "val") for each in children(choices, "listEntry")]
        index = number(attribute(chosen, "val"), 0, 10**6) if chosen is not None else 0
        return entries[index] if index < len(entries) else ""
    return ""
