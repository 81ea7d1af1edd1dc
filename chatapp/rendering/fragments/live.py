"""A streaming reply, as its viewers' pages show it."""

import time
from collections.abc import Iterator

from chatapp.models import Message
from chatapp.models.conversations.messages.rounds import ToolRun
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.live_calls import Key, LiveCalls
from chatapp.rendering.fragments.live_waiting import LiveWaiting
from chatapp.rendering.fragments.region_fragments import RegionFragments
from chatapp.rendering.fragments.replies import CallRegion, Region, ReplyView, region_id
from chatapp.rendering.fragments.swaps import replace
from chatapp.rendering.markdown import Change, Job, LiveMarkdown, Work
from chatapp.upstream.wire.errors.upstream_error import UpstreamError


class LiveReply:
    """Takes a reply's deltas and returns the fragments that bring a page up to date.

    Applying the fragments from `changes()` in order to what `view()` drew before gives what
    `view()` draws now. So a viewer that missed some can take a snapshot and continue from there.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self._round = 0
        self._texts: dict[Key, LiveMarkdown] = {}
        self._calls = LiveCalls(message)
        self._waiting = LiveWaiting(message)
        self._fragments = RegionFragments(message)
        self._order: list[Key] = []
        self._shown: set[Key] = set()
        self._thinking_is_shown = True
        self._must_redraw = False
        # The fast path, taken for nearly every token: since the last `changes()`, text was appended
        # to this one region, which is on the page already, and nothing else happened.
        self._only_appended: Key | None = None
        self._has_other_changes = True

    def append(self, region: str, text: str) -> None:
        self._waiting.heard_at = time.monotonic()
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
        before = [other_key for other_key in self._order if other_key[0] != self._round]
        beside = [
            other_key
            for other_key in self._order[len(before) :]
            if other_key[1] not in ("answer", key[1])
        ]
        self._order = [*before, key, *beside]
        self._must_redraw = True

    def write_call(self, index: int, identity: str, name: str, arguments: str) -> None:
        """Add a fragment of a tool call: its name, if known, and arguments to append."""
        self._waiting.heard_at = time.monotonic()
        self._has_other_changes = True
        key = (self._round, str(index))
        if self._calls.write(key, identity, name, arguments):
            self._order.append(key)

    def show_run(self, index: int, run: ToolRun) -> None:
        """Update the `index`-th call of the round, counted in the order of the calls' indexes."""
        self._waiting.heard_at = time.monotonic()
        self._has_other_changes = True
        self._calls.show_run(self._round, index, run)

    def tell_of_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self._has_other_changes = True
        self._waiting.begin_retry(error, seconds, number)

    def ask_another(self) -> None:
        """Show that another model is asked, which the message names now."""
        self._has_other_changes = True
        self._waiting.ask_another()

    def begin_round(self) -> None:
        self._round += 1

    def changes(self) -> str:
        """Return the fragments for what arrived since the last call; empty if nothing did.

        It does only as much work as fits into one turn of the event loop. `is_behind` says whether
        there is more.
        """
        key, self._only_appended = self._only_appended, None
        if key and not self._has_other_changes:
            changes = self._texts[key].changes(Work())
            return "".join([self._fragments.change(key, change) for change in changes])
        self._has_other_changes = self._waiting.is_special
        work = Work()
        return self._build_fragments({key: text.changes(work) for key, text in self._texts.items()})

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

    def apply_results(self, text: LiveMarkdown, jobs: list[Job], results: list[str]) -> str:
        """Return the fragments for the HTML of finished jobs; `results` is empty if they failed."""
        changes = [
            step
            for job, html in zip(jobs, results, strict=False)
            for step in text.apply_result(job, html)
        ]
        key = next((key for key, other in self._texts.items() if other is text), None)
        if self._must_redraw or key not in self._shown or key is None:
            return ""  # the whole region is still to be drawn
        return "".join(self._fragments.change(key, step) for step in changes)

    def finish(self) -> None:
        """Mark the end of the text: the next `changes()` complete every region."""
        self._has_other_changes = True
        self._calls.finish()
        for text in self._texts.values():
            text.finish()

    def ended_fragment(self) -> str:
        """Return the ending, the notice, the usage and the actions, once the reply is saved."""
        return draw("chat/_ended.html", self.view().context())

    def view(self) -> ReplyView:
        return ReplyView(
            self.message,
            [
                self._calls.get(key) or self._build_region(key)
                for key in self._order
                if key in self._shown
            ],
            self._waiting.build_waiting(),
            self.message.ending,
        )

    def _build_fragments(self, changes: dict[Key, list[Change]]) -> str:
        if self._must_redraw:
            return self._redraw_all()
        fragments = [
            fragment
            for key in self._order
            for fragment in self._build_region_fragments(key, changes)
        ]
        if self._waiting.is_special and any(fragments):
            self._waiting.end_special()
        fragments.insert(0, self._waiting.pop_fragment())
        self._calls.forget_changes()
        if self._thinking_is_shown and self.message.reasoning_duration is not None:
            self._thinking_is_shown = False
            fragments.append(self._fragments.reasoning_duration())
        return "".join(fragments)

    def _build_region_fragments(self, key: Key, changes: dict[Key, list[Change]]) -> Iterator[str]:
        """Yield the fragment that adds a new region, or those for the changes to a known one.

        A new region waits until the texts before it are no longer behind. Otherwise the buttons of
        a tool call would move away from under the person's pointer.
        """
        call = self._calls.get(key)
        if key not in self._shown:
            region = call or self._build_region(key)
            if self._must_wait(key):
                self._has_other_changes = True
            elif isinstance(region, CallRegion) or region.html:
                self._shown.add(key)
                yield self._append_region(region)
        elif call and self._calls.is_stale(key):
            yield replace(f"#{call.element_id}", self._draw_region(call))
        elif call:
            if added := self._calls.added_arguments(key):
                yield self._fragments.added_arguments(call, added)
        else:
            yield from (self._fragments.change(key, step) for step in changes[key])

    def _must_wait(self, key: Key) -> bool:
        before = self._order[: self._order.index(key)]
        return any(
            self._texts[earlier_key].is_behind
            for earlier_key in before
            if earlier_key in self._texts
        )

    def _redraw_all(self) -> str:
        """Replace all regions."""
        self._must_redraw = False
        self._calls.forget_changes()
        self._waiting.pop_fragment()
        self._shown = set(self._order)
        return self._fragments.no_regions() + "".join(map(self._append_region, self.view().regions))

    def _append_region(self, region: Region | CallRegion) -> str:
        return self._fragments.added_region(region.name, self._draw_region(region))

    def _draw_region(self, region: Region | CallRegion) -> str:
        return draw("chat/_region.html", self.view().context() | {"region": region})

    def _build_region(self, key: Key) -> Region:
        return Region(key[1], region_id(self.message, *key), self._texts[key].html(), key[0])
