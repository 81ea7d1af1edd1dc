"""`<details>` in a text: a disclosure with a summary, and blocks of Markdown inside of it.

It begins at the start of a line and ends with its `</details>`, or with the text. Only `open` of
its attributes counts. One that never ends would hide the rest of the text, so it is open.
"""

import re
from dataclasses import dataclass

_ATTRIBUTES = r"(?:\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)?"
_OPENING = re.compile(rf"\s*<details({_ATTRIBUTES})>\s*", re.IGNORECASE)
_SUMMARY = re.compile(
    rf"<summary{_ATTRIBUTES}>(.*?)(?:</summary>|\n[ \t]*\n|\Z)\s*", re.IGNORECASE | re.DOTALL
)
_CLOSING = re.compile(r"</details\s*>", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_OPEN = re.compile(r"\sopen(?=[\s=]|\Z)", re.IGNORECASE)

SUMMARY = "Details"  # of one that has none


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The parts of a disclosure as Markdown."""

    is_open: bool
    summary: str
    content: str
    rest: str = ""  # of the line in which it ends


def parse_disclosure(source: str, is_closed: bool) -> Disclosure | None:
    """Return the parts of the source of a block, or None while its first tag is incomplete."""
    opening = _OPENING.match(source)
    if opening is None:
        return None
    is_open = _OPEN.search(_QUOTED.sub('""', opening[1])) is not None
    summary, at = SUMMARY, opening.end()
    if match := _SUMMARY.match(source, at):
        summary, at = match[1].strip() or SUMMARY, match.end()
    closings = [*_CLOSING.finditer(source, at)]
    if not (is_closed and closings):
        return Disclosure(is_open, summary, source[at:])
    start, end = closings[-1].span()
    return Disclosure(is_open, summary, source[at:start], source[end:])
