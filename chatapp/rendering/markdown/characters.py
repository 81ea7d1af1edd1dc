"""Characters with a special meaning inside the renderer, and characters that are not let in.

Unicode reserves U+FDD0 to U+FDEF for internal use by programs. They are replaced in each text
first, so that any found later are ours.
"""

import re

NOT_A_TAG = "\ufdd0"  # after a "<" that would otherwise begin raw HTML
FORMULA_START, FORMULA_END = "\ufdd1", "\ufdd2"  # around the number of a removed formula
BETWEEN = "\ufdd3"  # stands in for a letter next to a run of asterisks or tildes
LINK_END = "\ufdd4"  # after a "<" where a link must end
UNKNOWN = "\ufffd"

# Chinese, Japanese and Korean, for use in a regular expression's character class.
CJK = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"
    r"\u3041-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)

_UNWANTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MARKUP = re.compile(r"[&<>\xa0]")


def clean(text: str) -> str:
    """Normalize line endings to LF and replace characters not allowed in a page by U+FFFD."""
    if _UNWANTED.search(text) is None:
        return text
    return _UNWANTED.sub(UNKNOWN, text.replace("\r\n", "\n").replace("\r", "\n"))


def encodable(text: str) -> str:
    """Replace unpaired surrogates, which UTF-8 can't encode, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def escape(text: str) -> str:
    """Escape the text for HTML exactly as nh3 does."""
    if _MARKUP.search(text) is None:
        return text
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\xa0", "&nbsp;")
