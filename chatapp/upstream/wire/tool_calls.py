"""Tool calls: their fragments in, whole calls out.

A fragment belongs to the call of its `index`, unless its id and name say otherwise: some number
every call 0, or none. Arguments are text until the model has finished; only then are they parsed,
and what does not parse is kept and says why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from chatapp.upstream.wire.chunks import Delta, FunctionPart, ToolCallPart
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError, UpstreamFailed, clean
from chatapp.upstream.wire.events import ToolCallDelta
from chatapp.upstream.wire.json_objects import objects_in
from chatapp.upstream.wire.opaque import size_of
from chatapp.upstream.wire.surrogates import SurrogateJoiner

MAX_TOOL_CALLS = 128
MAX_REPEATED = 16  # objects, as the arguments of one call

_MAX_NAME_LENGTH = 200
_MAX_ID_LENGTH = 64 * 1024  # LiteLLM puts signatures into ids
_MAX_EXTRA_BYTES = 64 * 1024
_EXTRAS = ("extra_content", "provider_specific_fields", "thought_signature")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: `parsed` once the model has finished, or `problem` where that was impossible."""

    index: int
    id: str  # made up where the upstream gave none
    name: str
    arguments: str  # as they came
    parsed: Mapping[str, Any] | None = None
    problem: str = ""
    extras: Mapping[str, object] = field(default_factory=dict)  # which go back with it


@dataclass(slots=True)
class ToolCallParts:
    """The fold of one call's fragments. Linear: the arguments are joined when they are read."""

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

    def joined(self, has_finished: bool) -> ToolCall:
        """The call so far; its arguments are parsed where the model `has_finished`."""
        arguments = "".join(self.arguments)
        parsed, problem = parsed_arguments(arguments) if has_finished else (None, "")
        if problem and (repaired := _repaired(arguments, self.arguments[-1])):
            arguments = repaired
            parsed, problem = parsed_arguments(arguments)
        call_id = self.id or f"call_{self.index}"
        return ToolCall(self.index, call_id, self.name, arguments, parsed, problem, self.extras)


@dataclass(slots=True)
class FragmentReader:
    """Reads the tool calls of one choice's deltas, and knows where each fragment belongs."""

    choice: int
    _calls: list["_Known"] = field(default_factory=list)
    _by_index: dict[int, "_Known"] = field(default_factory=dict)  # the last call of that index
    _has_tool_calls: bool = False

    @property
    def has_any(self) -> bool:
        """Whether there was a tool call."""
        return self._has_tool_calls

    def read(self, delta: Delta, left_out: list[str]) -> list[ToolCallDelta]:
        """Return the fragments in a delta. Raises `UpstreamFailed` for an index out of range."""
        if delta.tool_calls:
            self._has_tool_calls = True
            return [self._fragment(part, left_out) for part in delta.tool_calls]
        # the deprecated form says the same again where both are sent
        if delta.function_call and not self._has_tool_calls:
            return [self._event(0, "", delta.function_call)]
        return []

    def _fragment(self, part: ToolCallPart, left_out: list[str]) -> ToolCallDelta:
        function = part.function or FunctionPart()
        call = self._call_of(part, function.name or "")
        call.id, call.name = part.id or call.id, call.joined_name(function.name or "")
        arguments = call.text.receive_text(function.arguments_text())
        call.has_arguments = call.has_arguments or bool(arguments)
        extras = _extras_of(part, left_out)
        if within := _extras_of(function, left_out):
            extras["function"] = within
        named = FunctionPart(call.name if function.name else "", arguments)
        return self._event(call.place, part.id or "", named, extras)

    def _call_of(self, part: ToolCallPart, name: str) -> "_Known":
        if part.index is None:
            return self._unnumbered(part.id or "", name) or self._new(None)
        if not 0 <= part.index < MAX_TOOL_CALLS:
            raise _out_of_range(part.index)
        known = self._by_index.get(part.index)
        if known is None:
            # Without a name it is the rest of a call whose index counts its fragments.
            rest_of = None if name else self._unnumbered(part.id or "", name)
            known = rest_of or self._new(part.index)
        elif known.is_another(part.id or "", name):
            known = self._new(None)
        self._by_index[part.index] = known
        return known

    def _unnumbered(self, call_id: str, name: str) -> "_Known | None":
        """A new id, or a name without any, begins the next call; all else goes on with the last."""
        if call_id:
            return next((call for call in self._calls if call.id == call_id), None)
        return self._calls[-1] if self._calls and not name else None

    def _new(self, index: int | None) -> "_Known":
        """Place a call where its index says, or after all others."""
        taken = {call.place for call in self._calls}
        if index is None or index in taken:
            index = max(taken, default=-1) + 1
        if index >= MAX_TOOL_CALLS:
            raise _out_of_range(index)
        self._calls.append(_Known(index))
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
            clean(call_id, _MAX_ID_LENGTH),
            clean(function.name or "", _MAX_NAME_LENGTH),
            function.arguments_text().replace("\0", "\ufffd"),
            extras or None,
            choice=self.choice,
        )


