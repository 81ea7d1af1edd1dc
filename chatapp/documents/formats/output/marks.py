"""Marks for what is not ordinary text, such as `[Comment by Ann: …]` and `[Hidden: …]`.

Spans within a paragraph begin and end with control characters, which XML cannot contain, so that
one over several runs is marked once: `write_spans` turns them into what people and models read.
"""

import re

from . import markdown

HIDDEN = re.compile("\x02([^\x02\x03]*)\x03")
STRUCK = re.compile("\x04([^\x04\x05]*)\x05")
LINK = re.compile("\x06([^\x06-\x08]*)\x07([^\x06-\x08]*)\x08")
COMMENT_BEGIN = re.compile("[ \xa0]?\x0e")
COMMENT_END = re.compile(r"\x0f(\w?)")
SPACES_AROUND = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
SUPERSCRIPTS = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
RAISED = re.compile(r"[0-9+\-−=()n]{1,12}")
SOFT_HYPHEN = "\xad"  # shown at the end of a line only
MAX_NAME_LENGTH = 100


def mark(what: str, text: str) -> str:
    return f"[{what}: {text}]" if text else f"[{what}]"


def beside(what: str, blocks: list[str]) -> str:
    """Return blocks that stand beside the text, such as those of a text box."""
    text = "\n\n".join(block for block in blocks if block.strip())
    if "\x1a" in text:  # a picture and its caption need no mark around them
        return text
    return mark(what, text) if text else ""


def comment(author: str, text: str, what: str = "Comment") -> str:
    """Return a comment as one line. The author may be unknown."""
    by = " ".join(author.split())[:MAX_NAME_LENGTH]
    line = markdown.flat(text)
    return mark(f"{what} by {by}" if by else what, line) if line else ""


def in_text(comment: str) -> str:
    """Return a comment that stands within a paragraph, with spaces around it in the end."""
    return f"\x0e{comment}\x0f" if comment else ""


def deletions(count: int) -> str:
    return f"[{count:,} tracked deletion{'s are' if count > 1 else ' is'} left out]"


def mark_hidden(text: str) -> str:
    return f"\x02{text}\x03" if text.strip() else text


def mark_struck(text: str) -> str:
    return f"\x04{text}\x05" if text.strip() else text


def link_begin() -> str:
    return "\x06"


def link_end(url: str) -> str:
    return f"\x07{url}\x08"


def link(text: str, url: str) -> str:
    return f"{link_begin()}{text}{link_end(url)}" if url else text


def write_superscript(text: str) -> str:
    """Return a superscript with the characters that exist for it: 10² is not 102."""
    return text.translate(SUPERSCRIPTS) if RAISED.fullmatch(text) else text


def visible(text: str) -> str:
    return text.replace(SOFT_HYPHEN, "")


def write_spans(text: str) -> str:
    """Return a paragraph with its spans as marks."""
    text = text.replace("\x03\x02", "").replace("\x05\x04", "")
    text = LINK.sub(_link, text)
    text = STRUCK.sub(lambda match: _around(match[1], "~~", "~~"), text)
    text = HIDDEN.sub(lambda match: _around(match[1], "[Hidden: ", "]"), text)
    return COMMENT_END.sub(_space_after, COMMENT_BEGIN.sub(" ", text))


def _space_after(match: re.Match[str]) -> str:
    return f" {match[1]}" if match[1] else ""


def _link(match: re.Match[str]) -> str:
    text, url = match[1], match[2]
    return f"[{text}]({url})" if text.strip() and text != url else text


def _around(text: str, begin: str, end: str) -> str:
    match = SPACES_AROUND.fullmatch(text)
    return f"{match[1]}{begin}{match[2]}{end}{match[3]}" if match else text
