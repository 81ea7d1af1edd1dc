"""Frames of an OpenDocument file: pictures, charts, equations and embedded files."""

import binascii
from posixpath import basename, normpath
from xml.etree.ElementTree import Element

from chatapp.documents.formats.equations import mathml
from chatapp.documents.formats.office import charts
from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.drawings import NOT_IN_FILE, RASTER, alternative_text
from chatapp.documents.formats.office.xml import (
    PART_ERRORS,
    attribute,
    child,
    children,
    descendants,
    local,
    parse_xml,
)
from chatapp.documents.formats.output import marks
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages

MAX_NAME_LENGTH = 100
MAX_KEPT_BYTES = 64 * 2**20


class Objects:
    """The objects and pictures of a file."""

    def __init__(self, archive: Archive, pages: IllustratedPages) -> None:
        self._archive, self._pages = archive, pages
        self._contents: dict[str, bytes] = {}
        self._kept_bytes = 0

    def picture(self, frame: Element) -> str:
        """Return what stands for the picture of a frame, the best of its alternatives."""
        images = children(frame, "image")
        contents = [content for each in images if (content := self._content(each))]
        raster = [each for each in contents if each.startswith(RASTER)]
        description = description_in(frame)
        if contents:
            return self._pages.picture((raster or contents)[0], description)
        self._pages.leave_out("picture")
        about = f": {description}" if description else ""
        return f"[Picture is left out: {NOT_IN_FILE}{about}]"

    def equation(self, element: Element) -> str | None:
        """Return the equation in an object, or None if it has none."""
        root = self._object(element)
        return mathml.to_latex(root) if root is not None and local(root) == "math" else None

    def chart(self, element: Element) -> str | None:
        root = self._object(element)
        if root is None or child(root, "body", "chart") is None:
            return None
        chart = charts.read_opendocument_chart(root)
        if chart.missing:
            self._pages.leave_out("chart value", chart.missing)
        return charts.describe(chart)

    def name_embedded_file(self, element: Element, frame: Element) -> str:
        """Name an embedded file; show its picture if it has one."""
        self._pages.leave_out("attachment")
        name = attribute(frame, "name") or basename(_path(element))
        mark = marks.mark("Embedded file", " ".join(name.split())[:MAX_NAME_LENGTH])
        contents = (self._content(each) for each in children(frame, "image"))
        picture = next((each for each in contents if each.startswith(RASTER)), b"")
        return mark + (self._pages.picture(picture, description_in(frame)) if picture else "")

    def media(self, element: Element) -> str:
        self._pages.leave_out("attachment")
        what = "Sound" if attribute(element, "mime-type").startswith("audio/") else "Video"
        name = " ".join(basename(_path(element)).split())[:MAX_NAME_LENGTH]
        return f"[{what} is left out: {name}]" if name else f"[{what} is left out]"

    def _object(self, element: Element) -> Element | None:
        """Return the root of an object, which is in the element itself or a part of its own."""
        own = next((each for each in element if local(each) in ("math", "document")), None)
        if own is not None:
            return own
        name = f"{_path(element)}/content.xml"
        if name not in self._archive:
            return None
        try:
            return parse_xml(self._archive.part(name))
        except PART_ERRORS:
            return None

    def _content(self, image: Element) -> bytes:
        data = child(image, "binary-data")
        if data is not None:
            try:
                return binascii.a2b_base64(data.text or "")
            except ValueError:
                return b""
        name = _path(image)
        if name in self._contents:
            return self._contents[name]
        if name not in self._archive:
            return b""
        content = self._archive.part(name)
        if self._kept_bytes + len(content) <= MAX_KEPT_BYTES:
            self._contents[name] = content
            self._kept_bytes += len(content)
        return content


def _path(element: Element) -> str:
    return normpath(attribute(element, "href")).lstrip("/")


def description_in(frame: Element) -> str:
    """Return the title and the description of a drawing, unless it is decorative."""
    if attribute(frame, "decorative") == "true":
        return ""
    texts = [child(frame, name) for name in ("title", "desc")]
    words = [alternative_text(each.text or "") for each in texts if each is not None]
    return ": ".join(dict.fromkeys(filter(None, words)))


def form_fields(body: Element) -> dict[str, str]:
    """Return the values of a document's form fields, by the ids of their controls."""
    fields = {}
    for forms in descendants(body, "forms"):
        for each in forms.iter():
            if key := each.get("{http://www.w3.org/XML/1998/namespace}id") or attribute(each, "id"):
                fields[key] = _form_field(each)
    return fields


def _form_field(control: Element) -> str:
    name = attribute(control, "label") or attribute(control, "name")
    match local(control):
        case "checkbox":
            value = "☒" if attribute(control, "current-state") == "checked" else "☐"
        case "radio":
            value = "☒" if attribute(control, "current-selected") == "true" else "☐"
        case "listbox":
            options = children(control, "option")
            chosen = [each for each in options if attribute(each, "current-selected") == "true"]
            value = ", ".join(attribute(each, "label") for each in chosen)
        case "button" | "image":
            return marks.mark("Button", name)
        case _:
            value = attribute(control, "current-value") or attribute(control, "value")
            lines = ("".join(each.itertext()) for each in children(control, "p"))
            value = value or " ".join(lines)
    return f"[{' '.join(f'Form field {name}'.split())}: {value}]"
