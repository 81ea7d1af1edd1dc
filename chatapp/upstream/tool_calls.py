"""Tool calls: their fragments in, whole calls out; and what is sent back about them.

A fragment belongs to the call of its `index`. Arguments are text until the model has finished;
only then are they parsed, and what does not parse is kept and says why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from chatapp.upstream.chunks import Delta, FunctionPart, ToolCallPart
from chatapp.upstream.errors import ErrorKind, UpstreamError, UpstreamFailed, clean
from chatapp.upstream.events import ToolCallDelta

MAX_TOOL_CALLS = 128

_MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: `parsed` once the model has finished, or `problem` where that was impossible."""

    index: int
    id: str  # made up where the upstream gave none
    name: str
    arguments: str  # as they came
    parsed: Mapping[str, Any] | None = None
    problem: str = ""

    def as_request(self) -> dict[str, object]:
        """The call as the assistant's message repeats it in the next request."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}

    def result_message(self, content: str) -> dict[str, object]:
        """The message that answers the call."""
        return {"role": "tool", "tool_call_id": self.id, "content": content}


@dataclass(slots=True)
class ToolCallParts:
    """The fold of one call's fragments. Linear: the arguments are joined when they are read."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def apply(self, delta: ToolCallDelta) -> None:
        self.id = delta.id or self.id
        self.name = delta.name or self.name
        if delta.arguments:
            self.arguments.append(delta.arguments)

    def joined(self, has_finished: bool) -> ToolCall:
        """The call so far; its arguments are parsed where the model `has_finished`."""
        arguments = "".join(self.arguments)
        parsed, problem = _parsed(arguments) if has_finished else (None, "")
        call_id = self.id or f"call_{self.index}"
        return ToolCall(self.index, call_id, self.name, arguments, parsed, problem)


@dataclass(slots=True)
class FragmentReader:
    """Reads the tool calls of one choice's deltas, and knows where those without index belong."""

    choice: int
    _ids: dict[str, int] = field(default_factory=dict)
    _count: int = 0  # one more than the highest index
    _has_tool_calls: bool = False

    def read(self, delta: Delta) -> list[ToolCallDelta]:
        """Return the fragments in a delta. Raises `UpstreamFailed` for an index out of range."""
        if delta.tool_calls:
            self._has_tool_calls = True
            return [self._fragment(part) for part in delta.tool_calls]
        # the deprecated form says the same again where both are sent
        if delta.function_call and not self._has_tool_calls:
            return [self._event(0, "", delta.function_call)]
        return []

    def _fragment(self, part: ToolCallPart) -> ToolCallDelta:
        function = part.function or FunctionPart()
        index = self._place(part, function) if part.index is None else part.index
        if not 0 <= index < MAX_TOOL_CALLS:
            message = f"a tool call has the index {index}; {MAX_TOOL_CALLS} calls are taken"
            raise UpstreamFailed(UpstreamError(ErrorKind.OUT_OF_RANGE, message))
        self._count = max(self._count, index + 1)
        if part.id:
            self._ids.setdefault(part.id, index)
        return self._event(index, part.id or "", function)

    def _place(self, part: ToolCallPart, function: FunctionPart) -> int:
        """A new id, or a name without any, begins the next call; all else goes on with the last."""
        if part.id:
            return self._ids.get(part.id, self._count)
        return self._count if function.name else max(self._count - 1, 0)

    def _event(self, index: int, call_id: str, function: FunctionPart) -> ToolCallDelta:
        return ToolCallDelta(
            index,
            clean(call_id, _MAX_NAME_LENGTH),
            clean(function.name or "", _MAX_NAME_LENGTH),
            function.arguments_text().replace("\0", "\ufffd"),
            choice=self.choice,
        )


def message_with_calls(answer: str, calls: Sequence[ToolCall]) -> dict[str, object]:
    """The assistant's message that asked for the calls, for the request that answers them."""
    content = answer or None
    tool_calls = [call.as_request() for call in calls]
    return {"role": "assistant", "content": content, "tool_calls": tool_calls}


def _parsed(arguments: str) -> tuple[Mapping[str, Any] | None, str]:
    """Parse arguments; none at all are those of a tool that takes none."""
    try:
        return msgspec.json.decode(arguments or "{}", type=dict[str, Any]), ""
    except (ValueError, RecursionError) as error:
        return None, clean(str(error), 500)
