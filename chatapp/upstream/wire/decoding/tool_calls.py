"""Assemble tool calls from their fragments.

A fragment belongs to the call with its `index`, unless its id and name say otherwise: some
upstreams number every call 0, or none. Arguments are text until the model has finished; only then
are they parsed. Arguments that don't parse are kept, with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from chatapp.upstream.wire.decoding.chunks import Delta, FunctionPart, ToolCallPart
from chatapp.upstream.wire.decoding.json_objects import objects_in
from chatapp.upstream.wire.decoding.opaque import measure_json
from chatapp.upstream.wire.decoding.surrogates import SurrogateJoiner
from chatapp.upstream.wire.errors.upstream_error import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
    clean_id,
)
from chatapp.upstream.wire.events import ToolCallDelta

MAX_TOOL_CALLS = 128
MAX_REPEATED = 16  # JSON objects in the arguments of one call

_MAX_NAME_LENGTH = 200
_MAX_ID_LENGTH = 64 * 1024  # LiteLLM puts signatures into ids
_MAX_EXTRA_BYTES = 64 * 1024
_EXTRAS = ("extra_content", "provider_specific_fields", "thought_signature")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call; once the model has finished it has `parsed` arguments or a parse `problem`."""

    index: int
    id: str  # made up if the upstream gave none
    name: str
    arguments: str  # as received, or repaired
    parsed: Mapping[str, Any] | None = None
    problem: str = ""
    extras: Mapping[str, object] = field(default_factory=dict)  # sent back with the call


@dataclass(slots=True)
class ToolCallParts:
    """Collects one call's fragments, in linear time: arguments are joined when read."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extras: dict[str, object] = field(default_factory=dict)

    def apply(self, delta: ToolCallDelta) -> None:
        self.id = delta.id or self.id
        self.name = delta.name or self.name
        self.extras |= delta.extras or {}
        if delta.arguments:
            self.arguments.append(delta.arguments)

    def build_call(self, has_finished: bool) -> ToolCall:
        """Return the call so far; arguments are parsed only if the model `has_finished`."""
        arguments = "".join(self.arguments)
        parsed, problem = parse_arguments(arguments) if has_finished else (None, "")
        if problem and (repaired := _repair_arguments(arguments, self.arguments[-1])):
            arguments = repaired
            parsed, problem = parse_arguments(arguments)
        call_id = self.id or f"call_{self.index}"
        return ToolCall(self.index, call_id, self.name, arguments, parsed, problem, self.extras)


@dataclass(slots=True)
class FragmentReader:
    """Reads the tool calls in one choice's deltas and assigns each fragment to its call."""

    choice: int
    _calls: list["_StartedCall"] = field(default_factory=list)
    _by_index: dict[int, "_StartedCall"] = field(
        default_factory=dict
    )  # the last call with that index
    _has_tool_calls: bool = False

    @property
    def has_any(self) -> bool:
        """Whether there was a tool call."""
        return self._has_tool_calls

    def read(self, delta: Delta, left_out: list[str]) -> list[ToolCallDelta]:
        """Return the fragments in a delta. Raises `UpstreamFailed` for an index out of range."""
        if parts := delta.tool_calls or delta.camel_tool_calls:
            self._has_tool_calls = True
            return [self._fragment(part, left_out) for part in parts]
        # If both are sent, the deprecated form repeats the calls.
        if delta.function_call and not self._has_tool_calls:
            return [self._event(0, "", delta.function_call)]
        return []

    def _fragment(self, part: ToolCallPart, left_out: list[str]) -> ToolCallDelta:
        function = part.function or FunctionPart()
        call = self._find_call(part, function.name or "")
        call.id, call.name = part.id or call.id, call.extend_name(function.name or "")
        arguments = call.text.receive_text(function.arguments_text())
        call.has_arguments = call.has_arguments or bool(arguments)
        extras = _read_extras(part, left_out)
        if within := _read_extras(function, left_out):
            extras["function"] = within
        named = FunctionPart(call.name if function.name else "", arguments)
        return self._event(call.position, part.id or "", named, extras)

    def _find_call(self, part: ToolCallPart, name: str) -> "_StartedCall":
        if part.index is None:
            return self._find_continued_call(part.id or "", name) or self._add_call(None)
        if not 0 <= part.index < MAX_TOOL_CALLS:
            raise _out_of_range(part.index)
        call = self._by_index.get(part.index)
        if call is None:
            # Without a name it continues a call whose index counts up with each fragment.
            continued_call = None if name else self._find_continued_call(part.id or "", name)
            call = continued_call or self._add_call(part.index)
        elif call.is_another(part.id or "", name):
            call = self._add_call(None)
        self._by_index[part.index] = call
        return call

    def _find_continued_call(self, call_id: str, name: str) -> "_StartedCall | None":
        """Return the call that a fragment without an index continues; None if it begins one.

        A new id, or a name without an id, begins a call.
        """
        if call_id:
            return next((call for call in self._calls if call.id == call_id), None)
        return self._calls[-1] if self._calls and not name else None

    def _add_call(self, index: int | None) -> "_StartedCall":
        """Add a call at its index, or after all others."""
        taken = {call.position for call in self._calls}
        if index is None or index in taken:
            index = max(taken, default=-1) + 1
        if index >= MAX_TOOL_CALLS:
            raise _out_of_range(index)
        self._calls.append(_StartedCall(index))
        return self._calls[-1]

    def _event(
        self,
        index: int,
        call_id: str,
        function: FunctionPart,
        extras: Mapping[str, object] | None = None,
    ) -> ToolCallDelta:
        return ToolCallDelta(
            index,
            clean_id(call_id, _MAX_ID_LENGTH),
            clean(function.name or "", _MAX_NAME_LENGTH),
            function.arguments_text().replace("\0", "\ufffd"),
            extras or None,
            choice=self.choice,
        )


