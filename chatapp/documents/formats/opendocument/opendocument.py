"""OpenDocument text, presentations and drawings (ODF 1.3).

Spreadsheets are read by `spreadsheets.ods`. What a slide takes from its master is not read.
"""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.xml import attribute, child, descendants, parse_xml
from chatapp.documents.formats.output import markdown, marks
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Limits

from .blocks import BlockReader
from .file import File
from .inline import PAGE_END
from .styles import headers_and_footers

KIND = "OpenDocument"
PREFIX = "application/vnd.oasis.opendocument."
TEXTS = {f"{PREFIX}text{kind}" for kind in ("", "-template", "-master", "-web")}
SPREADSHEETS = {f"{PREFIX}spreadsheet", f"{PREFIX}spreadsheet-template"}
PRESENTATIONS = {f"{PREFIX}presentation", f"{PREFIX}presentation-template"}
DRAWINGS = {f"{PREFIX}graphics", f"{PREFIX}graphics-template"}
KINDS = TEXTS | SPREADSHEETS | PRESENTATIONS | DRAWINGS
FOOTERS = {"use-header-name": "header-decl", "use-footer-name": "footer-decl"}


def read(archive: Archive, media_type: str, limits: Limits) -> Document:
    content = parse_xml(archive.part("content.xml"))
    body = child(content, "body")
    has_slides = media_type not in TEXTS
    pages = IllustratedPages(limits, "Slide" if media_type in PRESENTATIONS else "Page")
    file = File(archive, content, pages, has_slides)
    slides = list(descendants(body, "page")) if has_slides and body is not None else []
    pages.expect(len(slides))
    texts = _slides(file, slides) if has_slides else _pages(file, body)
    pages.expect(len(texts))
    for text in texts:
        pages.add(text)
    unit = "Slide" if media_type in PRESENTATIONS else "Page" if len(texts) > 1 else ""
    whole = pages.whole(KIND)
    return Document(media_type, KIND, unit, whole, pages.pictures, pages.left_out)


def _pages(file: File, body: Element | None) -> list[str]:
    blocks = [BlockReader(file).blocks(body)] if body is not None else []
    headers, footers = _headers_and_footers(file)
    blocks = [
        *headers,
        *blocks,
        *footers,
        *file.notes,
        *map(marks.write_spans, file.comments.values()),
    ]
    for _ in descendants(body, "deletion") if body is not None else ():
        file.deletions += 1
    if file.deletions:
        file.pages.leave_out("tracked deletion", file.deletions)
        blocks.append(marks.deletions(file.deletions))
    whole = "\n\n".join(block for block in blocks if block)
    return [page for page in whole.split(PAGE_END) if page.strip()]


def _headers_and_footers(file: File) -> tuple[list[str], list[str]]:
    """Return those of the master pages in use, each once."""
    reader = BlockReader(file, repeats_on_pages=True)
    texts: dict[str, None] = {}
    used = file.styles.master_pages() | {"Standard"}
    for kind, element in headers_and_footers(file.style_root, used):
        text = markdown.flat(reader.blocks(element).replace(PAGE_END, ""))
        if markdown.has_words(text):
            texts[f"[{kind}: {text}]"] = None
    headers = [text for text in texts if text.startswith("[Header")]
    return headers, [text for text in texts if text not in headers]


def _slides(file: File, slides: list[Element]) -> list[str]:
    """Return the slides. Footers that are on several come once."""
    seen: set[str] = set()
    texts = []
    for slide in slides:
        blocks = [BlockReader(file).slide(slide)]
        for attribute_name, declaration in FOOTERS.items():
            text = _find_declaration(file, declaration, attribute(slide, attribute_name))
            if text and text not in seen:
                seen.add(text)
                blocks.append(f"[Footer: {text}]")
        notes, file.notes = file.notes, []
        texts.append("\n\n".join(block for block in (*blocks, *notes) if block))
    return texts


def _find_declaration(file: File, kind: str, name: str) -> str:
    if not name:
        return ""
    declarations = (
        each for each in descendants(file.content, kind) if attribute(each, "name") == name
    )
    return " ".join("".join(each.itertext()) for each in declarations)
