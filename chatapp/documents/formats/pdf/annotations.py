"""Annotations of a PDF's page: fields of forms, people's comments, links and attached files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from .forms import FieldReader
from .strings import read_ascii, read_string

MARKUP_OF_TEXT = (
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_SQUIGGLY,
    pdfium.FPDF_ANNOT_STRIKEOUT,
)
WITHOUT_COMMENT = (pdfium.FPDF_ANNOT_POPUP, pdfium.FPDF_ANNOT_REDACT)  # a popup repeats another's
SCHEMES = ("http://", "https://", "mailto:", "tel:", "ftp://")


class Annotations(NamedTuple):
    """The marks of a page's annotations, and the names of files attached to it."""

    notes: list[str]  # what people wrote: comments and the fields of forms
    links: list[str]
    attachments: list[str]
    are_drawn: bool  # whether some show anything, as a comment on an empty page does
    are_signed: bool


def read_annotations(
    document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage
) -> Annotations:
    reader = _Reader(document, text)
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        with _open_annotation(page, index) as annotation:
            if annotation:
                reader.read(annotation)
    fields = reader.fields.marks()
    are_signed = reader.fields.are_signed
    notes = reader.comments + fields
    return Annotations(notes, reader.links(), reader.attachments, reader.are_drawn, are_signed)


def names_of_attachments(document: pypdfium2.PdfDocument) -> list[str]:
    """Return the names of the files in the whole document."""
    indices = range(pdfium.FPDFDoc_GetAttachmentCount(document))
    return [_name(pdfium.FPDFDoc_GetAttachment(document, index)) for index in indices]


def _name(attachment: Any) -> str:
    return " ".join(read_string(pdfium.FPDFAttachment_GetName, attachment).split()) or "no name"


@contextmanager
def _open_annotation(page: pypdfium2.PdfPage, index: int) -> Iterator[Any]:
    annotation = pdfium.FPDFPage_GetAnnot(page, index)
    try:
        yield annotation
    finally:
        if annotation:
            pdfium.FPDFPage_CloseAnnot(annotation)


class _Reader:
    def __init__(self, document: pypdfium2.PdfDocument, text: pypdfium2.PdfTextPage) -> None:
        self._document = document
        self._text = text
        self._texts_of_links: dict[str, list[str]] = {}  # by their addresses
        self.fields = FieldReader(document)
        self.comments: list[str] = []
        self.attachments: list[str] = []
        self.are_drawn = False

    def read(self, annotation: Any) -> None:
        subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
        if subtype == pdfium.FPDF_ANNOT_WIDGET:
            self.fields.read(annotation)
        elif subtype == pdfium.FPDF_ANNOT_LINK:
            self._read_link(annotation)
        elif subtype not in WITHOUT_COMMENT:
            self.are_drawn = True
            self._read_comment(annotation, subtype)
        if subtype == pdfium.FPDF_ANNOT_FILEATTACHMENT:
            self.attachments.append(_name(pdfium.FPDFAnnot_GetFileAttachment(annotation)))

    def _read_comment(self, annotation: Any, subtype: int) -> None:
        comment = _value(annotation, b"Contents")
        is_struck_out = subtype == pdfium.FPDF_ANNOT_STRIKEOUT
        if not comment and not is_struck_out:
            return
        words = self._words(annotation) if subtype in MARKUP_OF_TEXT else ""
        author = " ".join(_value(annotation, b"T").split())
        mark = "Struck out" if is_struck_out else "Comment"
        mark += f" by {author}" * bool(author)
        mark += f" on “{words}”" * bool(words and comment)
        self.comments.append(f"[{mark}: {comment or words}]")

    def _words(self, annotation: Any) -> str:
        """Return the words that it highlights, underlines or strikes out."""
        quad = pdfium.FS_QUADPOINTSF()
        passages = []
        for index in range(pdfium.FPDFAnnot_CountAttachmentPoints(annotation)):
            if pdfium.FPDFAnnot_GetAttachmentPoints(annotation, index, quad):
                across = (quad.x1, quad.x2, quad.x3, quad.x4)
                up = (quad.y1, quad.y2, quad.y3, quad.y4)
                passages.append(self._text_in(min(across), min(up), max(across), max(up)))
        return " ".join(filter(None, passages))

    def _text_in(self, left: float, bottom: float, right: float, top: float) -> str:
        text: str = self._text.get_text_bounded(left, bottom, right, top)
        return " ".join(text.split())

    def _read_link(self, annotation: Any) -> None:
        link = pdfium.FPDFAnnot_GetLink(annotation)
        action = pdfium.FPDFLink_GetAction(link) if link else None
        if not action:
            return
        address = read_ascii(pdfium.FPDFAction_GetURIPath, self._document, action).strip()
        box = pdfium.FS_RECTF()
        if address.lower().startswith(SCHEMES) and pdfium.FPDFAnnot_GetRect(annotation, box):
            text = self._text_in(box.left, box.bottom, box.right, box.top)
            self._texts_of_links.setdefault(address, []).append(text)

    def links(self) -> list[str]:
        """Return the links whose text does not show where they lead to."""
        marks = []
        for address, texts in self._texts_of_links.items():
            text = " ".join(filter(None, texts))
            if not _shows(text, address):
                marks.append(f"[Link “{text}”: {address}]" if text else f"[Link: {address}]")
        return marks


def _value(annotation: Any, key: bytes) -> str:
    return read_string(pdfium.FPDFAnnot_GetStringValue, annotation, key).strip()


def _shows(text: str, address: str) -> bool:
    visible_text = "".join(text.split()).lower()
    bare = address.lower().split(":", 1)[1].strip("/").removeprefix("www.")
    return bare in visible_text
