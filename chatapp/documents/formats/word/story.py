"""State that the parts of a Word file share while being read: styles, comments, notes, drawings."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.drawings import Drawings
from chatapp.documents.formats.office.relationships import find_related_part
from chatapp.documents.formats.office.xml import (
    attribute,
    child,
    children,
    descendants,
    local,
    parse_xml,
)
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages

from .styles import Styles

NOTES = {"footnote": "footnotes", "endnote": "endnotes"}
ReadBlocks = Callable[[str, Element], list[str]]  # of an element in the part of this name


@dataclass
class Comment:
    author: str
    element: Element
    is_resolved: bool


@dataclass
class Story:
    archive: Archive
    main: str
    pages: IllustratedPages
    read_blocks: ReadBlocks
    styles: Styles = field(init=False)
    drawings: Drawings = field(init=False)
    deletions: int = 0

    def __post_init__(self) -> None:
        self.styles = Styles(self.archive, self.main)
        self.drawings = Drawings(self.archive, self.pages)
        self.comments_part = find_related_part(self.archive, self.main, "comments")
        self._comments = self._read_comments()
        self._labels: dict[tuple[str, str], str] = {}  # of notes, by their kinds and ids
        self._page_ends: set[int] = set()
        self._note_counts: Counter[str] = Counter()

    def set_sections(self, sections: list[Element]) -> None:
        """Say which sections the file has, each by the element at its end."""
        self._page_ends = {
            id(section)
            for section, following in pairwise(sections)
            if _value(child(following, "type")) not in ("continuous", "nextColumn")
        }

    def ends_page(self, section: Element | None) -> bool:
        """Return whether the section that ends here is followed by one on a page of its own."""
        return id(section) in self._page_ends

    def pop_comment(self, number: str) -> Comment | None:
        """Return a comment once."""
        return self._comments.pop(number, None)

    def other_comments(self) -> list[Comment]:
        """Return those that no text refers to."""
        others = list(self._comments.values())
        self._comments.clear()
        return others

    def note_label(self, kind: str, number: str) -> str:
        """Return the number of a note that the text refers to."""
        key = kind, number
        if key not in self._labels:
            self._note_counts[kind] += 1
            label = str(self._note_counts[kind])
            self._labels[key] = label if kind == "footnote" else f"e{label}"
        return self._labels[key]

    def note_texts(self) -> list[str]:
        """Return the notes that the text refers to, with those that they refer to themselves."""
        parts = {
            kind: find_related_part(self.archive, self.main, name) for kind, name in NOTES.items()
        }
        notes = {kind: self._elements(part, kind) for kind, part in parts.items()}
        texts: list[str] = []
        read: set[tuple[str, str]] = set()
        while waiting := [key for key in self._labels if key not in read]:
            for kind, number in waiting:
                read.add((kind, number))
                if (note := notes[kind].get(number)) is not None:
                    text = " ".join(self.read_blocks(parts[kind], note)).replace("\f", "")
                    texts.append(f"[^{self._labels[kind, number]}]: {text}")
        return texts

    def _read_comments(self) -> dict[str, Comment]:
        resolved = self._resolved_paragraphs()
        comments = {}
        for number, each in self._elements(self.comments_part, "comment").items():
            ids = {attribute(paragraph, "paraId") for paragraph in descendants(each, "p")}
            comments[number] = Comment(attribute(each, "author"), each, bool(ids & resolved))
        return comments

    def _resolved_paragraphs(self) -> set[str]:
        """Return the ids of paragraphs whose comments are resolved."""
        root = self._root(find_related_part(self.archive, self.main, "commentsExtended"))
        done = [each for each in root if attribute(each, "done") == "1"] if root is not None else []
        return {attribute(each, "paraId") for each in done if local(each) == "commentEx"} - {""}

    def _elements(self, part: str, name: str) -> dict[str, Element]:
        return {attribute(each, "id"): each for each in children(self._root(part), name)}

    def _root(self, part: str) -> Element | None:
        return parse_xml(self.archive.part(part)) if part else None


def _value(element: Element | None) -> str:
    return attribute(element, "val") if element is not None else ""
