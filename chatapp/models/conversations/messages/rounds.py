"""The rounds of a reply: what the model wrote, which tools it called, and the tools' results."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Self

from chatapp.upstream.wire.decoding.tool_calls import ToolCall, parse_arguments
from chatapp.upstream.wire.reply import Reply
from chatapp.upstream.wire.requests.content import ImagePart, Part, text_part


class RunState(StrEnum):
    WRITING = "writing"  # its arguments are still arriving
    ASKING = "asking"  # waits for a person's permission
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    CANCELLED = "cancelled"


MAX_ID_LENGTH = 40  # characters, which every upstream accepts
RETURNED = "The tool {} returned:"
FOLLOW = "(The images that the tools returned follow.)"
STAND_IN = "(An image that the tool {} returned was left out: this model takes no images.)"
EXPIRED = "(An image was deleted by the retention policy.)"
CANCELLED = "(The call was cancelled before the tool returned anything.)"
ASIDE_FIELDS = ("images", "title")
UNFINISHED = frozenset({RunState.WRITING, RunState.ASKING, RunState.RUNNING})


@dataclass(frozen=True)
class RunImage:
    """An image in a tool's result: a `ReplyImage` of the reply, encoded by this app."""

    position: int
    media_type: str
    width: int
    height: int
    size: int  # bytes

    def as_part(self, file: str, tool: str) -> ImagePart:
        """Return the content part, whose file has this name in the storage."""
        stand_in = STAND_IN.format(tool)
        return ImagePart(file, self.media_type, self.width, self.height, self.size, stand_in)


@dataclass
class ToolRun:
    """One tool call and its result. Both texts are untrusted."""

    id: str
    name: str
    arguments: str
    state: RunState = RunState.WRITING
    result: str = ""
    extras: Mapping[str, object] = field(default_factory=dict)  # sent back with the call
    images: list[RunImage] = field(default_factory=list)
    title: str = ""  # what its server called it for people
    # Of the tool, while a person is asked who may always allow it. Not stored.
    definition: str = ""
    progress: str = ""  # as the tool reports it while it runs. Not stored.

    @classmethod
    def of(cls, call: ToolCall) -> Self:
        return cls(call.id, call.name, call.arguments, extras=call.extras)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        values = {name: value for name, value in record.items() if name in _RUN_FIELDS}
        if extra := record.get("extra_content"):  # as version 0.4 stored it
            values["extras"] = {"extra_content": extra}
        return cls(**{**values, "state": RunState(record["state"])})

    def as_record(self) -> dict[str, Any]:
        record = asdict(self)
        for name in ("definition", "progress", *ASIDE_FIELDS):
            del record[name]
        if not self.extras:
            del record["extras"]  # which versions before 0.5 do not know
        return record

    def aside_record(self) -> dict[str, Any]:
        """Return what `Extras.asides` keeps: previous versions refuse other keys in `as_record`."""
        record: dict[str, Any] = {"title": self.title} if self.title else {}
        if self.images:
            record["images"] = [asdict(image) for image in self.images]
        return record

    def restore_aside(self, record: Mapping[str, Any]) -> None:
        """Restore the title and images from what `aside_record` returned."""
        self.title = record.get("title", "")
        self.images = [RunImage(**image) for image in record.get("images", ())]

    def as_request(self, with_extras: bool) -> dict[str, object]:
        """Return the call as the next request repeats it.

        Arguments that aren't a JSON object become `{}`, since chat templates parse them; the
        call's result says what was wrong with them.
        """
        arguments = self.arguments if parse_arguments(self.arguments)[0] else "{}"
        function: dict[str, object] = {"name": self.name or "unnamed", "arguments": arguments}
        call: dict[str, object] = {"type": "function", "function": function}
        call["id"] = self._id(with_extras)
        if not with_extras:
            return call
        extras = dict(self.extras)
        within = extras.pop("function", None)
        if isinstance(within, Mapping):
            call["function"] = {**within, **function}
        return {**extras, **call}

    def _id(self, with_extras: bool) -> str:
        """Return the call's id, replaced by a short hash if it is long and the model is another.

        A long id holds a signature, which another model might truncate or reject.
        """
        if with_extras or len(self.id) <= MAX_ID_LENGTH:
            return self.id
        return f"call_{sha256(self.id.encode()).hexdigest()[:16]}"

    def as_result(self, with_extras: bool) -> dict[str, object]:
        """Return the call's result as the next request sends it."""
        is_cancelled = self.state in UNFINISHED or self.state is RunState.CANCELLED
        text = self.result or (CANCELLED if is_cancelled else "")
        return {"role": "tool", "tool_call_id": self._id(with_extras), "content": text}

    def cancel_unfinished(self) -> None:
        if self.state in UNFINISHED:
            self.state = RunState.CANCELLED


