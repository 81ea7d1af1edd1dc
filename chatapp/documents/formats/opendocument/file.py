"""State that the parts of an OpenDocument file share while being read: styles, notes, objects."""

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.xml import attribute, descendants, parse_xml
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages

from .objects import Objects, form_fields
from .styles import ListCounts, Styles

STYLES = "styles.xml"


@dataclass
class File:
    archive: Archive
    content: Element  # the root of content.xml
    pages: IllustratedPages
    has_slides: bool
    deletions: int = 0
    notes: list[str] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)  # whose ranges have not ended, by name

    def __post_init__(self) -> None:
        self.style_root = parse_xml(self.archive.part(STYLES)) if STYLES in self.archive else None
        self.styles = Styles(self.style_root, self.content)
        self.objects = Objects(self.archive, self.pages)
        self.form_fields = form_fields(self.content)
        self.ended_comments = {
            attribute(each, "name") for each in descendants(self.content, "annotation-end")
        }
        self.outline = ListCounts(self.styles.outline)
        self.lists: dict[str, ListCounts] = {}  # the last ones, by their ids and styles
        self._note_counts = {"footnote": 0, "endnote": 0}

    def note_label(self, kind: str) -> str:
        """Return the number of the next note."""
        kind = "endnote" if kind == "endnote" else "footnote"
        self._note_counts[kind] += 1
        return f"{'e' if kind == 'endnote' else ''}{self._note_counts[kind]}"