@dataclass(slots=True)
class _StartedCall:
    """A call that has started."""

    position: int
    id: str = ""
    name: str = ""
    has_arguments: bool = False
    text: SurrogateJoiner = field(default_factory=SurrogateJoiner)  # of the arguments

    def extend_name(self, name: str) -> str:
        """Return the name extended by a piece, or replaced if `name` repeats all of it."""
        return name if name.startswith(self.name) else self.name + name

    def is_another(self, call_id: str, name: str) -> bool:
        """Tell whether a fragment with the same index begins another call.

        Ollama numbers all calls 0. The name may be repeated in every fragment or come in pieces
        before the arguments, and some upstreams make up a new id for each fragment.
        """
        if not name or not self.name:
            return False
        if not self.has_arguments and call_id in ("", self.id):
            return False
        return name != self.name or bool(call_id and self.id and call_id != self.id)


def unique_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Give calls that share an id different ids, because a result names its call by id."""
    seen: set[str] = set()
    unique = []
    for call in calls:
        call_id = call.id if call.id not in seen else f"{call.id}_{call.index}"
        seen.add(call_id)
        unique.append(call if call_id == call.id else replace(call, id=call_id))
    return unique


def _repair_arguments(arguments: str, last: str) -> str:
    """Return the object that invalid arguments most likely mean, or "".

    Some servers start with an empty object, repeat the whole object, or send the arguments so far
    with each fragment.
    """
    if objects := objects_in(arguments, MAX_REPEATED):
        different = {text for parsed, text in objects if parsed} or {"{}"}
        return different.pop() if len(different) == 1 else ""
    is_whole = last.lstrip().startswith("{") and not parse_arguments(last)[1]
    return last if is_whole else ""


def _read_extras(part: ToolCallPart | FunctionPart, left_out: list[str]) -> dict[str, object]:
    """Return the extra fields to send back with a call; leave out those that are too large."""
    extras = {}
    for name in _EXTRAS:
        value = getattr(part, name, None)
        if not value:
            continue
        size = measure_json(value) if isinstance(value, dict | str) else None
        if size is None or size > _MAX_EXTRA_BYTES:
            left_out.append(name)
        else:
            extras[name] = value
    return extras


def _out_of_range(index: int) -> UpstreamFailed:
    message = f"a tool call has the index {index}; the limit is {MAX_TOOL_CALLS} calls"
    return UpstreamFailed(UpstreamError(ErrorKind.OUT_OF_RANGE, message))


def parse_arguments(arguments: str) -> tuple[Mapping[str, Any] | None, str]:
    """Parse arguments, or say what is wrong with them; "" and "null" mean no arguments."""
    if arguments.strip() in ("", "null"):
        return {}, ""
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any]), ""
    except (ValueError, RecursionError) as error:
        return None, clean(str(error), 500)
