"""Makes emphasis work next to Chinese, Japanese and Korean, which put no spaces between words.

CommonMark decides by the space around `**` whether it opens or closes, so `**「A」**な` would stay
as typed. The specification of markdown-cjk-friendly changes that: CJK punctuation counts as a
letter, and any CJK character as a space if it is on the other side of other punctuation. cmark does
not implement it, so we insert a letter of our own and remove it from the HTML again.
"""

import re
import string
import unicodedata

from .characters import BETWEEN, CJK

_RUN = re.compile(r"\*+|~{2,}")
_CJK = re.compile(rf"[{CJK}\u3001-\u303f\ufe30-\ufe4f\uff01-\uff65\uffe0-\uffe6]")


def with_letters_between(source: str) -> str:
    """Return the source with a letter wherever cmark would misread a run of `*` or `~`."""
    if source.isascii() or not _CJK.search(source):
        return source
    parts, copied = [], 0
    for run in _RUN.finditer(source):
        start, end = run.span()
        before, after = source[start - 1 : start], source[end : end + 1]
        parts.append(source[copied:start])
        if _is_mistaken(before, after):
            parts.append(BETWEEN)
        parts.append(run[0])
        if _is_mistaken(after, before):
            parts.append(BETWEEN)
        copied = end
    return "".join((*parts, source[copied:]))


def without_letters_between(html: str) -> str:
    if BETWEEN not in html and _QUOTED not in html:
        return html
    return html.replace(BETWEEN, "").replace(_QUOTED, "")


def _is_mistaken(beside: str, beyond: str) -> bool:
    """Return whether cmark misreads a run because of the punctuation beside it."""
    if not _is_punctuation(beside):
        return False
    return bool(_CJK.match(beside) or _CJK.match(beyond))


def _is_punctuation(character: str) -> bool:
    if not character:
        return False
    return character in string.punctuation or unicodedata.category(character)[0] == "P"


_QUOTED = "".join(f"%{byte:02X}" for byte in BETWEEN.encode())
