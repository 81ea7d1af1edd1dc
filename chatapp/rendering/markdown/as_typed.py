"""Renders what a person typed: white space is kept, URLs become links, fenced code is code.

Nothing else has a meaning: no emphasis, headings, lists or formulas. The style sheet preserves
white space, so that the text of the page is the text that was typed; only blank lines next to a
fence are dropped, because the code block has its own margin.

Only URLs with one of `allowed.SCHEMES` become links, and none in fenced code or between two
backticks on a line. Beyond a number of links or fences, the rest is plain text.
"""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import quote, urlsplit

from django.utils.safestring import SafeString

from . import budgets
from .allowed import PROSE, REL
from .block_html import FULL, PLAIN, RenderOptions, block_html
from .blocks import Block, parse_fence
from .characters import clean, escape
from .code import CODE_BEGINS
from .whole import TOO_LONG

_MAX_FENCES = 200
_MAX_LINKS = 1000
_MAX_ADDRESS_LENGTH = 2000
_MAX_LENGTH_AT_ONCE = 64 * 1024  # characters

_CODE_OR_ADDRESS = re.compile(
    r"`[^`\n]*`|(?<!\w)(?P<address>(?:https?://(?=[\w\[])|mailto:(?=\w))[^\s<>\"`]+)", re.IGNORECASE
)
_SENTENCE_MARKS = (
    ".,:;!?'*~\u2026\u2019\u201d\u00bb\u3001\u3002\uff0c\uff01\uff1f\u300d\u300f\uff09"
)
_SAFE_IN_ADDRESS = "-._~!$&'()*+,;=:/?#@%[]"


def render_typed(text: str, options: RenderOptions = FULL) -> SafeString:
    """Render the text to `<div class="typed">…</div>`, and fences to `<div class="block">…</div>`.

    Text beyond `budgets.MAX_TEXT_LENGTH` is replaced by a notice.
    """
    links = _Links()
    left = budgets.MAX_WEIGHT
    html = []
    for piece in _pieces(clean(text[: budgets.MAX_TEXT_LENGTH])):
        if isinstance(piece, Block):
            left -= piece.whole_weight
            html.append(block_html(piece, options=options if left > 0 else PLAIN))
        else:
            html.append(f'<div class="typed" dir="auto">{links.into(piece)}</div>')
    if len(text) > budgets.MAX_TEXT_LENGTH:
        html.append(TOO_LONG)
    return SafeString("".join(html))  # escaped, or made here of allowed tags


def render_typed_at_once(text: str) -> SafeString | None:
    """Render the text if that is sure to be cheap; otherwise return None."""
    if len(text) > _MAX_LENGTH_AT_ONCE or CODE_BEGINS.search(text):
        return None
    return render_typed(text, PLAIN)


def _pieces(text: str) -> Iterator[str | Block]:
    """Yield texts and fences in order; a fence that is never closed extends to the end."""
    typed: list[str] = []
    fence: Block | None = None
    fences = 0
    for line in text.split("\n"):
        if fence:
            fence.add(line + "\n", is_blank=False)
            if fence.closes_fence(line):
                yield fence
                fence = None
        elif fences < _MAX_FENCES and (fence := parse_fence(line)):
            fence.add(line + "\n", is_blank=False)
            yield from _yield_typed_text(typed, is_first=not fences)
            typed, fences = [], fences + 1
        else:
            typed.append(line)
    if fence:
        yield fence
    else:
        yield from _yield_typed_text(typed, is_first=not fences)


def _yield_typed_text(lines: list[str], *, is_first: bool) -> Iterator[str]:
    text = "\n".join(lines).rstrip("\n")
    if not is_first:
        text = text.lstrip("\n")
    if text.strip():
        yield text


class _Links:
    """Makes the URLs of a text links, up to a limit."""

    def __init__(self) -> None:
        self._left = _MAX_LINKS

    def into(self, text: str) -> str:
        """Return the text as HTML with links."""
        html, at = [], 0
        matches = (match for match in _CODE_OR_ADDRESS.finditer(text) if match["address"])
        for match in islice(matches, self._left):
            self._left -= 1
            address = _without_sentence_marks(match["address"])
            html += [escape(text[at : match.start()]), _link(address)]
            at = match.start() + len(address)
        return "".join(html) + escape(text[at:])


def _without_sentence_marks(address: str) -> str:
    """Return the URL without trailing punctuation and without brackets opened before it."""
    bare = address.rstrip(_SENTENCE_MARKS + ")")
    opened = bare.count("(") - bare.count(")")
    end = len(bare)
    for position, mark in enumerate(address[len(bare) :], len(bare) + 1):
        if mark == ")" and opened > 0:
            opened, end = opened - 1, position
    return address[:end]


def _link(address: str) -> str:
    target = quote(address[: _MAX_ADDRESS_LENGTH + 1], safe=_SAFE_IN_ADDRESS)
    if len(address) > _MAX_ADDRESS_LENGTH or not _is_address(target):
        return escape(address)
    return f'<a href="{escape(target)}" target="_blank" rel="{REL}">{escape(address)}</a>'


def _is_address(target: str) -> bool:
    try:
        urlsplit(target)  # raises ValueError for brackets around anything but an IPv6 address
    except ValueError:
        return False
    return PROSE["a"]["href"].fullmatch(target) is not None
