"""A streaming reply, as its viewers' pages show it."""

import dataclasses
import time
from collections.abc import Iterator
from typing import assert_never

from markupsafe import escape

from chatapp.models import Message
from chatapp.models.conversations.rounds import RunState, ToolRun
from chatapp.rendering.fragments.endings import retry_text
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.replies import (
    MAX_SHOWN_LENGTH,
    CallRegion,
    Region,
    ReplyView,
    Waiting,
    call_id,
    key_of,
    region_id,
    waiting_fragment,
)
from chatapp.rendering.fragments.swaps import ENDING, beginning, replace, swap
from chatapp.rendering.markdown import (
    Append,
    Change,
    Job,
    LiveMarkdown,
    ReplaceBlock,
    ReplaceLast,
    Work,
)
from chatapp.upstream.wire.errors import UpstreamError

Key = tuple[int, str]  # the round, and the region's name or the call's index


class LiveReply:
    """Takes a reply's deltas and returns the frames that bring a page up to date.

    Applying the frames from `changes()` in order to what `view()` drew before gives what `view()`
    draws now. So a viewer that missed some can take a snapshot and continue from there.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self._round = 0
        self._texts: dict[Key, LiveMarkdown] = {}
        self._calls: dict[Key, CallRegion] = {}
        self._order: list[Key] = []
        self._shown: set[Key] = set()
        # Since the last `changes()`: calls to redraw, arguments to append to others, a notice. At
        # most one frame per call, because htmx finds all targets of a message before any swap.
        self._stale: set[Key] = set()
        self._arguments: dict[Key, str] = {}
        self._notice = ""
        self._next_try: tuple[str, int] | None = None  # its text and number, shown while waiting
        self._thinking_is_shown = True
        self._must_redraw = False
        # The fast path, taken for nearly every token: since the last `changes()`, text was appended
        # to this one region, which is on the page already, and nothing else happened.
        self._only_appended: Key | None = None
        self._has_other_changes = True
        self._append_starts: dict[tuple[Key, int], str] = {}  # by region and depth
        # When something last arrived, or when the next try begins.
        self._heard_at = time.monotonic()

    def append(self, region: str, text: str) -> None:
        self._heard_at = time.monotonic()
        key = (self._round, region)
        if key != self._only_appended:
            if self._only_appended is not None or key not in self._shown:
                self._has_other_changes = True
            self._only_appended = key
        if key not in self._texts:
            self._texts[key] = LiveMarkdown()
            self._order.append(key)
        self._texts[key].append(text)

    def answer_was_reasoning(self, reasoning: str) -> None:
        """Move the text shown as the round's answer to its reasoning; `reasoning` is all of it."""
        self._has_other_changes = True
        answer = self._texts.pop((self._round, "answer"), None)
        key = (self._round, "reasoning")
        if answer is None or key in self._texts:
            answer = LiveMarkdown()
            answer.append(reasoning)
        self._texts[key] = answer  # the same text, unless other reasoning preceded it
        before = [one for one in self._order if one[0] != self._round]
        beside = [one for one in self._order[len(before) :] if one[1] not in ("answer", key[1])]
        self._order = [*before, key, *beside]
        self._must_redraw = True

    def write_call(self, index: int, identity: str, name: str, arguments: str) -> None:
        """Add a fragment of a tool call: its name, if known, and arguments to append."""
        self._heard_at = time.monotonic()
        self._has_other_changes = True
        key = (self._round, str(index))
        element_id = call_id(self.message, self._round, index)
        if key not in self._calls:
            run = ToolRun(identity, name, "")
            self._calls[key] = CallRegion(self._round, index, run, element_id)
            self._order.append(key)
        run = self._calls[key].run
        # The page says how much is left out once the call is complete.
        added = arguments[: MAX_SHOWN_LENGTH - len(run.arguments)]
        if added:
            run.arguments += added
            self._arguments[key] = self._arguments.get(key, "") + added
        if unshown := len(arguments) - len(added):
            region = self._calls[key]
            self._calls[key] = dataclasses.replace(region, unshown=region.unshown + unshown)
        if name and name != run.name:
            run.name = name
            self._stale.add(key)

    def show_run(self, index: int, run: ToolRun) -> None:
        """Update the `index`-th call of the round, counted in the order of the calls' indexes."""
        self._heard_at = time.monotonic()
        self._has_other_changes = True
        keys = [key for key in self._order if key[0] == self._round and key in self._calls]
        key = sorted(keys, key=lambda one: int(one[1]))[index]
        before = self._calls[key]
        region = CallRegion(before.round, index, run, before.element_id)
        self._calls[key] = region
        self._stale.add(key)

    def tell_of_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self._has_other_changes = True
        self._next_try = retry_text(error), number
        self._heard_at = time.monotonic() + seconds
        self._update_waiting()

    def begin_round(self) -> None:
        self._round += 1

    def changes(self) -> str:
        """Return the frames for what arrived since the last call; empty if nothing did.

        It does only as much work as fits into one turn of the event loop. `is_behind` says whether
        there is more.
        """
        key, self._only_appended = self._only_appended, None
        if key and not self._has_other_changes:
            changes = self._texts[key].changes(Work())
            return "".join([self._change_frame(key, change) for change in changes])
        self._has_other_changes = self._next_try is not None
        work = Work()
        return self._frames_of({key: text.changes(work) for key, text in self._texts.items()})

    @property
    def has_more(self) -> bool:
        """Whether it is behind or has jobs."""
        return any(text.is_behind or text.has_jobs for text in self._texts.values())

    @property
    def is_behind(self) -> bool:
        return any(text.is_behind for text in self._texts.values())

    @property
    def has_jobs(self) -> bool:
        """Whether finished blocks are waiting to be rendered as a whole."""
        return any(text.has_jobs for text in self._texts.values())

    def jobs(self) -> tuple[LiveMarkdown, list[Job]]:
        """Return a text and its next jobs. There must be some."""
        text = next(text for text in self._texts.values() if text.has_jobs)
        return text, text.jobs()

    def take(self, text: LiveMarkdown, jobs: list[Job], drawn: list[str]) -> str:
        """Return the frames for the HTML of finished jobs; `drawn` is empty if they failed."""
        changes = [
            step for job, html in zip(jobs, drawn, strict=False) for step in text.take(job, html)
        ]
        key = next((key for key, one in self._texts.items() if one is text), None)
        if self._must_redraw or key not in self._shown or key is None:
            return ""  # the whole region is still to be drawn
        return "".join(self._change_frame(key, step) for step in changes)

    def finish(self) -> None:
        """Mark the end of the text: the next `changes()` complete every region."""
        self._has_other_changes = True
        for key, region in self._calls.items():
            if region.run.state is RunState.CANCELLED or region.unshown:
                self._stale.add(key)
        for text in self._texts.values():
            text.finish()

    def ended_frame(self) -> str:
        """Return the frame with the reply's ending, notice, usage and actions, once it is saved."""
        return draw("chat/_ended.html", self.view().context())

    def view(self) -> ReplyView:
        return ReplyView(
            self.message,
            [
                self._calls.get(key) or self._region(key)
                for key in self._order
                if key in self._shown
            ],
            self._waiting,
            self.message.ending,
        )

    def _frames_of(self, changes: dict[Key, list[Change]]) -> str:
        if self._must_redraw:
            return self._redrawn_frame()
        frames = [frame for key in self._order for frame in self._frames_of_region(key, changes)]
        if self._next_try and any(frames):
            self._next_try = None
            self._update_waiting()
        frames.insert(0, self._notice)
        self._stale, self._arguments, self._notice = set(), {}, ""
        if self._thinking_is_shown and self.message.reasoning_duration is not None:
            self._thinking_is_shown = False
            frames.append(self._thought_frame())
        return "".join(frames)

    def _update_waiting(self) -> None:
        self._notice = waiting_fragment(self.message.pk, self._waiting)

    @property
    def _waiting(self) -> Waiting:
        silent_for = time.monotonic() - self._heard_at
        if self._next_try is None:
            return Waiting.for_model(self.message, silent_for)
        text, number = self._next_try
        return Waiting(text, silent_for, number)

    def _frames_of_region(self, key: Key, changes: dict[Key, list[Change]]) -> Iterator[str]:
        """Yield the frame that adds a new region, or the frames for the changes to a known one.

        A new region waits until the texts before it are no longer behind. Otherwise the buttons of
        a tool call would move away from under the person's pointer.
        """
        call = self._calls.get(key)
        if key not in self._shown:
            region = call or self._region(key)
            if self._must_wait(key):
                self._has_other_changes = True
            elif isinstance(region, CallRegion) or region.html:
                self._shown.add(key)
                yield self._added_frame(region)
        elif call and key in self._stale:
            yield replace(f"#{call.element_id}", self._region_html(call))
        elif call:
            if added := self._arguments.get(key):
                yield self._arguments_frame(call, added)
        else:
            yield from (self._change_frame(key, step) for step in changes[key])

    def _must_wait(self, key: Key) -> bool:
        before = self._order[: self._order.index(key)]
        return any(self._texts[one].is_behind for one in before if one in self._texts)

    def _arguments_frame(self, call: CallRegion, added: str) -> str:
        """Append to a call's arguments, with the element that holds them if these are the first."""
        if call.run.arguments == added:
            part = draw("chat/_tool_arguments.html", {"region": call})
            return swap("append", f"#{call.element_id}", part)
        return swap("append", f"#{call.element_id}-a", escape(added))

    def _thought_frame(self) -> str:
        """Replace the summary of the reasoning with how long it took."""
        region = {"element_id": region_id(self.message, 0, "reasoning"), "round": 0}
        context = {"message": self.message, "region": region, "oob": True}
        return draw("chat/_thought.html", context)

    def _redrawn_frame(self) -> str:
        """Replace all regions."""
        self._must_redraw = False
        self._stale, self._arguments, self._notice = set(), {}, ""
        self._shown = set(self._order)
        view = self.view()
        html = "".join(self._region_html(region) for region in view.regions)
        return swap("innerHTML", f"#b{view.key}", html)

    def _added_frame(self, region: Region | CallRegion) -> str:
        return swap("append", f"#b{key_of(self.message)}", self._region_html(region))

    def _region_html(self, region: Region | CallRegion) -> str:
        return draw("chat/_region.html", self.view().context() | {"region": region})

    def _region(self, key: Key) -> Region:
        return Region(key[1], region_id(self.message, *key), self._texts[key].html(), key[0])

    def _change_frame(self, key: Key, change: Change) -> str:
        match change:
            case Append(depth, html):
                return f"{self._append_start(key, depth)}{html}{ENDING}"
            case ReplaceLast(html):
                return replace(f"#{region_id(self.message, *key)}>:last-child", html)
            case ReplaceBlock(index, html):
                return replace(f"#{region_id(self.message, *key)}>:nth-child({index + 1})", html)
            case _:
                assert_never(change)

    def _append_start(self, key: Key, depth: int) -> str:
        if not (known := self._append_starts.get((key, depth))):
            target = f"#{region_id(self.message, *key)}{'>:last-child' * depth}"
            known = self._append_starts[key, depth] = beginning("append", target)
        return known
