"""A text that is still being written, as the changes that keep a viewer's page up to date.

Finished blocks are sent once. What would take long, the colours of code, most formulas, large
blocks, is missing then, and follows in place when somebody else has done it: `jobs` says what is to
do, `take` what came of it. The open block is rendered again when its markup may have changed and
the viewer gets the addition alone wherever the new HTML is the old with something inserted; plain
words that follow plain words skip even the rendering. A block past a few kilobytes is rendered only
after it has grown by a share of itself, so that work stays linear whatever comes.

No call does more than fits into a turn of the event loop: what it leaves, the next one does.
"""

from collections import deque
from dataclasses import dataclass

from django.utils.safestring import SafeString

from . import budgets
from .arriving import Arriving, Line
from .block_html import block_at_once
from .blocks import Block, Blocks, is_undecided
from .changes import Append, Change, ReplaceBlock, ReplaceLast
from .definitions import Definitions, Used
from .open_block import Prose, Verbatim, is_verbatim
from .whole import TOO_LONG

_LINE_WORK = 25  # of a line, however short


@dataclass(slots=True)
class Work:
    """What is left to do in a turn of the event loop, in the unit of `budgets`."""

    left: int = budgets.WORK_A_TURN


@dataclass(frozen=True, slots=True)
class Job:
    """A finished block that is to be drawn as a whole, with the definitions that it uses."""

    index: int
    block: Block
    definitions: str


@dataclass(slots=True)
class _Finished:
    block: Block
    definitions: str  # those it was drawn with, or is to be drawn with
    html: str