# A later version may have stored more in a record.
_RUN_FIELDS = frozenset(run_field.name for run_field in fields(ToolRun))


@dataclass
class Round:
    """The part of a reply that one request produced."""

    reasoning: str = ""
    content: str = ""
    refusal: str = ""
    tool_runs: list[ToolRun] = field(default_factory=list)
    finish_reason: str = ""
    response_id: str = ""
    usage: dict[str, Any] = field(default_factory=dict)  # `Usage.as_record`
    opaque: Mapping[str, object] = field(default_factory=dict)  # sent back with the calls

    @classmethod
    def of(cls, reply: Reply, tool_runs: list[ToolRun], usage: dict[str, Any]) -> Self:
        return cls(
            reply.reasoning,
            reply.answer,
            reply.refusal,
            tool_runs,
            reply.finish_reason,
            reply.response_id,
            usage,
            reply.opaque,
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        runs = [ToolRun.from_record(run) for run in record["tool_runs"]]
        return cls(**{**record, "tool_runs": runs})

    def as_record(self) -> dict[str, Any]:
        record = asdict(self) | {"tool_runs": [run.as_record() for run in self.tool_runs]}
        if not self.opaque:
            del record["opaque"]  # which the previous version does not know
        return record

    def as_chat_messages(
        self,
        reasoning_field: str = "",
        with_extras: bool = False,
        files: Mapping[int, str] = MappingProxyType({}),
    ) -> list[dict[str, object]]:
        """Return the round as the next request repeats it: the calls and their results.

        `files` has the names of images in the storage by their positions. The others were deleted.

        What else came with the calls goes back only to the model that sent it: signatures,
        encrypted reasoning, and the reasoning in the field in which it arrived, which DeepSeek
        requires. Leaving one out gets a 400, and sending it to another model may get one too.
        """
        call_message: dict[str, object] = {
            "role": "assistant",
            "content": None if not self.content or self.content.isspace() else self.content,
            "tool_calls": [run.as_request(with_extras) for run in self.tool_runs],
        }
        if with_extras:
            call_message |= self.opaque
        if reasoning_field:  # DeepSeek requires the field even if it is empty
            call_message[reasoning_field] = self.reasoning
        results = [run.as_result(with_extras) for run in self.tool_runs]
        return [call_message, *results, *self._pictures(files)]

    def _pictures(self, files: Mapping[int, str]) -> list[dict[str, object]]:
        """Return the images of the results, as a user's message.

        OpenAI's API takes only text as a result, and some templates refuse a user's message right
        after one.
        """
        parts: list[Part] = []
        for run in self.tool_runs:
            if run.images:
                name = run.name or "unnamed"
                parts.append(text_part(RETURNED.format(name)))
                parts += [
                    image.as_part(files[image.position], name)
                    if image.position in files
                    else text_part(EXPIRED)
                    for image in run.images
                ]
        if not parts:
            return []
        return [
            {"role": "assistant", "content": FOLLOW},
            {"role": "user", "content": parts},
        ]
