"""Text in any common encoding, as it stands. HTML, which begins like a page, becomes Markdown."""

import re
from typing import BinaryIO

from chatapp.documents import refusals
from chatapp.documents.results import Document, Limits

from . import html
from .encoded_text import decoded
from .pages import Pages

MAX_BYTES_PER_CHARACTER = 4
# After the byte order mark, an XML declaration and comments, as browsers do, but only whole pages:
# a template or a part of a page is source code.
WEB_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*){0,9}<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
SVG = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*){0,9}(?:<!doctype\s+svg[^>]{0,500}>\s*)?<svg[\s>]",
    re.IGNORECASE | re.DOTALL,
)


def read(file: BinaryIO, limits: Limits) -> Document:
    max_bytes = MAX_BYTES_PER_CHARACTER * limits.characters
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise refusals.too_many_characters(limits.characters)
    text = decoded(content)
    if WEB_PAGE.match(text):
        return html.read(text, limits)
    is_drawing = SVG.match(text)
    pages = Pages(limits)
    pages.add(text)
    if pages.are_blank:
        raise refusals.empty()
    kind, media_type = ("SVG", "text/xml") if is_drawing else ("Text", "text/plain")
    return Document(media_type, kind, "", pages.whole(kind))
