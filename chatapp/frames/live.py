"""A streaming reply as its viewers have it."""

from typing import assert_never

from django.template.loader import render_to_string
from django.utils.html import escape

from chatapp.endings import retry_text
from chatapp.frames.replies import CallRegion, Region, ReplyView, call_id, key_of, region_id
from chatapp.frames.swaps import replace, swap
from chatapp.markdown import Append, Change, LiveMarkdown, ReplaceAll, ReplaceLast
from chatapp.models import Message
from chatapp.models.rounds import RunState, ToolRun
from chatapp.upstream.errors import UpstreamError

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
        self._frames: list[str] = []  # of tool calls and notices, since the last `changes`
        self._thinking_is_shown = True
        self._must_redraw = False

    def append(self, region: str, text: str) -> None:
        key = (self._round, region)
        if key not in self._texts:
            self._texts[key] = LiveMarkdown()
            self._order.append(key)
        self._texts[key].append(text)

    def answer_was_reasoning(self, reasoning: str) -> None:
        """What was shown as the round's answer moves to its reasoning, all of which is given."""
        self._texts.pop((self._round, "answer"), None)
        self._texts[self._round, "reasoning"] = LiveMarkdown()
        self._order = [key for key in self._order if key[0] != self._round]
        self._order.append((self._round, "reasoning"))
        self._texts[self._round, "reasoning"].append(reasoning)
        self._must_redraw = True

    def write_call(self, index: int, identity: str, name: str, arguments: str) -> None:
        """A fragment of a tool call: the name where it is known, arguments to append."""
        key = (self._round, str(index))
        element_id = call_id(self.message, self._round, index)
        if key not in self._calls:
            run = ToolRun(identity, name, arguments)
            self._open_call(key, CallRegion(self._round, index, run, element_id))
            return
        run = self._calls[key].run
        run.arguments += arguments
        if name and name != run.name:
            run.name = name
            self._frames.append(replace(f"#{element_id}", self._region_html(self._calls[key])))
        elif arguments:
            self._frames.append(swap("append", f"#{element_id}-a", escape(arguments)))

    def show_run(self, index: int, run: ToolRun) -> None:
        """What has become of the round's call number `index`, in the order of their indexes."""
        keys = [key for key in self._order if key[0] == self._round and key in self._calls]
        key = sorted(keys, key=lambda one: int(one[1]))[index]
        before = self._calls[key]
        region = CallRegion(before.round, index, run, before.element_id)
        self._calls[key] = region
        self._frames.append(replace(f"#{region.element_id}", self._region_html(region)))

    def tell_of_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        text = retry_text(error, seconds, number)
        waiting = render_to_string("chat/_waiting.html", {"text": text})
        self._frames.append(swap("innerHTML", f"#f{key_of(self.message)}", waiting))

    def begin_round(self) -> None:
        self._round += 1

    def changes(self) -> str:
        """The frames for what came since the last call; empty where nothing did."""
        return self._frames_of({key: text.changes() for key, text in self._texts.items()})

    def finish(self) -> str:
        """The frames that complete every region; nothing is appended after this."""
        for region in self._calls.values():
            if region.run.state is RunState.CANCELLED:
                self._frames.append(replace(f"#{region.element_id}", self._region_html(region)))
        return self._frames_of({key: text.finish() for key, text in self._texts.items()})

    def ended_frame(self) -> str:
        """Sets the reply's ending, notice, usage and actions, once its message is saved."""
        return render_to_string("chat/_ended.html", self.view().context())

    def view(self) -> ReplyView:
        return ReplyView(
            self.message,
            [self._calls[key] if key in self._calls else self._region(key) for key in self._order],
        )

    def _frames_of(self, changes: dict[Key, list[Change]]) -> str:
        if self._must_redraw:
            return self._redrawn()
        frames = []
        for key, steps in changes.items():
            if key not in self._shown and steps:
                self._shown.add(key)
                frames.append(self._opened(self._region(key)))
            elif steps:
                target = region_id(self.message, *key)
                frames += [_change_frame(target, step) for step in steps]
        frames += self._frames
        self._frames = []
        if self._thinking_is_shown and self.message.reasoning_duration is not None:
            self._thinking_is_shown = False
            frames.append(self._thought())
        return "".join(frames)

    def _thought(self) -> str:
        """How long the reply was reasoned, in place of its summary."""
        region = {"element_id": region_id(self.message, 0, "reasoning"), "round": 0}
        context = {"message": self.message, "region": region, "oob": True}
        return render_to_string("chat/_thought.html", context)

    def _redrawn(self) -> str:
        """All regions anew."""
        self._must_redraw, self._frames = False, []
        view = self.view()
        self._shown = set(self._order)
        html = "".join(self._region_html(region) for region in view.regions)
        return swap("innerHTML", f"#b{view.key}", html)

    def _opened(self, region: Region | CallRegion) -> str:
        return swap("append", f"#b{key_of(self.message)}", self._region_html(region))

    def _open_call(self, key: Key, region: CallRegion) -> None:
        self._calls[key] = region
        self._order.append(key)
        self._frames.append(self._opened(region))

    def _region_html(self, region: Region | CallRegion) -> str:
        return render_to_string("chat/_region.html", self.view().context() | {"region": region})

    def _region(self, key: Key) -> Region:
        return Region(key[1], region_id(self.message, *key), self._texts[key].html(), key[0])


def _change_frame(target: str, change: Change) -> str:
    match change:
        case Append(depth, html):
            return swap("append", f"#{target}{'>:last-child' * depth}", html)
        case ReplaceLast(html):
            return replace(f"#{target}>:last-child", html)
        case ReplaceAll(html):
            return swap("innerHTML", f"#{target}", html)
        case _:
            assert_never(change)
