"""Word files (ECMA-376, WordprocessingML): the body in order, with headings, lists and tables.

Pages end where their author or Word's last layout ended them. Headers come before the first page
and footers after the last, each once; notes follow, and comments that belong to no place. Text that
a tracked change deletes is left out.
"""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import find_related_part, relationships
from chatapp.documents.formats.office.xml import (
    attribute,
    child,
    children,
    descendants,
    local,
    parse_xml,
)
from chatapp.documents.formats.output import markdown, marks
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Limits

from .blocks import BlockReader
from .runs import PAGE_END
from .story import Story
from .styles import is_on

KIND = "Word"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def read(archive: Archive, main: str, limits: Limits) -> Document:
    body = child(parse_xml(archive.part(main)), "body")
    pages = IllustratedPages(limits)
    reader = _Reader(archive, main, pages)
    text = "\n\n".join(reader.blocks(body)) if body is not None else ""
    texts = [page for page in text.split(PAGE_END) if page.strip()] or [""]
    pages.expect(len(texts))
    for page in texts:
        pages.add(page)
    unit = "Page" if len(texts) > 1 else ""
    return Document(MEDIA_TYPE, KIND, unit, pages.whole(KIND), pages.pictures, pages.left_out)


class _Reader:
    """Reads a whole file: what stands around the body, and the body."""

    def __init__(self, archive: Archive, main: str, pages: IllustratedPages) -> None:
        self._archive, self._main, self._pages = archive, main, pages
        self._story = Story(archive, main, pages, self._read_blocks)

    def blocks(self, body: Element) -> list[str]:
        sections = list(descendants(body, "sectPr", lambda each: local(each) != "sectPrChange"))
        self._story.set_sections(sections)
        headers = self._read_repeated_parts(sections, "header")
        blocks = self._read_blocks(self._main, body)
        footers = self._read_repeated_parts(sections, "footer")
        return [*headers, *blocks, *footers, *self._story.note_texts(), *self._last_blocks()]

    def _read_blocks(self, part: str, element: Element) -> list[str]:
        return BlockReader(self._story, part).blocks(element)

    def _read_repeated_parts(self, sections: list[Element], kind: str) -> list[str]:
        """Return the headers or footers of all sections that are shown, each once."""
        targets = relationships(self._archive, self._main)
        special = self._unused_kinds()
        parts: dict[str, None] = {}
        for section in sections:
            unused = special | (set() if is_on(child(section, "titlePg")) else {"first"})
            for each in children(section, f"{kind}Reference"):
                target = targets.get(attribute(each, "id"))
                is_shown = attribute(each, "type") not in unused
                if is_shown and target and target.target in self._archive:
                    parts[target.target] = None
        texts = (self._flat_part(part) for part in parts)
        return [
            f"[{kind.capitalize()}: {text}]"
            for text in dict.fromkeys(texts)
            if markdown.has_words(text)
        ]

    def _flat_part(self, part: str) -> str:
        reader = BlockReader(self._story, part, repeats_on_pages=True)
        text = "\n".join(reader.blocks(parse_xml(self._archive.part(part))))
        return markdown.flat(text.replace(PAGE_END, ""))

    def _unused_kinds(self) -> set[str]:
        settings = find_related_part(self._archive, self._main, "settings")
        root = parse_xml(self._archive.part(settings)) if settings else None
        return set() if is_on(child(root, "evenAndOddHeaders")) else {"even"}

    def _last_blocks(self) -> list[str]:
        """Return comments without a place, and what is said of deletions."""
        blocks = []
        for comment in self._story.other_comments():
            content = self._read_blocks(self._story.comments_part, comment.element)
            blocks.append(marks.comment(comment.author, "\n".join(content)))
        if count := self._story.deletions:
            self._pages.leave_out("tracked deletion", count)
            blocks.append(marks.deletions(count))
        return [block for block in blocks if block]
