"""The text of paragraphs on slides of PowerPoint files."""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.equations import office_math
from chatapp.documents.formats.office import symbols
from chatapp.documents.formats.office.drawings import Drawings
from chatapp.documents.formats.office.xml import attribute, child, local
from chatapp.documents.formats.output import marks

SKIPPED = {"rPr", "pPr", "endParaRPr", "Fallback"}
MAX_SYMBOLS = 3  # in a run; longer ones only name a font for symbols


class TextReader:
    """Reads paragraphs of one part, whose links lead where its relationships say."""

    def __init__(self, drawings: Drawings, part: str) -> None:
        self._drawings, self._part = drawings, part

    def paragraph(self, paragraph: Element) -> str:
        return marks.write_spans(marks.visible(self._text(paragraph)))

    def _text(self, element: Element) -> str:
        """Return the text of an element; a field has the text that was last shown."""
        parts = []
        for each in element:
            match local(each):
                case "t":
                    parts.append(each.text or "")
                case "br":
                    parts.append("\n")
                case "tab":
                    parts.append("\t")
                case "r" | "fld":
                    parts.append(self._read_run(each))
                case "oMath" | "oMathPara":
                    parts.append(office_math.to_latex(each))
                case name if name in SKIPPED:
                    pass
                case _:
                    parts.append(self._text(each))
        return "".join(parts)

    def _read_run(self, run: Element) -> str:
        text = self._text(run)
        properties = child(run, "rPr")
        if properties is None or not text:
            return symbols.translate(text)
        text = _symbols(text, properties)
        baseline = properties.get("baseline", "0")
        if not baseline.startswith(("-", "0")):
            text = marks.write_superscript(text)
        if properties.get("strike", "noStrike") != "noStrike":
            text = marks.mark_struck(text)
        link = child(properties, "hlinkClick")
        url = self._drawings.url(self._part, attribute(link, "id")) if link is not None else ""
        return marks.link(text, url)


def _symbols(text: str, properties: Element) -> str:
    """Return the text with the symbols that its font shows, such as the arrow for `à`."""
    fonts = [child(properties, name) for name in ("sym", "latin")]
    names = [each.get("typeface", "") for each in fonts if each is not None]
    font = next((name for name in names if symbols.is_symbol_font(name)), "")
    if font and len(text) <= MAX_SYMBOLS and all(0x20 < ord(each) < 0x100 for each in text):
        return "".join(symbols.symbol(font, ord(each)) for each in text)
    return symbols.translate(text, font)
