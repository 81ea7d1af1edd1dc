"""PDF: the text of each page with what is laid over it, and pictures of what has no text.

If (almost) no page has text, the file is a scan: pictures of its first pages. Pages can also be
drawn one by one, with or without the places of their text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, NamedTuple

import PIL.Image
import pypdfium2
import pypdfium2.raw as pdfium

from chatapp.documents import refusals
from chatapp.documents.formats.images import images
from chatapp.documents.results import (
    Document,
    DrawnPage,
    LeftOut,
    Limits,
    Picture,
    PlacedPicture,
    Scan,
)

from .annotations import names_of_attachments, read_annotations
from .boxes import Box
from .figures import Figure, draw_figure, find_figures
from .pages import Budget, PicturePages, mark_of_picture_page
from .text import read_text
from .text_runs import text_runs

KIND = "PDF"
MEDIA_TYPE = "application/pdf"
MAX_TEXT_SHARE_OF_SCANS = 0.1  # scanners and archives add a page of their own
MAX_SCALE = 300 / 72  # 300 dpi
# Looking for images on each page takes long. A file that has some has this outside of compressed
# streams, because each is a stream of its own.
IMAGE = re.compile(rb"/Subtype\s*/Image\b")
ENCRYPTED = (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)


class PageContent(NamedTuple):
    """The content of a page. A damaged page has none."""

    text: str = ""
    notes: Sequence[str] = ()
    links: Sequence[str] = ()
    attachments: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    has_content: bool = False
    is_damaged: bool = False


def read(file: BinaryIO, limits: Limits) -> Document | Scan:
    data = file.read()
    document = _open(data)
    pages = PicturePages(limits)
    pages.expect(len(document))
    contents = _contents(document, has_images=IMAGE.search(data) is not None)
    attachments = names_of_attachments(document)
    attachments += [name for content in contents for name in content.attachments]
    if _is_scan(contents):
        return _scan(document, limits, attachments)
    earlier_content: set[object] = set()
    for index, content in enumerate(contents):
        _write(pages, _Drawing(document, index, limits), content, earlier_content)
        if index == len(contents) - 1:
            _write_attachments(pages, attachments)
        pages.end_page()
    texts = pages.whole(KIND)
    return Document(MEDIA_TYPE, KIND, "Page", texts, pages.pictures, pages.left_out)


def draw_page(file: BinaryIO, limits: Limits, index: int) -> DrawnPage:
    """Return a page as people see it; the first is 0."""
    page = _load_flattened(_open(file.read()), index)
    picture = _encode(_render(page, limits), limits, images.PNG)
    return DrawnPage(picture, tuple(text_runs(page, picture.width, picture.height)))


def draw_pages(file: BinaryIO, limits: Limits, indices: Sequence[int]) -> tuple[PlacedPicture, ...]:
    """Return pictures of these pages, placed as `read` places those of pages without text."""
    document = _open(file.read())
    is_scan = _is_scan(_contents(document, has_images=False))
    pictures = []
    for index in indices:
        picture = _encode(_Drawing(document, index, limits).render_page(), limits, images.JPEG)
        offset = 0 if is_scan else len(mark_of_picture_page(index))
        pictures.append(PlacedPicture(index, offset, picture))
    return tuple(pictures)


def _open(content: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        is_encrypted = error.err_code in ENCRYPTED
        raise refusals.encrypted(KIND) if is_encrypted else refusals.damaged(KIND) from error


def _contents(document: pypdfium2.PdfDocument, has_images: bool) -> list[PageContent]:
    """Return the content of the pages. Raises `Unreadable` if none of them has any."""
    if document.get_formtype() != pdfium.FORMTYPE_NONE:
        document.init_forms()
    contents = [_content(document, index, has_images) for index in range(len(document))]
    if not any(content.text or content.notes or content.has_content for content in contents):
        is_damaged = any(content.is_damaged for content in contents)
        raise refusals.damaged(KIND) if is_damaged else refusals.no_text(KIND)
    return contents


def _content(document: pypdfium2.PdfDocument, index: int, has_images: bool) -> PageContent:
    try:
        page = document[index]
        text_page = page.get_textpage()
        annotations = read_annotations(document, page, text_page)
        if annotations.are_signed:  # what a signature shows is known to nothing else
            page = _load_flattened(document, index)
            text_page = page.get_textpage()
        text = read_text(page, text_page)
        figures = find_figures(page, text_page) if text and has_images else []
    except pypdfium2.PdfiumError:
        return PageContent(is_damaged=True)
    has_content = annotations.are_drawn or pdfium.FPDFPage_CountObjects(page) > 0
    text_page.close()
    page.close()
    return PageContent(
        text, annotations.notes, annotations.links, annotations.attachments, figures, has_content
    )


def _load_flattened(document: pypdfium2.PdfDocument, index: int) -> pypdfium2.PdfPage:
    """Return a page in which everything that people filled in has become content."""
    page = document[index]
    if document.get_formtype() != pdfium.FORMTYPE_NONE:
        pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
        page.close()  # it has to be loaded again
        page = document[index]
    return page


def _is_scan(contents: Sequence[PageContent]) -> bool:
    with_text = sum(bool(content.text) for content in contents)
    has_more = any(content.is_damaged or content.notes for content in contents)
    return with_text <= MAX_TEXT_SHARE_OF_SCANS * len(contents) and not has_more


def _scan(document: pypdfium2.PdfDocument, limits: Limits, attachments: Sequence[str]) -> Scan:
    budget = Budget(limits)
    pictures: list[Picture] = []
    for index in range(min(len(document), limits.pictures)):
        if pictures and budget.is_over:
            break
        image = _Drawing(document, index, limits).render_page()
        pictures.append(_encode(image, limits, images.JPEG))
    left_out = (LeftOut("attachment", len(attachments)),) if attachments else ()
    return Scan(MEDIA_TYPE, KIND, tuple(pictures), len(document), left_out)


def _write(
    pages: PicturePages, drawing: "_Drawing", content: PageContent, earlier_content: set[object]
) -> None:
    """Write a page. Figures and links that were shown on a page before it, are not repeated."""
    if content.is_damaged:
        pages.leave_out("page")
        pages.write(f"[Page {drawing.index + 1} cannot be read: it is damaged]")
    elif content.text:
        pages.write(content.text)
    elif content.has_content:
        pages.draw_page(drawing.render_page)
    for figure in content.figures:
        if figure.identity not in earlier_content:
            pages.draw_figure(partial(drawing.render_figure, figure.box))
    links = [link for link in content.links if link not in earlier_content]
    pages.write("\n".join([*content.notes, *links]), separator="\n\n")
    earlier_content.update(links, (figure.identity for figure in content.figures))


def _write_attachments(pages: PicturePages, names: Sequence[str]) -> None:
    if names:
        pages.leave_out("attachment", len(names))
        what = "Attached file, which is" if len(names) == 1 else "Attached files, which are"
        pages.write(f"[{what} not read: {', '.join(names)}]", separator="\n\n")


@dataclass(frozen=True)
class _Drawing:
    """Draws a page, or a part of it."""

    document: pypdfium2.PdfDocument
    index: int
    limits: Limits

    def render_page(self) -> PIL.Image.Image:
        page = self.document[self.index]
        image = _render(page, self.limits)
        page.close()
        return image

    def render_figure(self, box: Box) -> PIL.Image.Image:
        page = self.document[self.index]
        image = draw_figure(page, box, self.limits.image_side, MAX_SCALE)
        page.close()
        return image


def _render(page: pypdfium2.PdfPage, limits: Limits) -> PIL.Image.Image:
    scale = min(limits.image_side / max(*page.get_size(), 1.0), MAX_SCALE)
    image: PIL.Image.Image = page.render(scale=scale, rev_byteorder=True).to_pil()
    return image


def _encode(image: PIL.Image.Image, limits: Limits, format_: str) -> Picture:
    return images.encode_image(image, limits.image_side, format_)
