"""Pictures, charts, diagrams and embedded files that the parts of an Office Open XML file refer to.

Each method returns Markdown: what is read, or a mark for what is not.
"""

import re
from posixpath import basename
from xml.etree.ElementTree import Element

from chatapp.documents.formats.output import marks
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages

from . import charts, diagrams
from .archive import Archive
from .relationships import Relationship, relationships
from .xml import PART_ERRORS, attribute, child, children, descendants, local, parse_xml

RASTER = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF")
NOT_IN_FILE = "it is not in the file"
UNREADABLE = "it can't be read"
# Sentences that Office adds to the descriptions it makes, and names of files in their place.
GENERATED = re.compile(
    r"(?:Description automatically generated.*|AI-generated content may be incorrect\.?)\s*$",
    re.IGNORECASE,
)
FILE_NAME = re.compile(r".{1,300}\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp|heic)", re.I)
MAX_KEPT_BYTES = 64 * 2**20  # of pictures that are referred to again
MAX_NAME_LENGTH = 100


class Drawings:
    """The pictures, links and embedded files that a file's parts refer to by relationship ids."""

    def __init__(self, archive: Archive, pages: IllustratedPages) -> None:
        self._archive, self._pages = archive, pages
        self._relationships: dict[str, dict[str, Relationship]] = {}
        self._contents: dict[str, bytes] = {}
        self._kept_bytes = 0

    def relationship(self, part: str, key: str) -> Relationship | None:
        if part not in self._relationships:
            self._relationships[part] = relationships(self._archive, part)
        return self._relationships[part].get(key)

    def url(self, part: str, key: str) -> str:
        """Return the address that a link leads to, or an empty string."""
        target = self.relationship(part, key)
        is_link = target is not None and target.is_external and target.kind == "hyperlink"
        return target.target if target and is_link else ""

    def blip(self, part: str, blip: Element, description: str) -> str:
        """Return what stands for the picture of `a:blip`, which has none if it is a plain fill."""
        embedded, linked = attribute(blip, "embed"), attribute(blip, "link")
        if not (embedded or linked):
            return ""
        return self.picture(part, embedded or linked, description)

    def picture(self, part: str, key: str, description: str) -> str:
        name = self._target(part, key)
        if not name:
            self._pages.leave_out("picture")
            about = f": {description}" if description else ""
            return f"[Picture is left out: {NOT_IN_FILE}{about}]"
        return self._pages.picture(self._content(name), description)

    def content(self, part: str, key: str) -> tuple[str, bytes]:
        """Return the name of a part and what is in it; both are empty if it is not in the file."""
        name = self._target(part, key)
        return name, self._content(name) if name else b""

    def chart(self, part: str, key: str) -> str:
        root = self._root(part, key)
        if root is None:
            return f"[Chart is left out: {UNREADABLE}]"
        chart = charts.read_office_chart(root)
        if chart.missing:
            self._pages.leave_out("chart value", chart.missing)
        return charts.describe(chart)

    def diagram(self, part: str, key: str) -> str:
        root = self._root(part, key)
        if root is None:
            return f"[Diagram is left out: {UNREADABLE}]"
        data = self._target(part, key)
        points = diagrams.list_points(root, lambda point: self._point(data, point))
        return f"[Diagram]\n\n{points}" if points else ""

    def preview(self, part: str, key: str, description: str = "") -> str:
        """Return the picture that is shown for an embedded file, unless it can't be read."""
        name = self._target(part, key)
        content = self._content(name) if name else b""
        return self._pages.picture(content, description) if content.startswith(RASTER) else ""

    def name_embedded_file(self, part: str, key: str, program: str, name: str = "") -> str:
        """Name an embedded or linked file."""
        target = self.relationship(part, key)
        if program.startswith("Equation"):
            self._pages.leave_out("equation")
            return f"[Equation is left out: an older program made it ({program[:MAX_NAME_LENGTH]})]"
        self._pages.leave_out("attachment")
        label = name or (basename(target.target) if target else "")
        about = " ".join(f"{label} ({program})".split() if program else label.split())
        return marks.mark("Embedded file", about[:MAX_NAME_LENGTH])

    def media(self, part: str, key: str, what: str) -> str:
        """Name a video or a sound that is left out."""
        target = self.relationship(part, key)
        self._pages.leave_out("attachment")
        name = basename(target.target)[:MAX_NAME_LENGTH] if target else ""
        return f"[{what} is left out: {name}]" if name else f"[{what} is left out]"

    def _point(self, part: str, point: Element) -> str:
        """Return the text of a diagram's point, and its pictures."""
        lines = ("".join(each.itertext()).strip() for each in children(child(point, "t"), "p"))
        pictures = (self.blip(part, blip, "") for blip in descendants(point, "blip"))
        return marks.visible("\n".join(filter(None, (*lines, *pictures))))

    def _target(self, part: str, key: str) -> str:
        target = self.relationship(part, key)
        if target is None or target.is_external or target.target not in self._archive:
            return ""
        return target.target

    def _root(self, part: str, key: str) -> Element | None:
        if not (name := self._target(part, key)):
            return None
        try:
            return parse_xml(self._archive.part(name))
        except PART_ERRORS:
            return None

    def _content(self, name: str) -> bytes:
        if name in self._contents:
            return self._contents[name]
        try:
            content = self._archive.part(name)
        except PART_ERRORS:
            content = b""  # which is no picture
        if self._kept_bytes + len(content) <= MAX_KEPT_BYTES:
            self._contents[name] = content
            self._kept_bytes += len(content)
        return content


def description_in(element: Element) -> str:
    """Return the alternative text that a drawing has, unless it is decorative.

    `wp:docPr` and `p:cNvPr` have it in `descr`; shapes of VML in `alt`.
    """
    properties = child(element, "docPr")
    for each in element:
        if properties is None and local(each).startswith("nv"):
            properties = child(each, "cNvPr")
    if properties is None:
        return alternative_text(element.get("alt", ""))
    if any(each.get("val", "1") == "1" for each in descendants(properties, "decorative")):
        return ""
    return alternative_text(attribute(properties, "descr"))


def alternative_text(text: str) -> str:
    text = " ".join(GENERATED.sub("", text.strip()).split())
    return "" if FILE_NAME.fullmatch(text) else text
