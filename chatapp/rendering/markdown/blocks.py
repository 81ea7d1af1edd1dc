"""Lines in, top-level blocks out, decided without looking ahead.

CommonMark's rules for where a top-level block ends, read so that a block can be rendered by
itself. Two departures: a formula that begins a line is not cut by what its lines look like, and a
very long list becomes several blocks, so that no token of it costs more than a short list's.
Where a text has become too much to be formatted (`budgets`), all the rest of it is one block.

A line begins as soon as enough of it is there to tell which block it belongs to
(`Blocks.begin_line`), and joins that when it is complete (`Blocks.end_line`). Only the first 200
characters of a line ever decide, so that one that begins early ends where it would have anyway.

Headings are numbered by what stands above them, since models begin with `###` as they like: none
is more than one level below the last, and those inside quotes and lists stand below the section's.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from . import budgets

Kind = Literal[
    "paragraph", "heading", "rule", "quote", "list", "indented", "fence", "formula", "rest"
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
# LaTeX's own displays, which stand by themselves.
ENVIRONMENT = r"\\begin\{(?:align|alignat|eqnarray|equation|flalign|gather|multline)\*?\}"
_FORMULA = re.compile(rf" {{0,3}}(?:\$\$|\\\[|{ENVIRONMENT})")
_ENVIRONMENT = re.compile(rf" *({ENVIRONMENT})")
_INDENTED = re.compile(r" {0,3}\t| {4}")
_UNDECIDED = re.compile(
    r"[ \t]*(?:[-*_=+#~`$|:>.()\\\[\] \t]*|\d{1,9}[.)]?[ \t]*)\Z| {0,3}`{3,}[^`]*\Z"
    r"| {0,3}\\b[a-z]{0,4}(?:\{[a-z]{0,8}\*?)?\Z"
)


@dataclass(slots=True)
class Block:
    """One top-level block; `lines` end with LF, except perhaps the text's last."""

    kind: Kind
    lines: list[str] = field(default_factory=list)
    size: int = 0
    fence: str = ""  # the opening run of backticks or tildes
    indent: int = 0  # of the fence, or of what belongs to a list's last item
    marker: str = ""  # of a list: its bullet, or what follows its numbers
    blank_before: bool = False
    weight: int = 0  # of its lines
    dressing: int = 0  # what its formulas weigh besides
    columns: int = 0  # of the table that may be open
    cells: int = 0
    depth: int = 0
    level: int = HIGHEST  # of the headings in it, on the page

    def add(self, line: str, *, is_blank: bool) -> None:
        """Take a complete line, and count what it may make."""
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
        self.depth = max(self.depth, budgets.depth_of(line, in_list=self.kind == "list"))
        self.columns = max(self.columns, budgets.columns_of(line))
        if line.isspace():
            self.columns = 0
        self.cells += self.columns

    @property
    def whole_weight(self) -> int:
        """What is counted against the text's budget."""
        colours = budgets.weight_of_colours(self.size) if self.kind == "fence" else 0
        return budgets.weight_of_block(self.weight, self.cells) + self.dressing + colours

    @property
    def is_formatted(self) -> bool:
        """Whether it is shown as Markdown, or else as it was written."""
        if self.kind == "fence":
            return True
        is_small = self.size <= budgets.LONGEST_BLOCK and self.cells <= budgets.MOST_CELLS
        return is_small and self.depth <= budgets.DEEPEST and self.kind != "rest"

    @property
    def source(self) -> str:
        return "".join(self.lines)

    def closes_fence(self, line: str) -> bool:
        bare = line.strip()
        return (
            bare.startswith(self.fence)
            and not bare.strip(self.fence[0])
            and len(line) - len(line.lstrip(" ")) < 4
        )


def is_undecided(line: str) -> bool:
    """Whether what follows on this line may still change which block it belongs to."""
    return len(line) < _DECIDING and _UNDECIDED.match(line) is not None


