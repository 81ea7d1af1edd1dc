"""What a viewer must do to the page's region, and the smallest change between two block states.

A region holds blocks. `Append` counts how many times to go to the last element child, starting at
the region, and adds its HTML at that element's end.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Append:
    """Add HTML at the end of the element reached by `depth` steps to the last element child."""

    depth: int
    html: str


@dataclass(frozen=True, slots=True)
class ReplaceLast:
    """Put HTML in the place of the region's last block."""

    html: str


@dataclass(frozen=True, slots=True)
class ReplaceBlock:
    """Put HTML in the place of one of the region's blocks, the first being number 0."""

    index: int
    html: str


Change = Append | ReplaceLast | ReplaceBlock

_CLOSING_TAGS = re.compile(r"(?:</[a-z0-9]+>)+\Z")
_TAG = re.compile(r"<(/?)([a-z0-9]+)[^>]*>")
_VOID = frozenset({"br", "hr", "input"})


def split_closing_tags(html: str) -> tuple[str, str]:
    """The HTML before its last run of closing tags, and that run."""
    start = html.rfind("</")
    while start > 0 and html[start - 1] == ">":
        before = html.rfind("<", 0, start)
        if html[before + 1] != "/":
            break
        start = before
    if start < 0 or _CLOSING_TAGS.match(html, start) is None:
        return html, ""
    return html[:start], html[start:]


def difference(body: str, closing: str, new: str) -> list[Change]:
    """The changes from the block `body + closing` to the block `new`."""
    replaced: list[Change] = [ReplaceLast(new)]
    if not new.startswith(body):
        return replaced
    added: list[Change] = []
    at = len(body)
    while closing:
        tag = closing[: closing.index(">") + 1]
        if new.startswith(tag, at):
            at, closing = at + len(tag), closing[len(tag) :]
            continue
        depth, end = closing.count("<"), len(new) - len(closing)
        if new.endswith(closing) and _is_balanced(new[at:end]):
            return [*added, Append(depth, new[at:end])]
        end = new.find("<", at)  # words before the element's end, and more to come after it
        if end <= at or not new.startswith(tag, end):
            return replaced
        added.append(Append(depth, new[at:end]))
        at = end
    return added if at == len(new) else replaced


def _is_balanced(html: str) -> bool:
    open_tags: list[str] = []
    for closes, name in _TAG.findall(html):
        if name in _VOID:
            continue
        if not closes:
            open_tags.append(name)
        elif not open_tags or open_tags.pop() != name:
            return False
    return not open_tags
