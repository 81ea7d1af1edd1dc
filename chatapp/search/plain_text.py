"""Turns Markdown and HTML into the plain text that search results show. Pure.

Only what a reader would not see is removed: a lone asterisk, a name such as `__init__` and the text
of code stay. The time is proportional to the length of the text, whatever it contains: rendering it
to HTML and removing the tags would take minutes for nested quotes.
"""

import re
from collections.abc import Iterator
from html import unescape

FENCE = re.compile(r"\s*(?:>\s?)*(`{3,}|~{3,})(.*)")
DELIMITERS = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
CELL_END = re.compile(r"(?<!\\)\|")
RULE = re.compile(r" {0,3}(?:([-*_])[ \t]*(?:\1[ \t]*){2,}|=+\s*|-+\s*)")
QUOTE = re.compile(r"^ {0,3}(?:> ?)+")
HEADING = re.compile(r"^ {0,3}#{1,6}(?=\s|$)")
ITEM = re.compile(r"^\s*[-*+]\s+(?:\[[ xX]\]\s+)?")

# What emphasis does not reach into: an escaped character, or a code span of limited length, for
# which a search ends soon.
VERBATIM = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(`{1,9})(?!`)(.{1,500}?)(?<!`)\2(?!`)", re.DOTALL)
PLACE = "\0"  # around the number of one of these, in whose place it stands
LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\((?:[^()\s]|\([^()\s]*\)){0,2000}(?:\s+\"[^\"]*\")?\)")
AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]+)>")
BLOCKS = (
    "article|blockquote|body|br|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|form|"
    "h[1-6]|head|header|hr|html|legend|li|main|nav|ol|optgroup|option|p|pre|script|section|style|"
    "summary|table|tbody|td|tfoot|th|thead|title|tr|ul"
)
INLINE = (
    "a|abbr|audio|b|big|button|canvas|cite|code|col|del|dfn|em|embed|font|i|iframe|img|input|ins|kbd|"
    "label|link|mark|meta|object|picture|q|s|samp|select|small|source|span|strike|strong|sub|sup|svg|"
    "textarea|tt|u|var|video"
)
TAG = re.compile(rf"<(?:!--[^<>]*--|/?(?:({BLOCKS})|{INLINE})(?:[\s/][^<>]*)?)>", re.IGNORECASE)
NAME = 100  # characters of a name such as `__init__`, which is not emphasis
MARKER = re.compile(r"\*{1,3}|_{1,3}|~~")


def plain_text(text: str) -> str:
    """Return the text without its markup, one line per paragraph."""
    return "\n".join(_paragraphs(text.replace(PLACE, "")))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs, headings, items, rows of tables and lines of code."""
    words: list[str] = []
    fence, is_table = "", False
    lines = text.splitlines() or [""]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        bare = QUOTE.sub("", line, count=1)
        fence_match = FENCE.fullmatch(line)
        is_fence = fence_match and (
            _closes(fence_match, fence) if fence else "`" not in fence_match[2]
        )
        is_table = "|" in bare and (is_table or bool(DELIMITERS.fullmatch(following.strip())))
        if fence or is_fence or is_table or not bare.strip() or _begins_block(bare):
            yield _inline(" ".join(words))
            words = []
        if fence_match and is_fence:
            fence = "" if fence else fence_match[1]
        elif fence:
            yield bare
        elif is_table and not DELIMITERS.fullmatch(bare.strip()):
            yield _inline(CELL_END.sub(" ", bare).strip())
        elif HEADING.match(bare):
            yield _inline(_heading(bare))
        elif not is_table and not RULE.fullmatch(bare):
            words.append(ITEM.sub("", bare, count=1).strip())
    yield _inline(" ".join(words))


def _closes(fence_match: "re.Match[str]", fence: str) -> bool:
    return fence_match[1].startswith(fence) and not fence_match[2].strip()


def _begins_block(line: str) -> bool:
    return any(pattern.match(line) for pattern in (HEADING, ITEM)) or bool(RULE.fullmatch(line))


def _heading(line: str) -> str:
    words = HEADING.sub("", line).strip()
    shorter = words.rstrip("#")
    return shorter if shorter[-1:].isspace() or not shorter else words


def _inline(text: str) -> str:
    """Return one paragraph without emphasis, links, tags and the marks of code."""
    verbatim: list[str] = []

    def keep(match: "re.Match[str]") -> str:
        verbatim.append(match[1] or match[3].strip())
        return f"{PLACE}{len(verbatim) - 1}{PLACE}"

    text = VERBATIM.sub(keep, text)
    for _ in range(2):  # an image may be the text of a link
        text = LINK.sub(r"\1", text)
    text = TAG.sub(lambda tag: " " if tag[1] else "", AUTOLINK.sub(r"\1", text))
    text = unescape(_without_emphasis(text))
    return re.sub(f"{PLACE}([0-9]+){PLACE}", lambda place: verbatim[int(place[1])], text)


def _without_emphasis(text: str) -> str:
    """Remove the pairs of markers; one without its counterpart is text."""
    openers: dict[str, list[re.Match[str]]] = {}
    removed: list[re.Match[str]] = []
    for marker in MARKER.finditer(text):
        mark, start, end = marker[0], marker.start(), marker.end()
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        is_in_word = mark[0] == "_"
        may_open = after.strip() and not (is_in_word and before.isalnum())
        may_close = before.strip() and not (is_in_word and after.isalnum())
        unclosed = openers.setdefault(mark, [])
        if may_close and unclosed:
            opener = unclosed.pop()
            inner = text[opener.end() : min(start, opener.end() + NAME)]
            if mark != "__" or not inner.isidentifier():
                removed += [opener, marker]
        elif may_open:
            unclosed.append(marker)
    pieces, done = [], 0
    for marker in sorted(removed, key=lambda match: match.start()):
        pieces.append(text[done : marker.start()])
        done = marker.end()
    return "".join([*pieces, text[done:]])
