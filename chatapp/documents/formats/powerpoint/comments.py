"""Comments on slides of PowerPoint files, of both kinds: since 2021 they have replies."""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import list_related_parts
from chatapp.documents.formats.office.xml import attribute, child, children, descendants, parse_xml
from chatapp.documents.formats.output import marks

AUTHORS = ("commentAuthors", "authors")
RESOLVED = ("resolved", "closed")


class Comments:
    def __init__(self, archive: Archive, main: str) -> None:
        self._archive = archive
        self._authors: dict[str, str] = {}
        for kind in AUTHORS:
            for part in list_related_parts(archive, main, kind):
                for author in parse_xml(archive.part(part)):
                    self._authors[author.get("id", "")] = author.get("name", "")

    def read_slide_comments(self, slide: str) -> list[str]:
        """Return the comments of a slide and their replies, as marks."""
        texts = []
        for part in list_related_parts(self._archive, slide, "comments"):
            for comment in children(parse_xml(self._archive.part(part)), "cm"):
                texts += self._thread(comment)
        return [text for text in texts if text]

    def _thread(self, comment: Element) -> list[str]:
        is_resolved = comment.get("status") in RESOLVED
        what = "Resolved comment" if is_resolved else "Comment"
        replies = children(child(comment, "replyLst"), "reply")
        return [self._mark(comment, what), *(self._mark(each, "Reply") for each in replies)]

    def _mark(self, comment: Element, what: str) -> str:
        author = self._authors.get(attribute(comment, "authorId"), "")
        return marks.comment(author, _text(comment), what)


def _text(comment: Element) -> str:
    if (old := child(comment, "text")) is not None:
        return old.text or ""
    body = child(comment, "txBody")
    paragraphs = children(body, "p")
    return "\n".join("".join(t.text or "" for t in descendants(each, "t")) for each in paragraphs)
