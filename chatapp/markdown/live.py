"""A text that is still being written, as the changes that keep a viewer's page up to date.

Finished blocks are sent once; code in them is coloured afterwards, a block at a time, when the
caller has time for it, since that takes as long as many tokens. The open block is rendered again
when its markup may have changed and the viewer gets the addition alone wherever the new HTML is the
old with something inserted; plain words that follow plain words skip even the rendering. A block
past a few kilobytes is rendered only after it has grown by a share of itself, so that work stays
linear whatever comes.
"""

from collections import deque

from django.utils.safestring import SafeString, mark_safe

from .block_html import LONGEST_BLOCK, block_html
from .blocks import Block, Blocks, is_undecided
from .changes import Append, Change, ReplaceAll, ReplaceBlock, ReplaceLast
from .characters import clean
from .definitions import Definitions
from .open_block import Prose, Verbatim

_HAS_CODE = '<code class="language-'


class LiveMarkdown:
    """Feed it with `append`, ask it for `changes`, `colour` what waits, and `finish` it once.

    Pieces may be cut anywhere. After `finish`, `html()` is `render` of the whole text.
    """

    def __init__(self) -> None:
        self._arrived: list[str] = []
        self._line: list[str] = []  # the incomplete last line
        self._placed = False  # whether that line is in the open block
        self._blocks = Blocks()
        self._open: Prose | Verbatim = Prose()
        self._finished: list[tuple[Block, str]] = []
        self._uncoloured: deque[int] = deque()  # which of the finished
        self._definitions = Definitions()

    @property
    def is_coloured(self) -> bool:
        """Whether no finished block waits for its colours."""
        return not self._uncoloured

    def append(self, text: str) -> None:
        """Take the next piece of the text."""
        self._arrived.append(text)

    def changes(self) -> list[Change]:
        """What a viewer who has made all former changes must do now."""
        text = "".join(self._arrived)
        self._arrived.clear()
        if text.endswith("\r"):  # it may be half of a CRLF
            text = text[:-1]
            self._arrived.append("\r")
        if not text:
            return []
        text = clean(text)
        if self._open.takes_words and (added := self._open.add_words(text)) is not None:
            self._line.append(text)
            return added
        return self._read(text, is_last=False)

    def finish(self) -> list[Change]:
        """The text is complete: what is open is closed, what was held back is shown."""
        coloured = [change for _ in range(len(self._uncoloured)) for change in self.colour()]
        changes = self._read(clean("".join(self._arrived)), is_last=True)
        self._arrived.clear()
        return [*coloured, *changes, *self._later_definitions()]

    def colour(self) -> list[Change]:
        """Colour the code of the first finished block that waits for it."""
        if not self._uncoloured:
            return []
        index = self._uncoloured.popleft()
        block, plain = self._finished[index]
        html = block_html(block, self._used_in(block))
        self._finished[index] = (block, html)
        return [ReplaceBlock(index, html)] if html != plain else []

    def html(self) -> SafeString:
        """What a viewer has who has made all changes so far."""
        html = "".join(html for _, html in self._finished) + self._open.html
        return mark_safe(html)  # noqa: S308 — each block comes out of nh3 or is escaped

    def _read(self, text: str, *, is_last: bool) -> list[Change]:
        changes: list[Change] = []
        first, *rest = text.split("\n")
        self._line.append(first)
        for line in rest:
            self._end_line(changes, is_last)
            self._line = [line]
        if is_last:
            self._end_line(changes, is_last)
            self._line = []
            self._close(self._blocks.finish(), changes, colours=True)
        else:
            self._show_open(changes)
        return _merged(changes)

    def _end_line(self, changes: list[Change], is_last: bool) -> None:
        line = "".join(self._line)
        if not self._placed:
            self._close(self._blocks.place(line), changes, colours=is_last)
        self._placed = False
        self._close(self._blocks.end_line(line + "\n"), changes, colours=is_last)

    def _close(self, block: Block | None, changes: list[Change], *, colours: bool) -> None:
        if block is None:
            return
        self._definitions.learn(block)
        html = block_html(block, self._used_in(block), colours=colours)
        changes += self._open.become(html)
        if not colours and _HAS_CODE in html:
            self._uncoloured.append(len(self._finished))
        self._finished.append((block, html))
        self._open = Prose()

    def _show_open(self, changes: list[Change]) -> None:
        if not self._placed and not is_undecided("".join(self._line)):
            self._close(self._blocks.place("".join(self._line)), changes, colours=False)
            self._placed = True
        block = self._blocks.open
        if block is None or not (block.lines or self._placed):
            return
        line = self._line if self._placed else []
        if isinstance(self._open, Prose) and _is_verbatim(block, line):
            if block.kind == "fence" and not block.lines:
                return
            former, self._open = self._open, Verbatim(block)
            shown = self._open.show(block, line, self._definitions)
            changes += [ReplaceLast(self._open.html)] if former.is_shown else shown
        else:
            changes += self._open.show(block, line, self._definitions)

    def _later_definitions(self) -> list[Change]:
        """Blocks that use a link definition which came after them look different now."""
        if not self._definitions:
            return []
        before = self.html()
        self._finished = [
            (block, block_html(block, used) if (used := self._used_in(block)) else html)
            for block, html in self._finished
        ]
        return [ReplaceAll(self.html())] if self.html() != before else []

    def _used_in(self, block: Block) -> str:
        return self._definitions.used_in(block.source)


def _is_verbatim(block: Block, line: list[str]) -> bool:
    return block.kind == "fence" or block.size + sum(map(len, line)) > LONGEST_BLOCK


def _merged(changes: list[Change]) -> list[Change]:
    """The changes with the new blocks at the end as one."""
    new = [change for change in changes if isinstance(change, Append) and change.depth == 0]
    if len(new) < 2:
        return changes
    former = [change for change in changes if change not in new]
    return [*former, Append(0, "".join(change.html for change in new))]
