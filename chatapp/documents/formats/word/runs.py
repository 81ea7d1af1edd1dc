"""The text within paragraphs of Word files: runs, fields, links, comments and drawings."""

from collections.abc import Callable
from xml.etree.ElementTree import Element

from chatapp.documents.formats.equations import office_math
from chatapp.documents.formats.office import symbols
from chatapp.documents.formats.office.drawings import description_in
from chatapp.documents.formats.office.xml import attribute, child, descendants, local
from chatapp.documents.formats.output import marks

from .fields import Field, form_field
from .story import Story

# A page's end within text: XML cannot contain this character.
PAGE_END = "\f"
# What is no text to the reader.
SKIPPED = {"moveFrom", "delText", "delInstrText", "rPr", "pPr", "tblPr", "sectPr", "sdtPr", "rt"}
CHARACTERS = {
    **{"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-"},
    "lastRenderedPageBreak": PAGE_END,
}
INK = "[Ink drawing is left out]"


class RunReader:
    """Reads paragraphs of one part. What stands beside their text is collected apart."""

    def __init__(
        self,
        story: Story,
        part: str,
        read_blocks: Callable[[Element], list[str]],
        *,
        repeats_on_pages: bool = False,
    ) -> None:
        self._story, self._part = story, part
        self._read_blocks = read_blocks
        self._repeats_on_pages = repeats_on_pages  # as headers do
        self._fields: list[Field] = []
        self._beside: list[str] = []
        self._is_object = False  # whether a picture stands for an embedded file

    def paragraph(self, paragraph: Element) -> tuple[str, list[str]]:
        """Return the text, and the text boxes, charts and diagrams that are anchored in it."""
        outer, self._beside = self._beside, []
        text = marks.write_spans(marks.visible(self._text(paragraph)))
        beside, self._beside = self._beside, outer
        return text, [each for each in beside if each]

    def _text(self, element: Element) -> str:
        return "".join(map(self._inline, element))

    def _inline(self, element: Element) -> str:
        name = local(element)
        if name in SKIPPED:
            return ""
        if name in CHARACTERS:
            return CHARACTERS[name]
        match name:
            case "t":
                return "" if self._is_in_page_number() else element.text or ""
            case "r":
                return self._read_run(element)
            case "br":
                return PAGE_END if attribute(element, "type") == "page" else "\n"
            case "sym":
                return self._read_symbol(element)
            case "footnoteReference" | "endnoteReference":
                kind = name.removesuffix("Reference")
                return f"[^{self._story.note_label(kind, attribute(element, 'id'))}]"
            case "commentReference":
                return self._comment(attribute(element, "id"))
            case "hyperlink":
                url = self._story.drawings.url(self._part, attribute(element, "id"))
                return marks.link(self._text(element), url)
            case "oMath" | "oMathPara":
                return office_math.to_latex(element)
            case "ruby":
                base, above = child(element, "rubyBase"), child(element, "rt")
                text = self._text(base) if base is not None else ""
                return f"{text}({self._text(above)})" if above is not None else text
            case "del":
                return self._deletion(element)
            case "p":  # of a text box that an old program wrote
                return f"\n{self._text(element)}\n"
            case "drawing" | "pict" | "object":
                return self._whole_drawing(element)
            case "AlternateContent":
                return self._alternatives(element, self._text)
            case "sdt":
                return self._content_control(element)
            case "fldChar" | "instrText" | "fldSimple":
                return self._field(element, name)
        return self._text(element)

    def _read_run(self, run: Element) -> str:
        text = self._text(run)
        if child(run, "rPr") is None or not text:
            return symbols.translate(text)
        styles = self._story.styles
        fonts = styles.run_property(run, "rFonts")
        text = symbols.translate(text, attribute(fonts, "ascii") if fonts is not None else "")
        raised = styles.run_property(run, "vertAlign")
        if raised is not None and attribute(raised, "val") == "superscript":
            text = marks.write_superscript(text)
        if styles.has(run, "strike") or styles.has(run, "dstrike"):
            text = marks.mark_struck(text)
        return marks.mark_hidden(text) if styles.has(run, "vanish") else text

    def _read_symbol(self, element: Element) -> str:
        code = attribute(element, "char")
        is_code = 0 < len(code) < 6 and all(each in "0123456789abcdefABCDEF" for each in code)
        return symbols.symbol(attribute(element, "font"), int(code, 16)) if is_code else ""

    def _comment(self, number_: str) -> str:
        comment = self._story.pop_comment(number_)
        if comment is None:
            return ""
        text = "\n".join(self._story.read_blocks(self._story.comments_part, comment.element))
        what = "Resolved comment" if comment.is_resolved else "Comment"
        return marks.in_text(marks.comment(comment.author, text, what))

    def _deletion(self, element: Element) -> str:
        if any(each.text for each in descendants(element, "delText")):
            self._story.deletions += 1
        return ""

    def _content_control(self, element: Element) -> str:
        content = child(element, "sdtContent")
        text = self._text(content) if content is not None else ""
        if child(element, "sdtPr", "showingPlcHdr") is not None and text.strip():
            return marks.mark("Placeholder", text.strip())
        return text

    def _field(self, element: Element, name: str) -> str:
        if name == "fldSimple":
            field = Field(attribute(element, "instr"))
            if field.is_page_number and self._repeats_on_pages:
                return "#"
            begin, text = field.begin_result(), self._text(element)
            return begin + text + field.end()
        if name == "instrText":
            if self._fields:
                self._fields[-1].add(element.text or "")
            return ""
        return self._field_character(element, attribute(element, "fldCharType"))

    def _field_character(self, element: Element, kind: str) -> str:
        if kind == "begin":
            self._fields.append(Field())
            data = child(element, "ffData")
            return form_field(data) if data is not None else ""
        if not self._fields:
            return ""
        if kind == "separate":
            text = self._fields[-1].begin_result()
            return "#" if self._is_in_page_number() else text
        return self._fields.pop().end()

    def _is_in_page_number(self) -> bool:
        """Return whether text is a page's number in a header, which is another on each page."""
        return self._repeats_on_pages and any(
            field.has_result and field.is_page_number for field in self._fields
        )

    def _alternatives(self, element: Element, read: Callable[[Element], str]) -> str:
        """Return the first alternative that shows something."""
        for each in element:
            before = len(self._beside)
            text = read(each)
            if text.strip() or len(self._beside) > before:
                return text
        return ""

    def _whole_drawing(self, element: Element) -> str:
        before = len(self._beside)
        self._is_object = local(element) == "object"
        description = next(filter(None, map(description_in, (element, *element))), "")
        text = self._drawing(element, "")
        if description and not text and len(self._beside) == before:
            return marks.mark("Drawing", description)
        return text

    def _drawing(self, element: Element, description: str) -> str:
        """Return the marks of the pictures in an element of a drawing."""
        description = description_in(element) or description
        return "".join(self._read_drawing_element(each, description) for each in element)

    def _read_drawing_element(self, element: Element, description: str) -> str:
        drawings = self._story.drawings
        key = attribute(element, "id")
        match local(element):
            case "blip":
                return drawings.blip(self._part, element, description)
            case "imagedata":
                if self._is_object:
                    return drawings.preview(self._part, key, description)
                return drawings.picture(self._part, key, description) if key else ""
            case "txbxContent":
                self._beside.append(marks.beside("Text box", self._read_blocks(element)))
            case "chart" if key:
                self._beside.append(drawings.chart(self._part, key))
            case "relIds":
                self._beside.append(drawings.diagram(self._part, attribute(element, "dm")))
            case "textpath" if element.get("string"):
                return marks.mark("WordArt", element.get("string", ""))
            case "OLEObject":
                return self._name_embedded_file(element)
            case "contentPart":
                return INK
            case "AlternateContent":
                return self._alternatives(
                    element, lambda alternative: self._drawing(alternative, description)
                )
            case _:
                return self._drawing(element, description)
        return ""

    def _name_embedded_file(self, element: Element) -> str:
        program = attribute(element, "ProgID")
        return self._story.drawings.name_embedded_file(
            self._part, attribute(element, "id"), program
        )
