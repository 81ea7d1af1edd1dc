"""The characters with a meaning of their own inside the renderer, and those that must not enter.

Unicode keeps U+FDD0 to U+FDEF for a program's internal use. They are taken out of the text at the
door, so that each one met later is ours.
"""

import re

NOT_A_TAG = "\ufdd0"  # after a "<" that would otherwise begin raw HTML
FORMULA_START, FORMULA_END = "\ufdd1", "\ufdd2"  # around the number of a formula taken out
BETWEEN = "\ufdd3"  # a letter, beside a run of asterisks or tildes
UNKNOWN = "\ufffd"

# Chinese, Japanese and Korean, within a class of a pattern.
CJK = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"
    r"\u3041-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)

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
