"""Renders one top-level block to safe HTML: cmark, then our changes to its HTML, then the cleaner.

A "<" in the text begins only the tags that `inline_tags` knows. Images become links, since a remote
image tells its server who is reading. A block that is absurdly long or nested is shown as its
source.

After cmark, a block is dressed: its code gets syntax colours, its formulas become MathML. That may
take very long; `block_at_once` returns what can be rendered quickly.

The regular expressions here read cmark's output, in which every "<" and ">" belongs to a tag. Their
result is parsed by the cleaner, which comes last. Two things skip it: a fence, which contains only
our own tags and escaped text, and formulas, which pass a cleaner with the same list before they are
put into the text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

from . import budgets
from .allowed import ALLOWED, cleaner
from .blocks import HIGHEST, Block, split
from .characters import NOT_A_TAG, escape
from .code import CLOSING_TAGS, escape_code, has_colours, highlight, opening_tags, parse_language
from .commonmark import to_html
from .directions import runs_right_to_left, with_directions
from .disclosures import Disclosure, parse_disclosure
from .emphasis import with_letters_between, without_letters_between
from .footnotes import with_notes
from .formulas import Formulas, as_source, find_cheap, mask, mathml
from .inline_tags import with_inline_tags
from .link_ends import with_link_ends, without_link_ends
from .table_rows import with_whole_rows

OPENING, CLOSING = '<div class="block" dir="auto">', "</div>"
PLAIN_OPENING, PLAIN_CLOSING = '<pre class="plain" tabindex="0">', "</pre>"

_RAW_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>|mailto:[^\s<>]*>|[\w.+-]+@[\w.-]+>)")
_NEWLINE_AFTER_TAG = re.compile(
    r"(</?(?:p|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|h[1-6]|pre|hr)\b[^>]*>)\n"
)
_TAG_ALONE = itemgetter(1)  # like r"\1", which Python expands for each match
_LINKS_AND_IMAGES = re.compile(
    r'<a [^>]*>|</a>|<img src="([^"]*)" alt="([^"]*)"(?: title="[^"]*")? />'
)
_HEADING_TAG = re.compile(r"(</?h)[1-6]>")
# The first words of a task, up to the end of its paragraph or the start of a block element.
_TASK = re.compile(
    r'(<input type="checkbox" (?:checked="" )?disabled="" />)\s*(<p>)?(.*?)'
    r"(?=</?(?:p|li|ul|ol|pre|blockquote|h[1-6]|hr|table)\b)",
    re.DOTALL,
)
_CODE_BLOCK = re.compile(r'<pre><code(?: class="language-([^"]*)")?>(.*?)\n?</code></pre>', re.S)
_NESTING = re.compile(r"<(/?)(?:blockquote|ul|ol|li|em|strong|del|a)\b")


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The functions that render code, given its language, and a formula."""

    code: Callable[[str, str], str]
    formula: Callable[[str], str]


FULL = RenderOptions(highlight, mathml)
PLAIN = RenderOptions(escape_code, as_source)


def block_html(block: Block, definitions: str = "", options: RenderOptions = FULL) -> str:
    """Render a finished block; `definitions` are the link definitions that it uses."""
    if block.kind == "fence":
        return OPENING + _fence_html(block, options) + CLOSING
    if not block.is_formatted:
        return OPENING + plain_block(block) + CLOSING
    if block.kind == "details" and (disclosure := parse_disclosure(block.source, block.is_closed)):
        inner = _blocks_html(disclosure.content, definitions, options)
        after = _blocks_html(disclosure.rest, definitions, options)
        is_open = disclosure.is_open or not block.is_closed
        return OPENING + disclosure_html(disclosure, is_open, inner, options) + after + CLOSING
    masked = mask(block.source)
    html = markdown_html(definitions + masked.text, masked.formulas, options, block.level)
    return in_block(plain_block(block) if html is None else html)


def disclosure_html(
    disclosure: Disclosure, is_open: bool, inner: str, options: RenderOptions
) -> str:
    """Return a disclosure around the HTML of its blocks."""
    masked = mask(disclosure.summary)
    summary = markdown_html(masked.text, masked.formulas, options, HIGHEST) or escape(
        disclosure.summary
    )
    words = summary.removeprefix("<p>").removesuffix("</p>")
    opening = "<details open>" if is_open else "<details>"
    return f"{opening}<summary>{words}</summary>{inner}</details>"


def _blocks_html(source: str, definitions: str, options: RenderOptions) -> str:
    return "".join(block_html(block, definitions, options) for block in split(source))


def in_block(html: str) -> str:
    """Wrap the HTML of a block in its element."""
    opening = '<div class="block" dir="rtl">' if runs_right_to_left(html) else OPENING
    return opening + html + CLOSING


