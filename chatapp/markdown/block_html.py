"""One top-level block to safe HTML: cmark, then what we make of its HTML, then the cleaner.

The text's own "<" never begins a tag. Images become links, since a remote image tells its server
who reads. A block that is absurdly long or nested is shown as it was written.

The regular expressions here read what cmark wrote, in which every "<" and ">" belongs to a tag.
What they make of it is judged by a parser: the cleaner comes last. Two things have no use for it:
a fence, in which nothing stands but our own tags and escaped text; and formulas, each of which has
been through a cleaner of the same list before it is put into the text.
"""

import re

from .allowed import ALLOWED, cleaner
from .blocks import Block
from .characters import NOT_A_TAG, escape
from .code import CLOSING_TAGS, highlight, language_of, opening_tags
from .commonmark import to_html
from .formulas import Formulas, mask

OPENING, CLOSING = '<div class="block">', "</div>"
PLAIN_OPENING, PLAIN_CLOSING = '<pre class="plain" tabindex="0">', "</pre>"
LONGEST_BLOCK = 32 * 1024  # characters; what is longer was not written as Markdown
_DEEPEST = 60

_RAW_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>|mailto:[^\s<>]*>|[\w.+-]+@[\w.-]+>)")
_NEWLINE_AFTER_TAG = re.compile(
    r"(</?(?:p|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|h[1-6]|pre|hr)\b[^>]*>)\n"
)
_LINKS_AND_IMAGES = re.compile(
    r'<a [^>]*>|</a>|<img src="([^"]*)" alt="([^"]*)"(?: title="[^"]*")? />'
)
_HEADING_TAG = re.compile(r"(</?h)([1-6])>")
_CODE_BLOCK = re.compile(r'<pre><code(?: class="language-([^"]*)")?>(.*?)\n?</code></pre>', re.S)
_CODE_OR_BREAK = re.compile(r"(<code>.*?</code>|<[^>]*>)|&lt;br ?/?&gt;", re.S)
_NESTING = re.compile(r"<(/?)(?:blockquote|ul|ol|li|em|strong|del|a)\b")


def block_html(block: Block, definitions: str = "", *, colours: bool = True) -> str:
    """A finished block as HTML, `definitions` being the link definitions that it uses."""
    if block.kind == "fence":
        return OPENING + _fence_html(block, colours) + CLOSING
    if block.size > LONGEST_BLOCK:
        return OPENING + plain_html(block.source) + CLOSING
    masked = mask(block.source)
    html = markdown_html(definitions + masked.text, masked.formulas, colours=colours)
    return OPENING + (plain_html(block.source) if html is None else html) + CLOSING


def plain_html(source: str) -> str:
    """The text as it was written."""
    return PLAIN_OPENING + escape(source.rstrip("\n")) + PLAIN_CLOSING


def markdown_html(source: str, taken_out: list[str], *, colours: bool) -> str | None:
    """Markdown and the formulas taken out of it as safe HTML; None if it nests absurdly deep."""
    if "<" in source:
        source = _RAW_TAG.sub("<" + NOT_A_TAG, source)
    html = _NEWLINE_AFTER_TAG.sub(r"\1", to_html(source)).rstrip("\n")
    if NOT_A_TAG in html or "%EF%B7%90" in html:
        html = html.replace(NOT_A_TAG, "").replace("%EF%B7%90", "")
    if _is_too_deep(html):
        return None
    if "<img" in html:
        html = _images_to_links(html)
    formulas = Formulas(taken_out)
    return formulas.into_text(_CLEANER.clean(_dressed(formulas.into_code(html), colours)))


def fence_body(block: Block) -> str:
    """The code inside a fence, without the fence's own indentation and last line end."""
    lines = block.lines[1:]
    if lines and block.closes_fence(lines[-1]):
        lines = lines[:-1]
    if block.indent:
        lines = [unindented(line, block.indent) for line in lines]
    return "".join(lines).rstrip("\n")


def unindented(line: str, indent: int) -> str:
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]


def fence_info(block: Block) -> str:
    return block.lines[0].strip().lstrip(block.fence[0])


def _fence_html(block: Block, colours: bool) -> str:
    info, code = fence_info(block), fence_body(block)
    html = highlight(code, language_of(info)) if colours else escape(code)
    return opening_tags(info) + html + CLOSING_TAGS


def _is_too_deep(html: str) -> bool:
    if html.count("</") <= _DEEPEST:
        return False
    depth = 0
    for closes in _NESTING.findall(html):
        depth += -1 if closes else 1
        if depth > _DEEPEST:
            return True
    return False


def _images_to_links(html: str) -> str:
    in_link = False

    def link(found: re.Match[str]) -> str:
        nonlocal in_link
        address, name = found[1], found[2]
        if address is None:
            in_link = found[0] != "</a>"
            return found[0]
        return (name or address) if in_link else f'<a href="{address}">{name or address}</a>'

    return _LINKS_AND_IMAGES.sub(link, html)


def _dressed(html: str, colours: bool) -> str:
    """What we add: heading levels below the page's own, scrolling tables, code blocks."""
    if "<h" in html:
        html = _HEADING_TAG.sub(lambda tag: f"{tag[1]}{min(int(tag[2]) + 2, 6)}>", html)
    if "<table" in html:
        # The one tag that is meant when it is written: a cell has no other way to break a line.
        if "&lt;br" in html:
            html = _CODE_OR_BREAK.sub(lambda found: found[1] or "<br>", html)
        html = html.replace("<table>", _TABLE).replace("</table>", "</table></div>")
    if "<pre" in html:
        html = _CODE_BLOCK.sub(lambda found: _code_block(found, colours), html)
    return html


def _code_block(found: re.Match[str], colours: bool) -> str:
    info, code = found[1] or "", found[2]
    if colours:
        code = highlight(_unescape(code), language_of(info))
    return opening_tags(info) + code + CLOSING_TAGS


def _unescape(html: str) -> str:
    text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\xa0")
    return text.replace("&amp;", "&")


_TABLE = '<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table>'
_CLEANER = cleaner(ALLOWED)
