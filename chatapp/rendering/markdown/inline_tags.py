"""The few tags of HTML that models write in prose: keys, indices, emphasis, line breaks; footnotes.

The tags arrive as text (`&lt;kbd&gt;`) in the HTML of cmark. A pair becomes an element if no tag of
Markdown begins or ends between them without its other half; anything else stays as it was typed.
"""

import re

from .footnotes import REFERENCE

NAMES = "kbd|sub|sup|b|strong|i|em|u|s|del|mark|small"

_TOKEN = re.compile(
    rf"<code\b.*?</code>|<(?P<closes>/?)(?P<tag>[a-z][a-z0-9]*)[^>]*>"
    rf"|&lt;(?P<ends>/?)(?P<name>{NAMES})&gt;|(?P<br>&lt;br ?/?&gt;)|{REFERENCE}",
    re.DOTALL,
)
_VOID = frozenset({"br", "hr", "input", "img"})


def with_inline_tags(html: str) -> str:
    """Return cmark's HTML with the tags that are typed in its text, and its footnotes."""
    if "&lt;" not in html and "[^" not in html:
        return html
    parts: list[str] = []
    is_open: list[tuple[str, int]] = []  # names, with the index of a typed tag, or -1
    at = 0
    for token in _TOKEN.finditer(html):
        parts += [html[at : token.start()], token[0]]
        at = token.end()
        if token["br"]:
            parts[-1] = "<br>"
        elif token["note"]:
            parts[-1] = f"<sup>{token['note']}</sup>"
        elif token["name"]:
            _match_typed_tag(token["name"], bool(token["ends"]), parts, is_open)
        elif token["tag"] and token["tag"] not in _VOID:
            _match_tag(token["tag"], bool(token["closes"]), is_open)
    return "".join((*parts, html[at:]))


def _match_typed_tag(
    name: str, ends: bool, parts: list[str], is_open: list[tuple[str, int]]
) -> None:
    last = len(parts) - 1
    if not ends:
        is_open.append((name, last))
    elif is_open and is_open[-1][0] == name and is_open[-1][1] >= 0:
        parts[is_open.pop()[1]], parts[last] = f"<{name}>", f"</{name}>"


def _match_tag(tag: str, closes: bool, is_open: list[tuple[str, int]]) -> None:
    if not closes:
        is_open.append((tag, -1))
        return
    while is_open and is_open[-1][1] >= 0:  # typed, and not closed within its element
        is_open.pop()
    if is_open:
        is_open.pop()