def block_at_once(block: Block, definitions: str) -> tuple[str, bool]:
    """Render what fits into a turn of the event loop; return the HTML and whether it is complete.

    What may be missing: colours of code, formulas, or all the markup of a large block.
    """
    if block.is_formatted and is_heavy(block):
        return OPENING + plain_html(block.source) + CLOSING, False
    is_all = True

    def code(code: str, language: str) -> str:
        nonlocal is_all
        is_all = is_all and not has_colours(code, language)
        return escape_code(code, language)

    def formula(formula: str) -> str:
        nonlocal is_all
        is_all = is_all and formula in cheap
        return mathml(formula) if formula in cheap else as_source(formula)

    cheap = find_cheap(mask(block.source).formulas) if block.kind != "fence" else frozenset()
    return block_html(block, definitions, RenderOptions(code, formula)), is_all


def is_heavy(block: Block) -> bool:
    """Return whether rendering the block takes longer than a turn of the event loop may."""
    if block.kind == "fence":
        return False
    return budgets.weight_of_block(block.weight, block.cells) > budgets.HEAVIEST_AT_ONCE


def plain_html(source: str, notice: str = "") -> str:
    """Return the source as preformatted text, below the notice if there is one."""
    return plain_opening(notice) + escape(source.rstrip("\n")) + PLAIN_CLOSING


def plain_opening(notice: str) -> str:
    return (f'<p class="as-written">{notice}</p>' if notice else "") + PLAIN_OPENING


def plain_block(block: Block) -> str:
    """Return the source of a block that is too large or too deeply nested to be formatted."""
    return plain_html(block.source, choose_notice(block))


def choose_notice(block: Block) -> str:
    return budgets.TOO_MUCH_IN_TEXT if block.kind == "rest" else budgets.TOO_MUCH_IN_BLOCK


def markdown_html(
    source: str, masked_formulas: list[str], options: RenderOptions, level: int
) -> str | None:
    """Render Markdown and the formulas taken out of it to safe HTML; None if it nests too deeply.

    `level` is the level of its headings.
    """
    source = with_notes(with_whole_rows(source))
    if "<" in source:
        source = _RAW_TAG.sub("<" + NOT_A_TAG, source)
    html = to_html(with_letters_between(with_link_ends(source)))
    html = without_link_ends(without_letters_between(html))
    html = _NEWLINE_AFTER_TAG.sub(_TAG_ALONE, html).rstrip("\n")
    if NOT_A_TAG in html or "%EF%B7%90" in html:
        html = html.replace(NOT_A_TAG, "").replace("%EF%B7%90", "")
    if _is_too_deep(html):
        return None
    if "<img" in html:
        html = _images_to_links(html)
    formulas = Formulas(masked_formulas, options.formula)
    final_html = with_directions(_add_markup(formulas.into_code(html), options, level))
    return formulas.into_text(_CLEANER.clean(final_html))


def fence_body(block: Block) -> str:
    """Return the code inside a fence, without the fence's indentation and the last line ending."""
    lines = block.lines[1:]
    if block.is_closed:
        lines = lines[:-1]
    if block.indent:
        lines = [unindent(line, block.indent) for line in lines]
    return "".join(lines).removesuffix("\n")


def unindent(line: str, indent: int) -> str:
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]


def fence_info(block: Block) -> str:
    return block.lines[0].strip().lstrip(block.fence[0])


def _fence_html(block: Block, options: RenderOptions) -> str:
    info, code = fence_info(block), fence_body(block)
    return opening_tags(info) + options.code(code, parse_language(info)) + CLOSING_TAGS


def _is_too_deep(html: str) -> bool:
    if html.count("</") <= budgets.DEEPEST:
        return False
    depth = 0
    for closes in _NESTING.findall(html):
        depth += -1 if closes else 1
        if depth > budgets.DEEPEST:
            return True
    return False


def _images_to_links(html: str) -> str:
    in_link = False

    def link(match: re.Match[str]) -> str:
        nonlocal in_link
        address, name = match[1], match[2]
        if address is None:
            in_link = match[0] != "</a>"
            return match[0]
        return (name or address) if in_link else f'<a href="{address}">{name or address}</a>'

    return _LINKS_AND_IMAGES.sub(link, html)


def _add_markup(html: str, options: RenderOptions, level: int) -> str:
    """Add typed tags, heading levels, labels of checkboxes, scrollable tables and code blocks."""
    html = with_inline_tags(html)
    if "<h" in html:
        html = _HEADING_TAG.sub(rf"\g<1>{level}>", html)
    if "<input" in html:
        html = _TASK.sub(_label_task, html)
    if "<table" in html:
        html = html.replace("<table>", _TABLE).replace("</table>", "</table></div>")
    if "<pre" in html:
        html = _CODE_BLOCK.sub(lambda match: _code_block(match, options), html)
    return html


def _label_task(match: re.Match[str]) -> str:
    box, paragraph, words = match[1], match[2] or "", match[3]
    return f"{paragraph}<label>{box} {words.rstrip()}</label>"


def _code_block(match: re.Match[str], options: RenderOptions) -> str:
    info, code = match[1] or "", _unescape(match[2])
    return opening_tags(info) + options.code(code, parse_language(info)) + CLOSING_TAGS


def _unescape(html: str) -> str:
    text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\xa0")
    text = text.replace("&quot;", '"')
    return text.replace("&amp;", "&")


_TABLE = '<div class="table-scroll" tabindex="0" role="group" aria-label="Table"><table>'
_CLEANER = cleaner(ALLOWED)
