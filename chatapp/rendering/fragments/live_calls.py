"""The tool calls of a streaming reply, and how they changed since the last fragments."""

import dataclasses

from chatapp.models import Message
from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.rendering.fragments.replies import MAX_SHOWN_LENGTH, CallRegion, call_id

Key = tuple[int, str]  # the round, and the region's name or the call's index


class LiveCalls:
    """Collects calls from their fragments.

    There is at most one change per call, either stale or with added arguments, because htmx finds
    all targets of a message before any swap.
    """

    def __init__(self, message: Message) -> None:
        self._message = message
        self._calls: dict[Key, CallRegion] = {}
        self._stale: set[Key] = set()  # to be drawn as a whole
        self._added: dict[Key, str] = {}  # arguments to append

    def get(self, key: Key) -> CallRegion | None:
        return self._calls.get(key)

    def is_stale(self, key: Key) -> bool:
        return key in self._stale

    def added_arguments(self, key: Key) -> str:
        return self._added.get(key, "")

    def write(self, key: Key, identity: str, name: str, arguments: str) -> bool:
        """Add a fragment: the name, if known, and arguments to append. Return whether it is new."""
        is_new = key not in self._calls
        if is_new:
            round, index = key[0], int(key[1])
            run = ToolRun(identity, name, "")
            element_id = call_id(self._message, round, index)
            self._calls[key] = CallRegion(round, index, run, element_id, self._message.pk)
        run = self._calls[key].run
        # The page says how much is left out once the call is complete.
        added = arguments[: MAX_SHOWN_LENGTH - len(run.arguments)]
        if added:
            run.arguments += added
            self._added[key] = self._added.get(key, "") + added
        if unshown := len(arguments) - len(added):
            region = self._calls[key]
            self._calls[key] = dataclasses.replace(region, unshown=region.unshown + unshown)
        if name and name != run.name:
            run.name = name
            self._stale.add(key)
        return is_new

    def show_run(self, round: int, index: int, run: ToolRun) -> None:
        """Update the `index`-th call of the round, counted in the order of the calls' indexes."""
        keys = sorted(
            (key for key in self._calls if key[0] == round), key=lambda call_key: int(call_key[1])
        )
        before = self._calls[keys[index]]
        region = CallRegion(before.round, index, run, before.element_id, before.reply)
        self._calls[keys[index]] = region
        self._stale.add(keys[index])

    def finish(self) -> None:
        """Mark calls that look different once the reply has ended."""
        for key, region in self._calls.items():
            if region.run.state is RunState.CANCELLED or region.unshown:
                self._stale.add(key)

    def forget_changes(self) -> None:
        self._stale, self._added = set(), {}
