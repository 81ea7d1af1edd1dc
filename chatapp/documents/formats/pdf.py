"""PDF: the text of each page, or pictures of the pages if (almost) none of them has text.

A page can also be drawn, with the places of its text.
"""

import encodings.utf_16_le  # noqa: F401 - PDFium's strings
from collections.abc import Iterator
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

from chatapp.documents import refusals
from chatapp.documents.results import Document, DrawnPage, Limits, Picture, Scan

from . import images, right_to_left
from .pages import Pages
from .text_runs import text_runs

KIND = "PDF"
MEDIA_TYPE = "application/pdf"
BLANK_PAGE = "(This page has no text.)"
MAX_TEXT_SHARE_OF_SCANS = 0.1  # scanners and archives add a page of their own
MAX_SCALE = 300 / 72  # 300 dpi
ENCRYPTED = (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)


def read(file: BinaryIO, limits: Limits) -> Document | Scan:
    document = _opened(file)
    pages = Pages(limits)
    pages.expect(len(document))
    texts = [_text(document, i) for i in range(len(document))]
    with_text = sum(bool(text) for text in texts)
    if with_text <= MAX_TEXT_SHARE_OF_SCANS * len(texts):
        return _scan(document, limits)
    for text in texts:
        pages.add(text or BLANK_PAGE)
    return Document(MEDIA_TYPE, KIND, "Page", pages.whole(KIND))


def draw_page(file: BinaryIO, limits: Limits, index: int) -> DrawnPage:
    """Return a page as people see it; the first is 0."""
    page = _page(_opened(file), index)
    picture = _drawn(page, limits, images.PNG)
    return DrawnPage(picture, tuple(text_runs(page, picture.width, picture.height)))


def _opened(file: BinaryIO) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(file.read())
    except pypdfium2.PdfiumError as error:
        is_encrypted = error.err_code in ENCRYPTED
        raise refusals.encrypted(KIND) if is_encrypted else refusals.damaged(KIND) from error


def _text(document: pypdfium2.PdfDocument, index: int) -> str:
    """Return a page's text. A page that is damaged has none.

    PDFium joins a word that is hyphenated at a line's end with U+0002, which `cleaned` removes.
    """
    try:
        page = _page(document, index)
        text = page.get_textpage()
        found: str = text.get_text_bounded()
        if right_to_left.has_letters(found):
            found = right_to_left.in_reading_order(_placed(text))
    except pypdfium2.PdfiumError:
        return ""
    text.close()
    page.close()
    return found.strip()


def _page(document: pypdfium2.PdfDocument, index: int) -> pypdfium2.PdfPage:
    page = document[index]
    if document.get_formtype() != pdfium.FORMTYPE_NONE:
        # What people filled in becomes content of the page, which has to be loaded again.
        pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
        page.close()
        page = document[index]
    return page


def _placed(text: pypdfium2.PdfTextPage) -> Iterator[right_to_left.Placed]:
    for i in range(text.count_chars()):
        if code := pdfium.FPDFText_GetUnicode(text, i):
            yield chr(code), text.get_charbox(i)[0]


def _scan(document: pypdfium2.PdfDocument, limits: Limits) -> Scan:
    if not any(_has_content(document, i) for i in range(len(document))):
        raise refusals.no_text(KIND)
    shown = range(min(len(document), limits.pictures))
    pictures = tuple(_picture(document, i, limits) for i in shown)
    return Scan(MEDIA_TYPE, KIND, pictures, len(document))


def _has_content(document: pypdfium2.PdfDocument, index: int) -> bool:
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return False
    count: int = pdfium.FPDFPage_CountObjects(page)
    page.close()
    return count > 0


def _picture(document: pypdfium2.PdfDocument, index: int, limits: Limits) -> Picture:
    page = document[index]
    picture = _drawn(page, limits, images.JPEG)
    page.close()
    return picture


def _drawn(page: pypdfium2.PdfPage, limits: Limits, format_: str) -> Picture:
    scale = min(limits.image_side / max(*page.get_size(), 1.0), MAX_SCALE)
    image = page.render(scale=scale, rev_byteorder=True).to_pil()
    return images.encoded(image, limits.image_side, format_)
