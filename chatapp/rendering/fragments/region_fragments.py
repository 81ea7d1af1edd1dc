"""The fragments that change one region of a streaming reply on the page."""

from typing import assert_never

from markupsafe import escape

from chatapp.models import Message
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.live_calls import Key
from chatapp.rendering.fragments.replies import CallRegion, get_element_key, region_id
from chatapp.rendering.fragments.shared import named_region
from chatapp.rendering.fragments.swaps import ENDING, beginning, replace, swap
from chatapp.rendering.markdown import Append, Change, ReplaceBlock, ReplaceLast


class RegionFragments:
    """Fragments for the regions of one reply."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._append_starts: dict[tuple[Key, int], str] = {}  # by region and depth

    def change(self, key: Key, change: Change) -> str:
        """Apply a change of the Markdown to the text on the page."""
        match change:
            case Append(depth, html):
                return f"{self._append_start(key, depth)}{html}{ENDING}"
            case ReplaceLast(html):
                return replace(f"#{region_id(self._message, *key)}>:last-child", html)
            case ReplaceBlock(index, html):
                return replace(f"#{region_id(self._message, *key)}>:nth-child({index + 1})", html)
            case _:
                assert_never(change)

    def added_region(self, name: str, html: str) -> str:
        return named_region(self._message, name, html)

    def no_regions(self) -> str:
        return swap("innerHTML", f"#b{get_element_key(self._message)}")

    def added_arguments(self, call: CallRegion, added: str) -> str:
        """Append to a call's arguments, with the element that holds them if these are the first."""
        if call.run.arguments == added:
            part = draw("chat/_tool_arguments.html", {"region": call})
            return swap("append", f"#{call.element_id}", part)
        return swap("append", f"#{call.element_id}-a", escape(added))

    def reasoning_duration(self) -> str:
        """Replace the summary of the reasoning with how long it took."""
        region = {"element_id": region_id(self._message, 0, "reasoning"), "round": 0}
        context = {"message": self._message, "region": region}
        return replace(f"#s{region['element_id']}", draw("chat/_reasoning_summary.html", context))

    def _append_start(self, key: Key, depth: int) -> str:
        if not (start := self._append_starts.get((key, depth))):
            target = f"#{region_id(self._message, *key)}{'>:last-child' * depth}"
            start = self._append_starts[key, depth] = beginning("append", target)
        return start
