"""Text in any common encoding, as it stands. HTML and notebooks become Markdown.

Whether it is one of these is judged by how it begins.
"""

import re
from typing import BinaryIO

from chatapp.documents import refusals
from chatapp.documents.formats.output.pages import Pages
from chatapp.documents.results import Document, Limits

from . import drawing, html, notebook
from .encoded_text import decode_text

MAX_BYTES_PER_CHARACTER = 4
MAX_BYTES_WITH_PICTURES = 64 * 2**20  # pages and notebooks can consist mostly of pictures
PAGE_BEGINNINGS = (b"<", b"{")
HEAD_BYTES = 1_024
IGNORED_BEGINNING = b"\xef\xbb\xbf \t\r\n"
# After the byte order mark, an XML declaration and comments, as browsers do, but only whole pages:
# a template or a part of a page is source code.
WEB_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?>(?:<!--.{0,2000}?-->\s*){0,9})<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
SVG = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?>(?:<!--.{0,2000}?-->\s*){0,9})(?:<!doctype\s+svg[^>]{0,500}>\s*)?<svg[\s>]",
    re.IGNORECASE | re.DOTALL,
)


def read(file: BinaryIO, limits: Limits) -> Document:
    return read_text(decode_text(read_within(file, limits)), limits)


def read_within(file: BinaryIO, limits: Limits) -> bytes:
    """Return the content. Raises `Unreadable` if its text must be longer than the limit."""
    max_bytes = MAX_BYTES_PER_CHARACTER * limits.characters
    content = file.read(HEAD_BYTES)
    if content.lstrip(IGNORED_BEGINNING).startswith(PAGE_BEGINNINGS):
        max_bytes = max(max_bytes, MAX_BYTES_WITH_PICTURES)
    content += file.read(max_bytes + 1 - len(content))
    if len(content) > max_bytes:
        raise refusals.too_many_characters(limits.characters)
    return content


def read_text(text: str, limits: Limits) -> Document:
    if WEB_PAGE.match(text):
        return html.read(text, limits)
    if SVG.match(text):
        return drawing.read(text, limits)
    if parsed_notebook := notebook.parse(text):
        return notebook.read(parsed_notebook, limits)
    pages = Pages(limits)
    pages.add(text)
    if pages.are_blank:
        raise refusals.empty()
    return Document("text/plain", "Text", "", pages.whole("Text"))
