"""A streaming reply as its viewers have it."""

import dataclasses
import time
from collections.abc import Iterator
from typing import assert_never

from markupsafe import escape

from chatapp.frames.endings import retry_text
from chatapp.frames.environment import draw
from chatapp.frames.replies import (
    LONGEST_SHOWN,
    CallRegion,
    Region,
    ReplyView,
    Waiting,
    call_id,
    key_of,
    region_id,
    waiting_frame,
)
from chatapp.frames.swaps import ENDING, beginning, replace, swap
from chatapp.markdown import (
    Append,
    Change,
    Job,
    LiveMarkdown,
    ReplaceBlock,
    ReplaceLast,
    Work,
)
from chatapp.models import Message
from chatapp.models.rounds import RunState, ToolRun
from chatapp.upstream.wire.errors import UpstreamError

Key = tuple[int, str]  # the round, and the region's name or the call's index


class LiveReply:
    """Takes what comes of a reply, gives the frames that are missing.

    The frames from `changes()`, put one after another on what `view()` drew before, make what
    `view()` draws now; so a viewer who missed some takes a snapshot and goes on from there.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self._round = 0
        self._texts: dict[Key, LiveMarkdown] = {}
        self._calls: dict[Key, CallRegion] = {}
        self._order: list[Key] = []
        self._shown: set[Key] = set()
        # Since the last `changes`: calls to draw anew, what was added to others, and notices. One
        # frame a call, since htmx finds all targets of a message before it swaps the first.
        self._stale: set[Key] = set()
        self._arguments: dict[Key, str] = {}
        self._notice = ""
        self._next_try: tuple[str, int] | None = None  # what is told of it until something comes
        self._thinking_is_shown = True
        self._must_redraw = False
        # The one region that text was added to since the last `changes`, where it was shown before
        # and nothing else has happened, as with nearly every token.
        self._goes_on: Key | None = None
        self._is_more = True  # than that
        self._beginnings: dict[tuple[Key, int], str] = {}  # of frames that append, by their depth
        # When something last came, or the next try begins.
        self._heard_at = time.monotonic()

    def append(self, region: str, text: str) -> None:
        self._heard_at = time.monotonic()
        key = (self._round, region)
        if key != self._goes_on:
            self._is_more = self._is_more or self._goes_on is not None or key not in self._shown
            self._goes_on = key
        if key not in self._texts:
            self._texts[key] = LiveMarkdown()
            self._order.append(key)
        self._texts[key].append(text)

    def answer_was_reasoning(self, reasoning: str) -> None:
        """What was shown as the round's answer moves to its reasoning, all of which is given."""
        self._is_more = True
        answer = self._texts.pop((self._round, "answer"), None)
        key = (self._round, "reasoning")
        if answer is None or key in self._texts:
            answer = LiveMarkdown()
            answer.append(reasoning)
        self._texts[key] = answer  # which is the same text, where no other reasoning came before it
        before = [one for one in self._order if one[0] != self._round]
        beside = [one for one in self._order[len(before) :] if one[1] not in ("answer", key[1])]
        self._order = [*before, key, *beside]
        self._must_redraw = True

    def write_call(self, index: int, identity: str, name: str, arguments: str) -> None:
        """A fragment of a tool call: the name where it is known, arguments to append."""
        self._heard_at = time.monotonic()
        self._is_more = True
        key = (self._round, str(index))
        element_id = call_id(self.message, self._round, index)
        if key not in self._calls:
            run = ToolRun(identity, name, "")
            self._calls[key] = CallRegion(self._round, index, run, element_id)
            self._order.append(key)
        run = self._calls[key].run
        # How much is left out is said when the call is whole.
        added = arguments[: LONGEST_SHOWN - len(run.arguments)]
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
        """What has become of the round's call number `index`, in the order of their indexes."""
        self._heard_at = time.monotonic()
        self._is_more = True
        keys = [key for key in self._order if key[0] == self._round and key in self._calls]
        key = sorted(keys, key=lambda one: int(one[1]))[index]
        before = self._calls[key]
        region = CallRegion(before.round, index, run, before.element_id)
        self._calls[key] = region
        self._stale.add(key)

    def tell_of_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self._is_more = True
        self._next_try = retry_text(error), number
        self._heard_at = time.monotonic() + seconds
        self._say_waiting()

    def begin_round(self) -> None:
        self._round += 1

    def changes(self) -> str:
        """The frames for what came since the last call; empty where nothing did.

        No more of it than fits into a turn of the event loop: more is to come where it `is_behind`.
        """
        key, self._goes_on = self._goes_on, None
        if key and not self._is_more:
            changes = self._texts[key].changes(Work())
            return "".join([self._change_frame(key, change) for change in changes])
        self._is_more = self._next_try is not None
        work = Work()
        return self._frames_of({key: text.changes(work) for key, text in self._texts.items()})

    @property
    def has_more(self) -> bool:
        """Whether it is behind, or has jobs."""
        return any(text.is_behind or text.has_jobs for text in self._texts.values())

    @property
    def is_behind(self) -> bool:
        return any(text.is_behind for text in self._texts.values())

    @property
    def has_jobs(self) -> bool:
        """Whether finished blocks wait to be drawn as a whole."""
        return any(text.has_jobs for text in self._texts.values())

    def jobs(self) -> tuple[LiveMarkdown, list[Job]]:
        """The next of them, and the text that they are of. There must be some."""
        text = next(text for text in self._texts.values() if text.has_jobs)
        return text, text.jobs()

    def take(self, text: LiveMarkdown, jobs: list[Job], drawn: list[str]) -> str:
        """The frames for what came of jobs; `drawn` is empty where nothing did."""
        changes = [
            step for job, html in zip(jobs, drawn, strict=False) for step in text.take(job, html)
        ]
        key = next((key for key, one in self._texts.items() if one is text), None)
        if self._must_redraw or key not in self._shown or key is None:
            return ""  # it is drawn as a whole yet
        return "".join(self._change_frame(key, step) for step in changes)

    def finish(self) -> None:
        """Nothing is appended after this: the next changes complete every region."""
        self._is_more = True
        for key, region in self._calls.items():
            if region.run.state is RunState.CANCELLED or region.unshown:
                self._stale.add(key)
        for text in self._texts.values():
            text.finish()

    def ended_frame(self) -> str:
        """Sets the reply's ending, notice, usage and actions, once its message is saved."""
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
            return self._redrawn()
        frames = [frame for key in self._order for frame in self._frames_of_region(key, changes)]
        if self._next_try and any(frames):
            self._next_try = None
            self._say_waiting()
        frames.insert(0, self._notice)
        self._stale, self._arguments, self._notice = set(), {}, ""
        if self._thinking_is_shown and self.message.reasoning_duration is not None:
            self._thinking_is_shown = False
            frames.append(self._thought())
        return "".join(frames)

    def _say_waiting(self) -> None:
        self._notice = waiting_frame(self.message.pk, self._waiting)

    @property
    def _waiting(self) -> Waiting:
        silent_for = time.monotonic() - self._heard_at
        if self._next_try is None:
            return Waiting.for_model(self.message, silent_for)
        text, number = self._next_try
        return Waiting(text, silent_for, number)

    def _frames_of_region(self, key: Key, changes: dict[Key, list[Change]]) -> Iterator[str]:
        """One frame for a region that is new, in its place among them, or for what came of it.

        What comes after a text that is behind waits for it, or what a person is asked would move
        away below their pointer.
        """
        call = self._calls.get(key)
        if key not in self._shown:
            region = call or self._region(key)
            if self._is_held(key):
                self._is_more = True
            elif isinstance(region, CallRegion) or region.html:
                self._shown.add(key)
                yield self._opened(region)
        elif call and key in self._stale:
            yield replace(f"#{call.element_id}", self._region_html(call))
        elif call:
            if added := self._arguments.get(key):
                yield self._arguments_frame(call, added)
        else:
            yield from (self._change_frame(key, step) for step in changes[key])

    def _is_held(self, key: Key) -> bool:
        before = self._order[: self._order.index(key)]
        return any(self._texts[one].is_behind for one in before if one in self._texts)

    def _arguments_frame(self, call: CallRegion, added: str) -> str:
        """What was added to a call's arguments; with all that is around them where they begin."""
        if call.run.arguments == added:
            part = draw("chat/_tool_arguments.html", {"region": call})
            return swap("append", f"#{call.element_id}", part)
        return swap("append", f"#{call.element_id}-a", escape(added))

    def _thought(self) -> str:
        """How long the reply was reasoned, in place of its summary."""
        region = {"element_id": region_id(self.message, 0, "reasoning"), "round": 0}
        context = {"message": self.message, "region": region, "oob": True}
        return draw("chat/_thought.html", context)

    def _redrawn(self) -> str:
        """All regions anew."""
        self._must_redraw = False
        self._stale, self._arguments, self._notice = set(), {}, ""
        self._shown = set(self._order)
        view = self.view()
        html = "".join(self._region_html(region) for region in view.regions)
        return swap("innerHTML", f"#b{view.key}", html)

    def _opened(self, region: Region | CallRegion) -> str:
        return swap("append", f"#b{key_of(self.message)}", self._region_html(region))

    def _region_html(self, region: Region | CallRegion) -> str:
        return draw("chat/_region.html", self.view().context() | {"region": region})

    def _region(self, key: Key) -> Region:
        return Region(key[1], region_id(self.message, *key), self._texts[key].html(), key[0])

    def _change_frame(self, key: Key, change: Change) -> str:
        match change:
            case Append(depth, html):
                return f"{self._beginning(key, depth)}{html}{ENDING}"
            case ReplaceLast(html):
                return replace(f"#{region_id(self.message, *key)}>:last-child", html)
            case ReplaceBlock(index, html):
                return replace(f"#{region_id(self.message, *key)}>:nth-child({index + 1})", html)
            case _:
                assert_never(change)

    def _beginning(self, key: Key, depth: int) -> str:
        if not (known := self._beginnings.get((key, depth))):
            target = f"#{region_id(self.message, *key)}{'>:last-child' * depth}"
            known = self._beginnings[key, depth] = beginning("append", target)
        return known
