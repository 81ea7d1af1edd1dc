"""The characters with a meaning of their own inside the renderer, and those that must not enter.

Unicode keeps U+FDD0 to U+FDEF for a program's internal use. They are taken out of the text at the
door, so that each one met later is ours.
"""

import re

NOT_A_TAG = "\ufdd0"  # after a "<" that would otherwise begin raw HTML
FORMULA_START, FORMULA_END = "\ufdd1", "\ufdd2"  # around the number of a formula taken out
UNKNOWN = "\ufffd"

_UNWANTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MARKUP = re.compile(r"[&<>\xa0]")


def clean(text: str) -> str:
    """The text with LF line ends, and U+FFFD for what has no place in a page."""
    if _UNWANTED.search(text) is None:
        return text
    return _UNWANTED.sub(UNKNOWN, text.replace("\r\n", "\n").replace("\r", "\n"))


def encodable(text: str) -> str:
    """The text with U+FFFD for halves of surrogate pairs, which UTF-8 can't express."""
    return _SURROGATE.sub("\ufffd", text)


def escape(text: str) -> str:
    """The text as HTML, character for character as nh3 writes it."""
    if _MARKUP.search(text) is None:
        return text
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\xa0", "&nbsp;")
