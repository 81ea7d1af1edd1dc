"""Numbered footnotes: `[^1]` in a text, and `[^1]: …` where the note is.

Both are shown as small numbers, and a note stays where the model put it, so those of several
replies don't meet. cmark would take a note that is one address for a link definition, which is not
shown.
"""

import re

REFERENCE = r"\[\^(?P<note>\d{1,3})\](?P<defines>:)?"  # in the HTML of cmark

_NOTE = re.compile(r"^( {0,3})\[(?=\^\d{1,3}\]:)", re.MULTILINE)
_NEXT_NOTE = re.compile(r"(?<=[^\n\\])\n(?= {0,3}\[\^\d{1,3}\]:)")


def with_notes(source: str) -> str:
    """Return Markdown in which notes are text, each on a line of its own."""
    if "[^" not in source:
        return source
    return _NOTE.sub(r"\1\[", _NEXT_NOTE.sub("\\\\\n", source))
