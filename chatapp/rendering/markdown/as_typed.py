"""What a person typed, as they typed it: white space kept, addresses live, fenced code as code.

Nothing else has a meaning: no emphasis, no headings, no lists, no formulas. White space is kept by
the style sheet, so that the text of the page is the text that was typed; only blank lines beside a
fence go, where the block of code has its own distance.

Addresses are the closed list's (`allowed.SCHEMES`), and none in code is live, nor one between two
backticks of a line. Past a number of links or fences the rest is text like any other.
"""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import quote, urlsplit

from django.utils.safestring import SafeString

from . import budgets
from .allowed import PROSE, REL
from .block_html import FULL, PLAIN, Dress, block_html
from .blocks import Block, begun_fence
from .characters import clean, escape
from .code import CODE_BEGINS
from .whole import TOO_LONG

_MOST_FENCES = 200
_MOST_LINKS = 1000
_LONGEST_ADDRESS = 2000
_LONGEST_AT_ONCE = 64 * 1024  # characters

_CODE_OR_ADDRESS = re.compile(
    r"`[^`\n]*`|(?<!\w)(?P<address>(?:https?://(?=[\w\[])|mailto:(?=\w))[^\s<>\"`]+)", re.IGNORECASE
)
_SENTENCE_MARKS = (
    ".,:;!?'*~\u2026\u2019\u201d\u00bb\u3001\u3002\uff0c\uff01\uff1f\u300d\u300f\uff09"
)
_SAFE_IN_ADDRESS = "-._~!$&'()*+,;=:/?#@%[]"


def as_typed(text: str, dress: Dress = FULL) -> SafeString:
    """The text as `<div class="typed">…</div>`, and `<div class="block">…</div>` for a fence."""
    links = _Links()
    left = budgets.MOST_WEIGHT
    html = []
    for piece in _pieces(clean(text[: budgets.LONGEST_TEXT])):
        if isinstance(piece, Block):
            left -= piece.whole_weight
            html.append(block_html(piece, dress=dress if left > 0 else PLAIN))
        else:
            html.append(f'<div class="typed" dir="auto">{links.into(piece)}</div>')
    if len(text) > budgets.LONGEST_TEXT:
        html.append(TOO_LONG)
    return SafeString("".join(html))  # escaped, or made here of what the list allows


def as_typed_at_once(text: str) -> SafeString | None:
    """The same where it costs next to nothing; None where it may not."""
    if len(text) > _LONGEST_AT_ONCE or CODE_BEGINS.search(text):
        return None
    return as_typed(text, PLAIN)


def _pieces(text: str) -> Iterator[str | Block]:
    """Texts and fences as they follow one another; a fence that is never closed goes to the end."""
    typed: list[str] = []
    fence: Block | None = None
    fences = 0
    for line in text.split("\n"):
        if fence:
            fence.add(line + "\n", is_blank=False)
            if fence.closes_fence(line):
                yield fence
                fence = None
        elif fences < _MOST_FENCES and (fence := begun_fence(line)):
            fence.add(line + "\n", is_blank=False)
            yield from _typed(typed, is_first=not fences)
            typed, fences = [], fences + 1
        else:
            typed.append(line)
    if fence:
        yield fence
    else:
        yield from _typed(typed, is_first=not fences)


def _typed(lines: list[str], *, is_first: bool) -> Iterator[str]:
    text = "\n".join(lines).rstrip("\n")
    if not is_first:
        text = text.lstrip("\n")
    if text.strip():
        yield text


class _Links:
    """The links of a text, as many as are let live."""

    def __init__(self) -> None:
        self._left = _MOST_LINKS

    def into(self, text: str) -> str:
        """The text as HTML, with its addresses live."""
        html, at = [], 0
        found = (one for one in _CODE_OR_ADDRESS.finditer(text) if one["address"])
        for one in islice(found, self._left):
            self._left -= 1
            address = _without_sentence_marks(one["address"])
            html += [escape(text[at : one.start()]), _link(address)]
            at = one.start() + len(address)
        return "".join(html) + escape(text[at:])


def _without_sentence_marks(address: str) -> str:
    """The address without the marks of the sentence around it, and without a bracket that was
    opened before it."""
    bare = address.rstrip(_SENTENCE_MARKS + ")")
    opened = bare.count("(") - bare.count(")")
    end = len(bare)
    for place, mark in enumerate(address[len(bare) :], len(bare) + 1):
        if mark == ")" and opened > 0:
            opened, end = opened - 1, place
    return address[:end]


def _link(address: str) -> str:
    target = quote(address[: _LONGEST_ADDRESS + 1], safe=_SAFE_IN_ADDRESS)
    if len(address) > _LONGEST_ADDRESS or not _is_address(target):
        return escape(address)
    return f'<a href="{escape(target)}" target="_blank" rel="{REL}">{escape(address)}</a>'


def _is_address(target: str) -> bool:
    try:
        urlsplit(target)  # raises where a bracket is no IPv6 address's
    except ValueError:
        return False
    return PROSE["a"]["href"].fullmatch(target) is not None
