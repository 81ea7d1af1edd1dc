"""Comments of Excel's cells: notes, and threads of comments with their replies."""

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import Relationship, find_related_part
from chatapp.documents.formats.office.xml import child, children, descendants, local, parse_xml

from .excel_strings import unescape
from .marks import mark_comment

THREAD_AUTHOR = "tc="  # of the note that stands for a thread in old versions of Excel


def read_people(archive: Archive, main: str) -> dict[str, str]:
    """Return the names of those who wrote threaded comments, by their ids."""
    part = find_related_part(archive, main, "person")
    people = children(parse_xml(archive.part(part)), "person") if part else []
    return {each.get("id", ""): each.get("displayName", "") for each in people}


def read_comments(
    archive: Archive, targets: Iterable[Relationship], people: dict[str, str]
) -> list[str]:
    """Return a block for each comment of a sheet, with the address of its cell."""
    blocks = []
    for target in targets:
        if target.target not in archive:
            continue
        if target.kind == "threadedComment":
            blocks += _read_thread(parse_xml(archive.part(target.target)), people)
        elif target.kind == "comments":
            blocks += _read_notes(parse_xml(archive.part(target.target)))
    return blocks


def _read_notes(root: Element) -> list[str]:
    authors = [each.text or "" for each in children(child(root, "authors"), "author")]
    blocks = []
    for note in children(child(root, "commentList"), "comment"):
        number = note.get("authorId", "")
        index = int(number) if number.isdecimal() and len(number) < 9 else len(authors)
        author = authors[index].strip() if index < len(authors) else ""
        text = _note_text(note).strip()
        if author.startswith(THREAD_AUTHOR) or not text:
            continue
        text = text.removeprefix(f"{author}:") if author else text
        blocks.append(mark_comment(author, note.get("ref", ""), text))
    return blocks


def _note_text(note: Element) -> str:
    text = child(note, "text")
    if text is None:
        return ""
    runs = descendants(text, "t", enters=lambda each: local(each) != "rPh")
    return unescape("".join(run.text or "" for run in runs))


def _read_thread(root: Element, people: dict[str, str]) -> list[str]:
    blocks = []
    for comment in children(root, "threadedComment"):
        text = child(comment, "text")
        content = (text.text or "") if text is not None else ""
        if content.strip():
            kind = "Reply" if comment.get("parentId") else "Comment"
            author = people.get(comment.get("personId", ""), "")
            blocks.append(mark_comment(author, comment.get("ref", ""), content, kind))
    return blocks
