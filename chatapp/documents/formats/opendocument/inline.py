"""The text within paragraphs of OpenDocument files: spans, fields, notes, comments and drawings."""

from collections.abc import Callable
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office import symbols
from chatapp.documents.formats.office.xml import attribute, child, children, local, number
from chatapp.documents.formats.output import markdown, marks

from .file import File
from .objects import description_in

PAGE_END = "\f"  # XML cannot contain this character
MAX_SPACES = 1_000
SKIPPED = {
    *("tracked-changes", "forms", "sequence-decls", "note-citation", "settings", "ruby-text"),
    *("title", "desc", "number", "event-listeners", "page-thumbnail", "image-map", "glue-point"),
}
# The field with a document's title, whose name only its namespace tells from a shape's title.
TITLE_FIELD = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}title"
SHAPES = {
    *("custom-shape", "rect", "ellipse", "circle", "line", "polygon", "polyline", "path"),
    *("connector", "measure", "caption", "regular-polygon"),
}
PAGE_NUMBERS = {"page-number", "page-count"}


class InlineReader:
    """Reads paragraphs. What stands beside their text is collected apart."""

    def __init__(
        self, file: File, read_blocks: Callable[[Element], str], *, repeats_on_pages: bool = False
    ) -> None:
        self._file, self._read_blocks = file, read_blocks
        self._repeats_on_pages = repeats_on_pages  # as headers do
        self._beside: list[str] = []

    def paragraph(self, paragraph: Element) -> tuple[str, list[str]]:
        """Return the text, and the text boxes and charts that are anchored in it."""
        outer, self._beside = self._beside, []
        text = marks.write_spans(marks.visible(self._text(paragraph)))
        beside, self._beside = self._beside, outer
        return symbols.translate(text), [each for each in beside if each]

    def drawing(self, element: Element) -> list[str]:
        """Return the blocks of a drawing that stands among paragraphs."""
        outer, self._beside = self._beside, []
        text = self._inline(element)
        beside, self._beside = self._beside, outer
        return [each for each in (text, *beside) if each]

    def comment(self, annotation: Element) -> str:
        author = child(annotation, "creator")
        paragraphs = children(annotation, "p") + children(annotation, "list")
        text = "\n".join("".join(each.itertext()) for each in paragraphs)
        what = "Resolved comment" if attribute(annotation, "resolved") == "true" else "Comment"
        return marks.comment((author.text or "") if author is not None else "", text, what)

    def _text(self, element: Element) -> str:
        parts = [element.text or ""]
        for each in element:
            parts += [self._inline(each), each.tail or ""]
        return "".join(parts)

    def _inline(self, element: Element) -> str:
        name = local(element)
        if name in SKIPPED and element.tag != TITLE_FIELD:
            return ""
        if name in PAGE_NUMBERS and self._repeats_on_pages:
            return "#"
        match name:
            case "s":
                return " " * number(attribute(element, "c"), 0, MAX_SPACES, 1)
            case "tab":
                return "\t"
            case "line-break":
                return "\n"
            case "soft-page-break":
                return PAGE_END
            case "span":
                return self._span(element)
            case "note":
                return self._note(element)
            case "a":
                url = attribute(element, "href")
                is_link = url.startswith(("http:", "https:", "mailto:"))
                return marks.link(self._text(element), url if is_link else "")
            case "ruby":
                return self._ruby(element)
            case "annotation":
                return self._begin_comment(element)
            case "annotation-end":
                return self._file.comments.pop(attribute(element, "name"), "")
            case "hidden-text":
                text = self._text(element) or attribute(element, "string-value")
                return marks.mark_hidden(text)
            case "fieldmark":
                return _form_value(element) or self._text(element)
            case "control":
                return self._file.form_fields.get(attribute(element, "control"), "")
            case "frame":
                return self._frame(element)
            case name if name in SHAPES:
                return self._shape(element)
            case "p" | "h":
                return f"\n{self._text(element)}\n"
        return self._text(element)

    def _span(self, element: Element) -> str:
        text, style = self._text(element), attribute(element, "style-name")
        styles = self._file.styles
        if not text or not style:
            return text
        if styles.is_raised(style):
            text = marks.write_superscript(text)
        if styles.is_struck(style):
            text = marks.mark_struck(text)
        return marks.mark_hidden(text) if styles.is_hidden("text", style) else text

    def _note(self, element: Element) -> str:
        label = self._file.note_label(attribute(element, "note-class"))
        index = len(self._file.notes)
        self._file.notes.append("")  # so that notes stay in their order
        body = child(element, "note-body")
        text = markdown.flat(self._read_blocks(body)) if body is not None else ""
        self._file.notes[index] = f"[^{label}]: {text}"
        return f"[^{label}]"

    def _ruby(self, element: Element) -> str:
        base, above = child(element, "ruby-base"), child(element, "ruby-text")
        text = self._text(base) if base is not None else ""
        return f"{text}({self._text(above)})" if above is not None else text

    def _begin_comment(self, element: Element) -> str:
        """Return a comment; one on a range comes where the range ends."""
        name, text = attribute(element, "name"), marks.in_text(self.comment(element))
        if name and name in self._file.ended_comments:
            self._file.comments[name] = text
            return ""
        return text

    def _frame(self, frame: Element) -> str:
        for each in frame:
            match local(each):
                case "text-box" | "table":
                    return self._text_box(frame if local(each) == "table" else each)
                case "object":
                    return self._object(each, frame)
                case "object-ole" | "floating-frame" | "applet":
                    return self._file.objects.name_embedded_file(each, frame)
                case "plugin":
                    return self._file.objects.media(each)
                case "image":
                    return self._file.objects.picture(frame)
        return ""

    def _object(self, element: Element, frame: Element) -> str:
        equation = self._file.objects.equation(element)
        if equation is not None:
            return equation
        chart = self._file.objects.chart(element)
        if chart is None:
            return self._file.objects.name_embedded_file(element, frame)
        self._beside.append(chart)
        return ""

    def _shape(self, element: Element) -> str:
        description = description_in(element)
        before = len(self._beside)
        self._text_box(element)
        if description and len(self._beside) == before:
            return marks.mark("Drawing", description)
        return ""

    def _text_box(self, element: Element) -> str:
        text = self._read_blocks(element).replace(PAGE_END, "")
        if not self._file.has_slides:
            text = marks.beside("Text box", [text])
        if text:
            self._beside.append(text)
        return ""


def _form_value(field: Element) -> str:
    """Return the value of a form field that has no text: a check box or a list."""
    parameters = [
        (attribute(each, "name").rpartition("_")[2], attribute(each, "value"))
        for each in children(field, "param")
    ]
    values = dict(parameters)
    kind = attribute(field, "type").rpartition(".")[2]
    if kind == "FORMCHECKBOX":
        return "☒" if values.get("Checked", values.get("checked", "")) == "true" else "☐"
    entries = [value for name, value in parameters if name.lower() == "listentry"]
    chosen = number(values.get("Selected", values.get("selected", "")), 0, 10**6, -1)
    return entries[chosen] if 0 <= chosen < len(entries) else ""
