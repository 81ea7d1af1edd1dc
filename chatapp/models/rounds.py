"""A reply's rounds: what the model wrote, the tools that it called then, and what came of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from chatapp.upstream.reply import Reply
from chatapp.upstream.tool_calls import ToolCall


class RunState(StrEnum):
    WRITING = "writing"  # its arguments are still coming
    ASKING = "asking"  # a person must allow it
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    CANCELLED = "cancelled"


UNFINISHED = frozenset({RunState.WRITING, RunState.ASKING, RunState.RUNNING})


@dataclass
class ToolRun:
    """One tool call and its result, both as text that nobody vouches for."""

    id: str
    name: str
    arguments: str
    state: RunState = RunState.WRITING
    result: str = ""

    @classmethod
    def of(cls, call: ToolCall) -> Self:
        return cls(call.id, call.name, call.arguments)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(**{**record, "state": RunState(record["state"])})

    def cancel_unfinished(self) -> None:
        if self.state in UNFINISHED:
            self.state = RunState.CANCELLED


@dataclass
class Round:
    """One request's part of a reply."""

    reasoning: str = ""
    content: str = ""
    refusal: str = ""
    tool_runs: list[ToolRun] = field(default_factory=list)
    finish_reason: str = ""
    response_id: str = ""
    usage: dict[str, Any] = field(default_factory=dict)  # `Usage.as_record`

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
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        runs = [ToolRun.from_record(run) for run in record["tool_runs"]]
        return cls(**{**record, "tool_runs": runs})

    def as_record(self) -> dict[str, Any]:
        return asdict(self)

    def as_chat_messages(self) -> list[dict[str, object]]:
        """The round as the next request repeats it: the calls and their results."""
        calls = [
            {
                "id": run.id,
                "type": "function",
                "function": {"name": run.name, "arguments": run.arguments},
            }
            for run in self.tool_runs
        ]
        asked: dict[str, object] = {
            "role": "assistant",
            "content": self.content or None,
            "tool_calls": calls,
        }
        results: list[dict[str, object]] = [
            {"role": "tool", "tool_call_id": run.id, "content": run.result}
            for run in self.tool_runs
        ]
        return [asked, *results]
