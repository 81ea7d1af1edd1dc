"""Changes that a viewer applies to a region of the page, and the smallest one between two blocks.

A region contains blocks. `Append` goes `depth` times to the last element child, starting at the
region, and adds its HTML at the end of that element.
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
    """Replace the last block of the region."""

    html: str


@dataclass(frozen=True, slots=True)
class ReplaceBlock:
    """Replace one block of the region, counted from 0."""

    index: int
    html: str


Change = Append | ReplaceLast | ReplaceBlock

_CLOSING_TAGS = re.compile(r"(?:</[a-z0-9]+>)+\Z")
_TAG = re.compile(r"<(/?)([a-z0-9]+)[^>]*>")
_VOID = frozenset({"br", "hr", "input"})


def split_closing_tags(html: str) -> tuple[str, str]:
    """Return the HTML before its last run of closing tags, and that run."""
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
    """Return the changes from the block `body + closing` to the block `new`."""
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
        end = new.find("<", at)  # words before the end of the element, and more after it
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