class LiveMarkdown:
    """Feed it with `append`, ask it for `changes`, do its `jobs`, and `finish` it once.

    Pieces may be cut anywhere. After `finish`, once it `is_behind` no more and no jobs are left,
    `html()` is `render` of the whole text.
    """

    def __init__(self) -> None:
        self._arriving = Arriving()
        self._line = Line()  # the incomplete last line
        self._has_begun = False  # whether that line belongs to the open block already
        self._blocks = Blocks()
        self._open: Prose | Verbatim = Prose()
        self._finished: list[_Finished] = []
        self._jobs: deque[int] = deque()  # which of the finished
        self._definitions = Definitions()
        self._used = Used(self._definitions)
        self._is_closed = False
        self._looked_at = 0  # of the finished, for definitions that came later

    @property
    def is_behind(self) -> bool:
        """Whether `changes` has more to do, although nothing new comes."""
        if self._arriving.is_waiting:
            return True
        return self._arriving.has_ended and not (self._is_closed and self._has_looked)

    @property
    def has_jobs(self) -> bool:
        return bool(self._jobs)

    def append(self, text: str) -> None:
        """Take the next piece of the text."""
        if not self._arriving.has_ended:
            self._arriving.append(text)

    def finish(self) -> None:
        """The text is complete: the next changes show what was held back."""
        self._arriving.has_ended = True

    def changes(self, work: Work | None = None) -> list[Change]:
        """What a viewer who has made all former changes must do now."""
        work = work or Work()
        changes: list[Change] = []
        has_read = False
        while self._arriving.is_waiting and work.left > 0:
            text = self._arriving.take()
            is_all = not has_read and not self._arriving.is_waiting
            if is_all and (added := self._add_words(text, work)) is not None:
                return _merged(added)
            has_read = True
            self._read(text, changes, work)
        if self._arriving.has_ended and not self._arriving.is_waiting and not self._is_closed:
            self._close_all(changes)
        elif has_read and not self._is_closed:
            self._show_open(changes)
        if self._is_closed:
            self._look_for_definitions(work)
        return _merged(changes)

    def jobs(self) -> list[Job]:
        """What somebody else shall do next, a few blocks at a time."""
        found: list[Job] = []
        weight = 0
        while self._jobs and weight < budgets.HEAVIEST_AT_ONCE:
            index = self._jobs.popleft()
            finished = self._finished[index]
            weight += finished.block.whole_weight
            found.append(Job(index, finished.block, finished.definitions))
        return found

    def take(self, job: Job, html: str) -> list[Change]:
        """What came of a job."""
        finished = self._finished[job.index]
        if finished.html == html or finished.definitions != job.definitions:
            return []
        finished.html = html
        return [ReplaceBlock(job.index, html)]

    def html(self) -> SafeString:
        """What a viewer has who has made all changes so far."""
        html = "".join(finished.html for finished in self._finished) + self._open.html
        if self._is_closed and self._arriving.is_cut:
            html += TOO_LONG
        return SafeString(html)  # each block comes out of nh3 or is escaped

    def _add_words(self, text: str, work: Work) -> list[Change] | None:
        """The short way, where the text goes on in the middle of a line as it may."""
        if not self._open.takes_words:
            return None
        ends_line = text[-1:] == "\n" and isinstance(self._open, Prose)
        words = text[:-1] if ends_line else text
        added = self._open.add_words(words) if words else []
        if added is None:
            return None
        self._line.add(words)
        if ends_line:
            self._end_shown_line(added, work)
        return added

    def _end_shown_line(self, changes: list[Change], work: Work) -> None:
        """End a line that is shown whole: only a table's row has something to add then."""
        open_block = self._open
        self._end_line(changes, work)
        if self._open is open_block:
            open_block.takes_words = False
            if self._blocks.open and self._blocks.open.columns:
                self._show_open(changes)

    def _read(self, text: str, changes: list[Change], work: Work) -> None:
        """Take a slice line by line, and leave what is too much for now."""
        at = 0
        while (end := text.find("\n", at)) >= 0:
            self._line.add(text[at:end])
            work.left -= _LINE_WORK + self._line.size
            self._end_line(changes, work)
            at = end + 1
            if work.left <= 0:
                self._arriving.put_back(text[at:])
                return
        self._line.add(text[at:])
        work.left -= len(text) - at

    def _end_line(self, changes: list[Change], work: Work) -> None:
        line, self._line = self._line.text, Line()
        if not self._has_begun:
            self._close(self._blocks.begin_line(line), changes, work)
        self._has_begun = False
        self._close(self._blocks.end_line(line + "\n"), changes, work)

    def _close(self, block: Block | None, changes: list[Change], work: Work) -> None:
        if block is None:
            return
        self._definitions.learn(block)
        definitions = self._used.of(block)
        html, is_all = block_at_once(block, definitions)
        work.left -= min(block.whole_weight, budgets.HEAVIEST_AT_ONCE) + len(definitions)
        changes += self._open.become(html)
        if not is_all:
            self._jobs.append(len(self._finished))
        self._finished.append(_Finished(block, definitions, html))
        self._open = Prose()

    def _close_all(self, changes: list[Change]) -> None:
        self._end_line(changes, Work())
        self._close(self._blocks.finish(), changes, Work())
        self._is_closed = True
        self._used = Used(self._definitions)
        if self._arriving.is_cut:
            changes.append(Append(0, TOO_LONG))

    def _show_open(self, changes: list[Change]) -> None:
        if not self._has_begun and not is_undecided(self._line.text):
            self._close(self._blocks.begin_line(self._line.text), changes, Work())
            self._has_begun = True
        block = self._blocks.open
        if block is None or not (block.lines or self._has_begun):
            return
        line = self._line if self._has_begun else Line()
        if isinstance(self._open, Prose) and is_verbatim(block, line):
            if block.kind == "fence" and not block.lines:
                return
            former, self._open = self._open, Verbatim(block)
            shown = self._open.show(block, line, self._definitions)
            changes += [ReplaceLast(self._open.html)] if former.is_shown else shown
        else:
            changes += self._open.show(block, line, self._definitions)

    @property
    def _has_looked(self) -> bool:
        return self._looked_at == len(self._finished) or not self._definitions

    def _look_for_definitions(self, work: Work) -> None:
        """Blocks that use a link definition which came after them are drawn anew."""
        while not self._has_looked and work.left > 0:
            finished = self._finished[self._looked_at]
            definitions = self._used.of(finished.block)
            if definitions != finished.definitions:
                finished.definitions = definitions
                if self._looked_at not in self._jobs:
                    self._jobs.append(self._looked_at)
            self._looked_at += 1
            work.left -= _LINE_WORK + finished.block.size


def _merged(changes: list[Change]) -> list[Change]:
    """The changes with the new blocks at the end as one."""
    if len(changes) < 2:
        return changes
    new = [change for change in changes if isinstance(change, Append) and change.depth == 0]
    if len(new) < 2:
        return changes
    former = [c for c in changes if not (isinstance(c, Append) and c.depth == 0)]
    return [*former, Append(0, "".join(change.html for change in new))]
