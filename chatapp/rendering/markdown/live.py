"""Turns a text that is still being written into changes that keep a viewer's page up to date.

A finished block is sent once. Whatever is slow (syntax colours, most formulas, large blocks) is
left out at first and replaced once the caller has rendered it elsewhere: `jobs` returns what to
render, `apply_result` accepts the result. The open block is rendered again when its markup may have
changed; if the new HTML is the old HTML with insertions, the viewer only gets these. Plain words
that follow plain words skip the rendering. A block above a few kilobytes is rendered only after it
has grown by a fraction of its size, so that the total work stays linear.

No call does more work than fits into a turn of the event loop; the next call does the rest.
"""

from collections import deque
from dataclasses import dataclass

from django.utils.safestring import SafeString

from . import budgets
from .arriving import ArrivingText, Line
from .block_html import block_at_once
from .blocks import Block, Blocks, is_undecided
from .changes import Append, Change, ReplaceBlock, ReplaceLast
from .definitions import Definitions, UsedDefinitions
from .open_block import Prose, Verbatim, is_verbatim
from .whole import TOO_LONG

_LINE_WORK = 25  # for each line, however short


@dataclass(slots=True)
class Work:
    """The work that may still be done in a turn of the event loop, in the unit of `budgets`."""

    left: int = budgets.WORK_A_TURN


@dataclass(frozen=True, slots=True)
class Job:
    """A finished block to render in full, with the link definitions that it uses."""

    index: int
    block: Block
    definitions: str


@dataclass(slots=True)
class _FinishedBlock:
    block: Block
    definitions: str  # that it was rendered with, or is to be rendered with
    html: str


class LiveMarkdown:
    """Feed it with `append`, get its `changes`, do its `jobs`, and call `finish` once.

    Pieces may be cut anywhere. After `finish`, once `is_behind` is false and no jobs are left,
    `html()` equals `render` of the whole text.
    """

    def __init__(self) -> None:
        self._arriving = ArrivingText()
        self._line = Line()  # the incomplete last line
        self._has_begun = False  # whether that line already belongs to the open block
        self._blocks = Blocks()
        self._open: Prose | Verbatim = Prose()
        self._finished: list[_FinishedBlock] = []
        self._jobs: deque[int] = deque()  # indexes of finished blocks
        self._definitions = Definitions()
        self._used = UsedDefinitions(self._definitions)
        self._is_closed = False
        self._checked = 0  # finished blocks that were checked for later definitions

    @property
    def is_behind(self) -> bool:
        """Whether `changes` has more to do even if no more text arrives."""
        if self._arriving.is_waiting:
            return True
        return self._arriving.has_ended and not (self._is_closed and self._has_checked)

    @property
    def has_jobs(self) -> bool:
        return bool(self._jobs)

    def append(self, text: str) -> None:
        """Take the next piece of the text."""
        if not self._arriving.has_ended:
            self._arriving.append(text)

    def finish(self) -> None:
        """Mark the text as complete; the next changes show what was held back."""
        self._arriving.has_ended = True

    def changes(self, work: Work | None = None) -> list[Change]:
        """Return what a viewer who has applied all earlier changes must do now."""
        work = work or Work()
        changes: list[Change] = []
        has_read = False
        while self._arriving.is_waiting and work.left > 0:
            text = self._arriving.pop_slice()
            is_all = not has_read and not self._arriving.is_waiting
            if is_all and (added := self._add_words(text, work)) is not None:
                return _merge_appends(added)
            has_read = True
            self._read_slice(text, changes, work)
        if self._arriving.has_ended and not self._arriving.is_waiting and not self._is_closed:
            self._close_all(changes)
        elif has_read and not self._is_closed:
            self._show_open(changes)
        if self._is_closed:
            self._check_definitions(work)
        return _merge_appends(changes)

    def jobs(self) -> list[Job]:
        """Return the next few blocks to render elsewhere."""
        jobs: list[Job] = []
        weight = 0
        while self._jobs and weight < budgets.HEAVIEST_AT_ONCE:
            index = self._jobs.popleft()
            finished = self._finished[index]
            weight += finished.block.whole_weight
            jobs.append(Job(index, finished.block, finished.definitions))
        return jobs

    def apply_result(self, job: Job, html: str) -> list[Change]:
        """Accept the result of a job and return the changes that show it."""
        finished = self._finished[job.index]
        if finished.html == html or finished.definitions != job.definitions:
            return []
        finished.html = html
        return [ReplaceBlock(job.index, html)]

    def html(self) -> SafeString:
        """Return the HTML of a viewer who has applied all changes so far."""
        html = "".join(finished.html for finished in self._finished) + self._open.html
        if self._is_closed and self._arriving.is_cut:
            html += TOO_LONG
        return SafeString(html)  # each block comes out of nh3 or is escaped

    def _add_words(self, text: str, work: Work) -> list[Change] | None:
        """Append text without rendering, or return None if the block must be rendered."""
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
        """End a line that is already shown in full; only a table row still changes then."""
        open_block = self._open
        self._end_line(changes, work)
        if self._open is open_block:
            open_block.takes_words = False
            if self._blocks.open and self._blocks.open.columns:
                self._show_open(changes)

    def _read_slice(self, text: str, changes: list[Change], work: Work) -> None:
        """Read a slice line by line, and put back what is too much for this turn."""
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
        definitions = self._used.for_block(block)
        html, is_all = block_at_once(block, definitions)
        work.left -= min(block.whole_weight, budgets.HEAVIEST_AT_ONCE) + len(definitions)
        changes += self._open.become(html)
        if not is_all:
            self._jobs.append(len(self._finished))
        self._finished.append(_FinishedBlock(block, definitions, html))
        self._open = Prose()

    def _close_all(self, changes: list[Change]) -> None:
        self._end_line(changes, Work())
        for block in self._blocks.end():
            self._close(block, changes, Work())
        self._is_closed = True
        self._used = UsedDefinitions(self._definitions)
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
            former_block, self._open = self._open, Verbatim(block)
            open_changes = self._open.show(block, line, self._definitions)
            changes += [ReplaceLast(self._open.html)] if former_block.is_shown else open_changes
        else:
            changes += self._open.show(block, line, self._definitions)

    @property
    def _has_checked(self) -> bool:
        return self._checked == len(self._finished) or not self._definitions

    def _check_definitions(self, work: Work) -> None:
        """Queue the blocks to render again that use a link definition which came after them."""
        while not self._has_checked and work.left > 0:
            finished = self._finished[self._checked]
            definitions = self._used.for_block(finished.block)
            if definitions != finished.definitions:
                finished.definitions = definitions
                if self._checked not in self._jobs:
                    self._jobs.append(self._checked)
            self._checked += 1
            work.left -= _LINE_WORK + finished.block.size


def _merge_appends(changes: list[Change]) -> list[Change]:
    """Combine the changes that append blocks into one at the end."""
    if len(changes) < 2:
        return changes
    new = [change for change in changes if isinstance(change, Append) and change.depth == 0]
    if len(new) < 2:
        return changes
    others = [c for c in changes if not (isinstance(c, Append) and c.depth == 0)]
    return [*others, Append(0, "".join(change.html for change in new))]
