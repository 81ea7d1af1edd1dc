"""HTML as Markdown: headings, lists, tables, links, notes, forms, pictures and preformatted text.

nh3 parses the page like a browser and leaves only the elements listed here, closed and nested
properly. Scripts and styles are dropped with their content, and nothing is fetched.
"""

import base64
import binascii
import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

import nh3

from chatapp.documents import refusals
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Limits

from . import html_writer

KIND = "HTML"
MEDIA_TYPE = "text/html"
DROPPED = {"script", "style", "noscript", "template", "rp", "annotation", "annotation-xml"}
ATTRIBUTES = {
    "*": {"id", "role", "epub:type"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "input": {"type", "name", "value", "checked", "aria-label"},
    "select": {"name", "aria-label"},
    "textarea": {"name", "aria-label"},
    "option": {"selected"},
    "iframe": {"src", "title"},
    "object": {"data", "title"},
    "embed": {"src", "title"},
    "video": {"src", "title"},
    "audio": {"src", "title"},
    "math": {"alttext"},
    "image": {"href", "xlink:href"},
}
DATA_URL = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
MAX_ORNAMENT = 2  # pixels; a picture of this size counts readers, or makes room
TRAILING_SPACES = re.compile(r"(?<! ) ++$", re.MULTILINE)
BLANK_LINES = re.compile(r"\n{3,}")

Resolve = Callable[[str], bytes | None]  # returns a picture by its address, if it is at hand


def read(page: str, limits: Limits) -> Document:
    pages = IllustratedPages(limits)
    pages.add(to_markdown(page, pages, has_title=True))
    if pages.are_blank:
        raise refusals.no_text(KIND)
    return Document(MEDIA_TYPE, KIND, "", pages.whole(KIND), pages.pictures, pages.left_out)


def decode_data_url(address: str) -> bytes | None:
    """Return the content of a data URL, or None if it is another address."""
    head = DATA_URL.match(address)
    if not head:
        return None
    content = unquote_to_bytes(address[head.end() :])
    if not head[0].lower().endswith(";base64,"):
        return content
    try:
        return base64.b64decode(content)
    except binascii.Error:
        return b""


def to_markdown(
    page: str,
    pages: IllustratedPages,
    resolve: Resolve = decode_data_url,
    *,
    has_title: bool = False,
) -> str:
    """Return the text of a page, in which stand-ins of `pages` are in the places of pictures.

    A title is not shown in a mail or a book.
    """
    clean = nh3.clean(
        page,
        tags=html_writer.TAGS if has_title else html_writer.TAGS - {"title"},
        clean_content_tags=DROPPED if has_title else DROPPED | {"title"},
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto", "data", "cid"},
        link_rel=None,
    )

    def write_picture(attributes: dict[str, str]) -> str:
        return _picture(attributes, pages, resolve)

    writer = html_writer.Writer(write_picture)
    writer.feed(clean)
    writer.close()
    text = TRAILING_SPACES.sub("", writer.text())
    return BLANK_LINES.sub("\n\n", text).strip("\n")


def _picture(attributes: dict[str, str], pages: IllustratedPages, resolve: Resolve) -> str:
    description = " ".join(attributes.get("alt", "").split())
    if any(_is_tiny(attributes.get(side, "")) for side in ("width", "height")):
        return description
    address = attributes.get("src", "")
    if content := resolve(address) or decode_data_url(address):
        return pages.picture(content, description)
    if "alt" in attributes and not description:  # an ornament, by the standard
        return ""
    pages.leave_out("picture")
    return f"[Picture: {description}]" if description else "[Picture]"


def _is_tiny(length: str) -> bool:
    return length.isdecimal() and int(length[:9]) <= MAX_ORNAMENT