class Blocks:
    """The state between lines: the block that is open, if one is."""

    def __init__(self) -> None:
        self.open: Block | None = None
        self._weight = 0  # of the blocks that are finished
        self._sections: list[int] = []  # as Markdown counts the headings that the text is under

    def begin_line(self, line: str) -> Block | None:
        """Open the block that this line (or its decided beginning) belongs to.

        Returns the block that is finished thereby. A blank line belongs to what is open.
        """
        head = line[:_DECIDING]
        if _BLANK.match(head) or (self.open and self._continues(self.open, head)):
            return None
        finished = self.finish()
        self.open = Block("rest") if self._weight > budgets.MOST_WEIGHT else _begin(head)
        self._under(_hashes(head) if self.open.kind == "heading" else 0)
        return finished

    def end_line(self, line: str) -> Block | None:
        """Add a complete line to the block where it began; return that if it is now finished."""
        block = self.open
        if block is None:
            return None
        head = line[:_DECIDING].rstrip("\n")
        blank = _BLANK.match(head) is not None
        if blank and block.kind in ("paragraph", "quote", "formula"):
            return self.finish()
        first = not block.lines
        block.add(line, is_blank=blank)
        if not _ends_with(block, line.rstrip("\n"), head, first):
            return None
        if block.kind == "paragraph":  # it was a heading
            self._under(1 if "=" in head else 2)
        return self.finish()

    def _under(self, heading: int) -> None:
        """Gives the open block its level: its own where it is a heading of Markdown's level."""
        if heading:
            self._sections = [one for one in self._sections if one < heading] + [heading]
        place = len(self._sections) - bool(heading)
        if self.open:
            self.open.level = min(HIGHEST + place, _LOWEST)

    def finish(self) -> Block | None:
        """Close what is open."""
        finished, self.open = self.open, None
        if finished:
            self._weight += finished.whole_weight
        return finished

    def _continues(self, block: Block, head: str) -> bool:
        match block.kind:
            case "fence" | "formula" | "rest":
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


def split(text: str) -> list[Block]:
    """The blocks of a whole text."""
    blocks, done = Blocks(), []
    for line in text.split("\n"):
        done += [blocks.begin_line(line), blocks.end_line(line + "\n")]
    return [block for block in [*done, blocks.finish()] if block]


def begun_fence(line: str) -> Block | None:
    """The fence that this line begins, where it begins one."""
    found = _FENCE.match(line[:_DECIDING])
    return Block("fence", fence=found[2], indent=len(found[1])) if found else None


def _begin(head: str) -> Block:
    if fence := begun_fence(head):
        return fence
    if _HEADING.match(head):
        return Block("heading")
    if _RULE.match(head):
        return Block("rule")
    if _QUOTE.match(head):
        return Block("quote")
    if found := _ITEM.match(head):
        return Block("list", indent=_content_indent(found), marker=found[4] or found[2])
    if _FORMULA.match(head):
        return Block("formula")
    return Block("indented" if _INDENTED.match(head) else "paragraph")


def _hashes(head: str) -> int:
    marks = head.lstrip(" ")
    return len(marks) - len(marks.lstrip("#"))


def _interrupts(head: str) -> bool:
    """Whether the line begins a block although a paragraph is open."""
    if (item := _ITEM.match(head)) and item.end() < len(head):
        return item[3] is None or int(item[3]) == 1
    return bool(
        _FENCE.match(head)
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


def _ends_with(block: Block, line: str, head: str, first: bool) -> bool:
    match block.kind:
        case "heading" | "rule":
            return True
        case "fence":
            return not first and block.closes_fence(line)
        case "paragraph":
            return not first and _UNDERLINE.match(head) is not None
        case "formula":
            if environment := _ENVIRONMENT.match(block.lines[0]):
                return line.rstrip().endswith(environment[1].replace("begin", "end"))
            opening = 2 if first else 0
            return line.strip()[opening:].endswith(("$$", "\\]"))
        case _:
            return False