@dataclass(slots=True)
class _Known:
    """A call that has begun."""

    place: int
    id: str = ""
    name: str = ""
    has_arguments: bool = False
    text: SurrogateJoiner = field(default_factory=SurrogateJoiner)  # of the arguments

    def joined_name(self, name: str) -> str:
        """The name with one more piece of it, or with the whole of it again."""
        return name if name.startswith(self.name) else self.name + name

    def is_another(self, call_id: str, name: str) -> bool:
        """Tell whether a fragment of the same index begins another call.

        Ollama numbers all its calls 0. The name may be repeated in every fragment, may come in
        pieces before the arguments, and some make up a new id for each.
        """
        if not name or not self.name:
            return False
        if not self.has_arguments and call_id in ("", self.id):
            return False
        return name != self.name or bool(call_id and self.id and call_id != self.id)


def unique_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Give calls that share an id one each, since a result names its call by it."""
    seen: set[str] = set()
    told_apart = []
    for call in calls:
        call_id = call.id if call.id not in seen else f"{call.id}_{call.index}"
        seen.add(call_id)
        told_apart.append(call if call_id == call.id else replace(call, id=call_id))
    return told_apart


def _repaired(arguments: str, last: str) -> str:
    """The object that arguments must mean which are none; "" if they mean none.

    Some servers begin with an empty object, repeat the whole, or send with each fragment all that
    there is so far.
    """
    if objects := objects_in(arguments, MAX_REPEATED):
        different = {text for found, text in objects if found} or {"{}"}
        return different.pop() if len(different) == 1 else ""
    is_whole = last.lstrip().startswith("{") and not parsed_arguments(last)[1]
    return last if is_whole else ""


def _extras_of(part: ToolCallPart | FunctionPart, left_out: list[str]) -> dict[str, object]:
    """What came beside a call and goes back with it, as far as it is of a sane size."""
    extras = {}
    for name in _EXTRAS:
        value = getattr(part, name, None)
        if not value:
            continue
        size = size_of(value) if isinstance(value, dict | str) else None
        if size is None or size > _MAX_EXTRA_BYTES:
            left_out.append(name)
        else:
            extras[name] = value
    return extras


def _out_of_range(index: int) -> UpstreamFailed:
    message = f"a tool call has the index {index}; {MAX_TOOL_CALLS} calls are taken"
    return UpstreamFailed(UpstreamError(ErrorKind.OUT_OF_RANGE, message))


def parsed_arguments(arguments: str) -> tuple[Mapping[str, Any] | None, str]:
    """Parse arguments, or tell what is wrong; none at all are those of a tool that takes none."""
    if arguments.strip() in ("", "null"):
        return {}, ""
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any]), ""
    except (ValueError, RecursionError) as error:
        return None, clean(str(error), 500)
