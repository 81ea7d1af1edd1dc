"""Ends links before punctuation of Chinese and Japanese, and links no address that hides its host.

cmark makes links of addresses in text, up to the next space, but these languages put none after a
link: that of `https://example.org/a。` would include the full stop. And
`bank.example.org@evil.example`, with or without a scheme, looks like an address of
bank.example.org. We insert a mark where cmark must not go on, and remove it from the HTML again.
"""

import re

from .characters import LINK_END

PUNCTUATION = (
    "\u2018\u2019\u201c\u201d\u2026\u3001\u3002\u3008-\u3011\u3014\u3015"
    "\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"  # for a regular expression's character class
)
_TOP_LEVEL = "com|org|net|edu|gov|mil|int|info|biz|io|app|dev|example"
_BEFORE_MARK = re.compile(
    rf"(?<![<\w])((?:https?://|www\.)[^\s<>\"`{PUNCTUATION}]+)(?=[{PUNCTUATION}])", re.IGNORECASE
)
_WITH_USER = re.compile(r"(https?:)(//[^\s/?#<>@]{0,255})(?=@)", re.IGNORECASE)
_HOST_AS_USER = re.compile(
    rf"(?<![\w.+/@-])((?:[\w-]{{1,63}}\.){{1,9}}(?:{_TOP_LEVEL}))(?=@)", re.IGNORECASE
)
_MARK = f"<{LINK_END}"
_QUOTED = "".join(f"%{byte:02X}" for byte in _MARK.encode())


def with_link_ends(source: str) -> str:
    """Return the source with a mark wherever cmark would link too much."""
    if "@" in source:
        source = _WITH_USER.sub(rf"\1{_MARK}\2{_MARK}", source)
        source = _HOST_AS_USER.sub(rf"\1{_MARK}", source)
    if source.isascii():
        return source
    return _BEFORE_MARK.sub(rf"\1{_MARK}", source)


def without_link_ends(html: str) -> str:
    if LINK_END not in html and _QUOTED not in html:
        return html
    return html.replace(f"&lt;{LINK_END}", "").replace(_QUOTED, "")
