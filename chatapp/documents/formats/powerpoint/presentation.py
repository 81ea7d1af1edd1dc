"""PowerPoint files (ECMA-376, PresentationML): each slide's text, tables, drawings and notes.

What a slide takes from its layout and master is not read: it is the same on many slides.
"""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.drawings import Drawings
from chatapp.documents.formats.office.relationships import find_related_part, relationships
from chatapp.documents.formats.office.xml import child, children, parse_xml
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Limits

from .comments import Comments
from .shapes import ShapeReader

KIND = "PowerPoint"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
OFF = ("0", "false")


def read(archive: Archive, main: str, limits: Limits) -> Document:
    slides = _slides(archive, main)
    pages = IllustratedPages(limits, "Slide")
    pages.expect(len(slides))
    reader = _Reader(archive, main, pages)
    for slide in slides:
        pages.add(reader.slide(slide))
    texts = pages.whole(KIND)
    return Document(MEDIA_TYPE, KIND, "Slide", texts, pages.pictures, pages.left_out)


def _slides(archive: Archive, main: str) -> list[str]:
    """Return the names of the slides in order."""
    targets = relationships(archive, main)
    entries = children(child(parse_xml(archive.part(main)), "sldIdLst"), "sldId")
    slide_targets = (targets.get(_relationship_id(each)) for each in entries)
    return [each.target for each in slide_targets if each and each.target in archive]


def _relationship_id(slide: Element) -> str:
    """Return `r:id`; the attribute `id` without a namespace is another."""
    return next((value for key, value in slide.items() if key.endswith("}id")), "")


class _Reader:
    """Reads the slides of a file in order. Footers that are on several come once."""

    def __init__(self, archive: Archive, main: str, pages: IllustratedPages) -> None:
        self._archive = archive
        self._drawings = Drawings(archive, pages)
        self._comments = Comments(archive, main)
        self._footers: set[str] = set()

    def slide(self, name: str) -> str:
        slide = parse_xml(self._archive.part(name))
        parts = ["(hidden slide)"] if slide.get("show") in OFF else []
        texts, footers = self._texts(name, slide)
        parts += [*texts, *self._new(footers), *self._comments.read_slide_comments(name)]
        if notes := find_related_part(self._archive, name, "notesSlide"):
            texts, footers = self._texts(notes, parse_xml(self._archive.part(notes)))
            parts += ["Notes:", *texts] if texts else []
            parts += self._new(footers)
        return "\n\n".join(parts)

    def _texts(self, part: str, slide: Element) -> tuple[list[str], list[str]]:
        """Return the blocks of a slide or of its notes, and the footers."""
        content = child(slide, "cSld")
        if content is None:
            return [], []
        reader = ShapeReader(self._drawings, part)
        return reader.blocks(content), reader.footers

    def _new(self, footers: list[str]) -> list[str]:
        """Return footers that no slide before had."""
        new = [text for text in dict.fromkeys(footers) if text not in self._footers]
        self._footers.update(new)
        return [f"[Footer: {text}]" for text in new]
