"""Books (EPUB 2 and 3): the chapters in the order of reading, with their pictures and notes."""

import re
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from chatapp.documents import refusals
from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.xml import child, children, descendants, parse_xml
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.formats.text import html
from chatapp.documents.formats.text.encoded_text import decode_as
from chatapp.documents.results import Document, Limits

KIND, MEDIA_TYPE = "EPUB", "application/epub+zip"
CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
# Fonts are scrambled in these ways, which does not encrypt the book.
FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
CHAPTERS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}encoding=["']([\w.-]{1,40})""")
# In HTML, an element that is not void is not closed by a slash.
CLOSED_AT_ONCE = re.compile(
    r"""<([a-zA-Z][\w:-]{0,40})((?=[\s/])(?:[^<>"']|"[^"<]*"|'[^'<]*')*)/>"""
)
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "image", "wbr"}


def read(archive: Archive, limits: Limits) -> Document:
    _check_encryption(archive)
    name = _package_name(archive)
    package = parse_xml(archive.part(name))
    pages = IllustratedPages(limits)
    chapters = _chapters(package, dirname(name))
    pages.expect(len(chapters))
    about = _about(package)
    for chapter in chapters:
        text = _chapter(archive, chapter, pages) if chapter in archive else ""
        if text:
            pages.add(f"{about}\n\n{text}".strip())
            about = ""
    return Document(MEDIA_TYPE, KIND, "Page", pages.whole(KIND), pages.pictures, pages.left_out)


def _check_encryption(archive: Archive) -> None:
    if ENCRYPTION not in archive:
        return
    methods = descendants(parse_xml(archive.part(ENCRYPTION)), "EncryptionMethod")
    if any(method.get("Algorithm") not in FONT_ALGORITHMS for method in methods):
        raise refusals.encrypted(KIND)


def _package_name(archive: Archive) -> str:
    files = descendants(parse_xml(archive.part(CONTAINER)), "rootfile")
    name = next((each.get("full-path", "") for each in files), "")
    if name not in archive:
        raise refusals.damaged(KIND)
    return name


def _about(package: Element) -> str:
    metadata = child(package, "metadata")
    lines = []
    for label, element in (("Title", "title"), ("Author", "creator")):
        names = [" ".join((each.text or "").split()) for each in children(metadata, element)]
        if text := ", ".join(name for name in names if name):
            lines.append(f"{label}: {text}")
    return "\n".join(lines)


def _chapters(package: Element, folder: str) -> list[str]:
    """Return the names of the parts that are read, in the order of the spine."""
    items = {
        item.get("id", ""): normpath(join(folder, unquote(item.get("href", ""))))
        for item in children(child(package, "manifest"), "item")
        if item.get("media-type") in CHAPTERS
    }
    spine = (item.get("idref", "") for item in children(child(package, "spine"), "itemref"))
    return [items[id_] for id_ in spine if id_ in items]


def _chapter(archive: Archive, name: str, pages: IllustratedPages) -> str:
    def resolve(address: str) -> bytes | None:
        part = normpath(join(dirname(name), unquote(address.partition("#")[0])))
        return archive.part(part) if part in archive else None

    content = archive.part(name)
    declared = DECLARED_ENCODING.match(content.removeprefix(b"\xef\xbb\xbf"))
    page = decode_as(content, declared[1].decode() if declared else "utf-8").lstrip("\ufeff")
    return html.to_markdown(CLOSED_AT_ONCE.sub(_close, page), pages, resolve)


def _close(tag: re.Match[str]) -> str:
    name, attributes = tag.groups()
    return tag[0] if name.lower() in VOID else f"<{name}{attributes}></{name}>"
