"""Splits lines into top-level blocks, without looking ahead.

Follows CommonMark's rules for where a top-level block ends, so that each block can be rendered by
itself, with three exceptions: a formula at the start of a line is not split by what its lines look
like; a very long list becomes several blocks, so that none of its tokens costs more than in a short
list; and a fence that names a language opens within another one, as models write examples of
Markdown, unless that leaves a fence open at the end. Once a text is too large to be formatted
(`budgets`), the rest of it is one block.

A line begins as soon as enough of it has arrived to tell which block it belongs to
(`Blocks.begin_line`), and is added to the block when it is complete (`Blocks.end_line`). Only the
first 200 characters of a line decide, so a line that begins early ends up in the same block.

A heading's level depends on the headings above it, since models start with any number of `#`: no
heading is more than one level below the previous one, and headings inside quotes and lists are
below their section's.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from . import budgets

Kind = Literal[
    "paragraph",
    "heading",
    "rule",
    "quote",
    "list",
    "indented",
    "fence",
    "formula",
    "details",
    "rest",
]

HIGHEST, _LOWEST = 3, 6  # levels of headings below the page's own

_DECIDING = 200
_LONG_LIST = 8 * 1024

_BLANK = re.compile(r"[ \t]*\Z")
_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*\Z)|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|\Z)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}\Z")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\Z")
_QUOTE = re.compile(r" {0,3}>")
_ITEM = re.compile(r"( {0,3})([-*+]|(\d{1,9})([.)]))([ \t]+(?=[^ \t])|[ \t]*\Z)")
# LaTeX's display environments, which need no dollars.
ENVIRONMENT = r"\\begin\{(?:align|alignat|eqnarray|equation|flalign|gather|multline)\*?\}"
_FORMULA = re.compile(rf" {{0,3}}(?:\$\$|\\\[|{ENVIRONMENT})")
_ENVIRONMENT = re.compile(rf" *({ENVIRONMENT})")
_DETAILS = re.compile(r" {0,3}<details(?=[\s>]|\Z)", re.IGNORECASE)
_DETAILS_TAG = re.compile(r"<(/?)details(?=[\s>]|\Z)|`+[^`]*`+", re.IGNORECASE)
_LEVELS_OF_DETAILS = 8  # of `budgets.DEEPEST`
_INDENTED = re.compile(r" {0,3}\t| {4}")
_UNDECIDED = re.compile(
    r"[ \t]*(?:[-*_=+#~`$|:>.()\\\[\] \t]*|\d{1,9}[.)]?[ \t]*)\Z| {0,3}`{3,}[^`]*\Z"
    r"| {0,3}\\b[a-z]{0,4}(?:\{[a-z]{0,8}\*?)?\Z| {0,3}<[A-Za-z]{0,7}\Z"
)


@dataclass(slots=True)
class Block:
    """One top-level block. Its `lines` end with LF, except perhaps the last line of the text."""

    kind: Kind
    lines: list[str] = field(default_factory=list)
    size: int = 0
    fence: str = ""  # the opening run of backticks or tildes
    inner_fence: str = ""  # of a fence that is open within this fence or `<details>`
    has_inner_fence: bool = False
    open_details: int = 0  # levels
    is_closed: bool = False  # whether its last line closes the fence or the `<details>`
    indent: int = 0  # of the fence, or of the content of a list's last item
    marker: str = ""  # of a list: its bullet, or the character after its numbers
    blank_before: bool = False
    weight: int = 0  # of its lines
    dressing: int = 0  # additional weight of its formulas
    columns: int = 0  # of a table that may be open
    cells: int = 0
    depth: int = 0
    level: int = HIGHEST  # of its headings on the page

    def add(self, line: str, *, is_blank: bool) -> None:
        """Add a complete line and its weight."""
        self.lines.append(line)
        self.size += len(line)
        self.blank_before = is_blank
        if self.is_formatted:
            self._count(line)

    def _count(self, line: str) -> None:
        if self.kind == "fence":
            self.weight += len(line)
            return
        self.weight += budgets.weight_of_line(line)
        self.dressing += budgets.weight_of_formulas(line)
        self.depth = max(self.depth, budgets.measure_depth(line, in_list=self.kind == "list"))
        self.columns = max(self.columns, budgets.count_columns(line))
        if line.isspace():
            self.columns = 0
        self.cells += self.columns

    @property
    def whole_weight(self) -> int:
        """The weight that counts towards the budget of the text."""
        colours = budgets.weight_of_colours(self.size) if self.kind == "fence" else 0
        return budgets.weight_of_block(self.weight, self.cells) + self.dressing + colours

    @property
    def is_formatted(self) -> bool:
        """Whether the block is rendered as Markdown; otherwise its source is shown."""
        if self.kind == "fence":
            return True
        is_small = self.size <= budgets.MAX_BLOCK_LENGTH and self.cells <= budgets.MAX_CELLS
        return is_small and self.depth <= budgets.DEEPEST and self.kind != "rest"

    @property
    def source(self) -> str:
        return "".join(self.lines)

    def closes_fence(self, line: str) -> bool:
        """Return whether the line closes the fence, and remember that."""
        self.is_closed = _closes(self.fence, line)
        return self.is_closed

    def closes_nesting_fence(self, line: str) -> bool:
        """Do the same for a fence within which others may open; call it for each line."""
        if self.inner_fence:
            if _closes(self.inner_fence, line):
                self.inner_fence = ""
            return False
        match = _FENCE.match(line[:_DECIDING])
        if match and match[2].startswith(self.fence) and match[3].strip():
            self.inner_fence, self.has_inner_fence = match[2], True
            return False
        return self.closes_fence(line)

    def closes_details(self, line: str) -> bool:
        """Return whether the line ends the `<details>`, and remember that; call it for each."""
        content = line.strip()
        if self.inner_fence:
            if _closes(self.inner_fence, content):
                self.inner_fence = ""
            return False
        if match := _FENCE.match(content[:_DECIDING]):
            self.inner_fence = match[2]
            return False
        for tag in _DETAILS_TAG.finditer(line):
            if not tag[0].startswith("`"):
                self.open_details += -1 if tag[1] else 1
        self.depth = max(self.depth, _LEVELS_OF_DETAILS * self.open_details)
        self.is_closed = self.open_details <= 0
        return self.is_closed


def _closes(fence: str, line: str) -> bool:
    bare = line.strip()
    is_run = bare.startswith(fence) and not bare.strip(fence[0])
    return is_run and len(line) - len(line.lstrip(" ")) < 4


def is_undecided(line: str) -> bool:
    """Return whether the rest of this line may still change which block it belongs to."""
    return len(line) < _DECIDING and _UNDECIDED.match(line) is not None


class Blocks:
    """The state between lines: the open block, if there is one."""

    def __init__(self, *, nests: bool = True) -> None:
        self.open: Block | None = None
        self._nests = nests  # whether fences open within others
        self._weight = 0  # of the finished blocks
        self._sections: list[int] = []  # Markdown levels of the headings above the current line

    def begin_line(self, line: str) -> Block | None:
        """Open the block that this line (or its first, decided part) belongs to.

        Returns the previous block if this line ends it. A blank line belongs to the open block.
        """
        head = line[:_DECIDING]
        if _BLANK.match(head) or (self.open and self._continues(self.open, head)):
            return None
        finished = self.finish()
        self.open = Block("rest") if self._weight > budgets.MAX_WEIGHT else _begin(head)
        self._set_level(_count_hashes(head) if self.open.kind == "heading" else 0)
        return finished

    def end_line(self, line: str) -> Block | None:
        """Add a complete line to the block it began in; return the block if the line ends it."""
        block = self.open
        if block is None:
            return None
        head = line[:_DECIDING].rstrip("\n")
        blank = _BLANK.match(head) is not None
        if blank and block.kind in ("paragraph", "quote", "formula"):
            return self.finish()
        first = not block.lines
        block.add(line, is_blank=blank)
        if not self._ends_with(block, line.rstrip("\n"), head, first):
            return None
        if block.kind == "paragraph":  # an underlined heading
            self._set_level(1 if "=" in head else 2)
        return self.finish()

    def _set_level(self, heading: int) -> None:
        """Set the level of the open block; `heading` is its Markdown level if it is a heading."""
        if heading:
            self._sections = [section for section in self._sections if section < heading] + [
                heading
            ]
        depth = len(self._sections) - bool(heading)
        if self.open:
            self.open.level = min(HIGHEST + depth, _LOWEST)

    def finish(self) -> Block | None:
        """Close the open block and return it."""
        finished, self.open = self.open, None
        if finished:
            self._weight += finished.whole_weight
        return finished

    def end(self) -> list[Block]:
        """Close the open block at the end of the text.

        If it is a fence that others opened in, and so did not end, it is read as CommonMark does.
        """
        block = self.finish()
        if block is None or not block.has_inner_fence or block.is_closed:
            return [block] if block else []
        strict = Blocks(nests=False)
        strict._weight = self._weight - block.whole_weight
        strict._sections = [*self._sections]
        blocks = [*strict.split_lines(line.removesuffix("\n") for line in block.lines)]
        is_even = blocks[-1].kind != "fence" or blocks[-1].is_closed
        return blocks if is_even else [block]

    def split_lines(self, lines: Iterable[str]) -> Iterator[Block]:
        """Iterate over the blocks of all lines of a text."""
        for line in lines:
            yield from filter(None, (self.begin_line(line), self.end_line(line + "\n")))
        yield from self.end()

    def _continues(self, block: Block, head: str) -> bool:
        match block.kind:
            case "fence" | "formula" | "details" | "rest":
                return True
            case "paragraph":
                return _UNDERLINE.match(head) is not None or not _interrupts(head)
            case "quote":
                return _QUOTE.match(head) is not None or not _interrupts(head)
            case "indented":
                return _INDENTED.match(head) is not None
            case "list":
                return _continues_list(block, head)
            case _:
                return False

    def _ends_with(self, block: Block, line: str, head: str, first: bool) -> bool:
        match block.kind:
            case "heading" | "rule":
                return True
            case "fence":
                closes = block.closes_nesting_fence if self._nests else block.closes_fence
                return not first and closes(line)
            case "details":
                return block.closes_details(line)
            case "paragraph":
                return not first and _UNDERLINE.match(head) is not None
            case "formula":
                if environment := _ENVIRONMENT.match(block.lines[0]):
                    return line.rstrip().endswith(environment[1].replace("begin", "end"))
                opening = 2 if first else 0
                return line.strip()[opening:].endswith(("$$", "\\]"))
            case _:
                return False


def split(text: str) -> list[Block]:
    """Return the blocks of a whole text."""
    return [*Blocks().split_lines(text.split("\n"))]


def parse_fence(line: str) -> Block | None:
    """Return the fence that this line begins, or None."""
    match = _FENCE.match(line[:_DECIDING])
    return Block("fence", fence=match[2], indent=len(match[1])) if match else None


def _begin(head: str) -> Block:
    if fence := parse_fence(head):
        return fence
    if _DETAILS.match(head):
        return Block("details")
    if _HEADING.match(head):
        return Block("heading")
    if _RULE.match(head):
        return Block("rule")
    if _QUOTE.match(head):
        return Block("quote")
    if match := _ITEM.match(head):
        return Block("list", indent=_content_indent(match), marker=match[4] or match[2])
    if _FORMULA.match(head):
        return Block("formula")
    return Block("indented" if _INDENTED.match(head) else "paragraph")


def _count_hashes(head: str) -> int:
    marks = head.lstrip(" ")
    return len(marks) - len(marks.lstrip("#"))


def _interrupts(head: str) -> bool:
    """Return whether the line begins a new block even if a paragraph is open."""
    if (item := _ITEM.match(head)) and item.end() < len(head):
        return item[3] is None or int(item[3]) == 1
    return bool(
        _FENCE.match(head)
        or _DETAILS.match(head)
        or _HEADING.match(head)
        or _RULE.match(head)
        or _QUOTE.match(head)
        or _FORMULA.match(head)
    )


def _continues_list(block: Block, head: str) -> bool:
    space = head[: len(head) - len(head.lstrip(" \t"))]
    if len(space.expandtabs(4)) >= block.indent:
        return True
    item = _ITEM.match(head)
    if item and not _RULE.match(head):
        if (item[4] or item[2]) != block.marker or block.size > _LONG_LIST:
            return False
        block.indent = _content_indent(item)
        return True
    return not block.blank_before and not _interrupts(head)


def _content_indent(item: re.Match[str]) -> int:
    space = len(item[5])
    return len(item[1]) + len(item[2]) + (space if 1 <= space <= 4 else 1)
