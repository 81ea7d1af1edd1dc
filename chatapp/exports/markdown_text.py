r"""Puts untrusted text into a Markdown document, so that it can't change what is around it.

`contain_markdown` keeps the Markdown of an answer as the model wrote it, except that raw HTML is
escaped (`\<div>`) outside of code, that images become links, and that a fence which was never
closed is closed. It works line by line, and asks a reader of CommonMark about the result. Where it
is not sure what a reader will take for code, it escapes; if nothing helps, the whole text becomes
code.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote

from chatapp.rendering.markdown.block_html import fence_body, fence_info
from chatapp.rendering.markdown.blocks import Block, split
from chatapp.rendering.markdown.commonmark import to_html

MAX_PARSED = 100_000  # characters; parsing holds the interpreter
RAW_HTML = "<!-- raw HTML omitted -->"  # what the parser writes in its place
_END = "end"

# What may begin raw HTML or an image, which a reader would load, after backslashes.
_RISKY = re.compile(r"(\\*)(?:<(?=[A-Za-z/!?])|!(?=\[))")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")
_TICKS = re.compile(r"(`+)")
# A fence within a list or a quote, after the marks of both.
_NESTED = re.compile(
    r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*(?P<fence>`{3,}(?=[^`]*\Z)|~{3,})"
)
_MARKED = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
# Other readers than this app take a fence within a formula for a fence.
_FENCE = re.compile(r"(?m)^[ \t]*(`{3,}|~{3,})")
_LONG_RUN = re.compile(r"`{3,}")


def escape_line(text: str) -> str:
    """Return a name or title as one line of Markdown that means nothing but itself."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def link(words: str, address: str) -> str:
    """Return a link; the address may be a URL or a path."""
    return f"[{escape_line(words)}](<{_address(address)}>)"


def image(words: str, path: str) -> str:
    return f"![{escape_line(words)}](<{_address(path)}>)"


def fence_code(text: str, language: str = "") -> str:
    """Return the text as a code block, whatever fences it contains."""
    longest = max(map(len, _LONG_RUN.findall(text)), default=2)
    fence = "`" * (longest + 1)
    content = text.rstrip("\n")
    return f"{fence}{language}\n{content}\n{fence}"


def contain_markdown(text: str) -> str:
    """Return Markdown text with raw HTML escaped, and with its last fence closed."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not (_RISKY.search(text) or "```" in text or "~~~" in text):
        return text
    if len(text) <= MAX_PARSED and not _RISKY.search(text) and _is_inert(text):
        return text
    blocks = split(text)
    is_long = len(text) > MAX_PARSED
    for keeps_nested in (False,) if is_long else (True, False):
        result = "\n".join(_contain_block(block, keeps_nested) for block in blocks).strip("\n")
        if is_long or _is_inert(result):
            return result
    return fence_code(text)


def _is_inert(text: str) -> bool:
    """Whether a reader of CommonMark finds no raw HTML in the text, and its end where it ends."""
    html = to_html(f"{text}\n\n# {_END}\n")
    return RAW_HTML not in html and html.endswith(f"<h1>{_END}</h1>\n")


def _address(address: str) -> str:
    return quote(address, safe="/:?#[]@!$&'()*+,;=%~")


def _is_open(block: Block) -> bool:
    if block.kind == "rest":
        return True
    if block.kind != "fence":
        return False
    return len(block.lines) == 1 or not block.is_closed


def _contain_block(block: Block, keeps_nested: bool) -> str:
    if block.kind == "rest":  # too much to look at line by line
        return fence_code(block.source) + "\n"
    if block.has_inner_fence:  # other readers end it at the first fence that ends within it
        return fence_code(fence_body(block), fence_info(block)) + "\n"
    if block.kind == "fence":
        source = block.source if block.source.endswith("\n") else f"{block.source}\n"
        return f"{source}{block.fence}\n" if _is_open(block) else source
    if block.kind == "indented":
        return block.source
    return "".join(_without_html(block, keeps_nested))


def _without_html(block: Block, keeps_nested: bool) -> Iterator[str]:
    """Yield the block's lines with `<` escaped where it may begin raw HTML.

    `keeps_nested` says whether fences in lists and quotes are left as they are.
    """
    may_nest = keeps_nested and block.kind in ("list", "quote")
    fence, is_unsure = "", False
    for line in block.lines:
        nested_fence = _NESTED.match(line.rstrip("\n")) if may_nest else None
        # A fence ends with its list or quote, whose lines are indented or marked.
        is_within = line[0] in " \t>\n" and not _MARKED.match(line)
        if fence and (is_within or nested_fence):
            bare = line.strip(" \t>\n")
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
            yield line
        elif nested_fence:
            fence = nested_fence["fence"]
            yield line
        else:
            fence, is_unsure = "", is_unsure and not line.isspace()
            inert, is_unsure = _line_without_html(line, is_unsure)
            yield _FENCE.sub(r"\\\1", inert) if block.kind == "formula" else inert


def _escape_match(match: re.Match[str]) -> str:
    is_escaped = len(match[1]) % 2
    return match[0] if is_escaped else f"{match[0][:-1]}\\{match[0][-1]}"


def _line_without_html(line: str, is_unsure: bool) -> tuple[str, bool]:
    """Return the line, and whether a span of code may go on in the next one."""
    if not is_unsure and "`" not in line:
        return _RISKY.sub(_escape_match, line), False
    parts = _TICKS.split(line)  # text and runs of backticks in turn
    closers: dict[str, list[int]] = {}
    for index in range(len(parts) - 2, 0, -2):
        closers.setdefault(parts[index], []).append(index)
    at = 0
    while at < len(parts):
        part = parts[at]
        if at % 2 == 0:
            parts[at] = _RISKY.sub(_escape_match, part)
            at += 1
            continue
        ahead = closers[part]
        while ahead and ahead[-1] <= at:
            ahead.pop()
        is_escaped = parts[at - 1].endswith("\\")
        if is_unsure or is_escaped or not ahead or "|" in "".join(parts[at : ahead[-1]]):
            is_unsure = True
            at += 1
        else:
            at = ahead[-1] + 1
    return "".join(parts), is_unsure
