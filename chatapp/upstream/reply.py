"""The fold: one reply's events, in order, become a `Reply` with its text, usage and ending.

A `Reply` is one choice; where several were asked for, each gets all the events of the stream, and
takes what concerns it: what is said of its own choice and of the response as a whole.

Knows what the stream itself says; that it was stopped, abandoned or interrupted is known only to
whoever ran it. Appending is linear: regions are lists of parts, joined when they are read.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from chatapp.upstream.errors import ErrorKind, UpstreamError
from chatapp.upstream.events import (
    AnswerDelta,
    AnswerWasReasoning,
    ChoiceEvent,
    Event,
    Failed,
    Finished,
    LogprobsDelta,
    Moderated,
    ReasoningDelta,
    RefusalDelta,
    ResponseStarted,
    ServiceNamed,
    StreamDone,
    TimedOut,
    TokenLogprob,
    TokenUsage,
    ToolCallDelta,
    UsageOptionRefused,
    UsageReported,
)
from chatapp.upstream.tool_calls import ToolCall, ToolCallParts


class Ending(StrEnum):
    """Why a reply ended; `finish_reason` keeps the upstream's own word."""

    COMPLETE = "complete"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSED = "refused"
    STOPPED = "stopped"
    ABANDONED = "abandoned"
    FAILED = "failed"
    CUT_OFF = "cut_off"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Reply:
    """An assistant message, from its first delta to its ending."""

    choice: int = 0
    reasoning_parts: list[str] = field(default_factory=list)
    answer_parts: list[str] = field(default_factory=list)
    refusal_parts: list[str] = field(default_factory=list)
    tool_call_parts: dict[int, ToolCallParts] = field(default_factory=dict)
    logprobs: list[TokenLogprob] = field(default_factory=list)  # of the content, tags and all
    refusal_logprobs: list[TokenLogprob] = field(default_factory=list)
    finish_reason: str = ""
    usage: TokenUsage | None = None  # the upstream's own count
    error: UpstreamError | None = None
    response_id: str = ""
    model: str = ""  # as the upstream names it, which may not be what was asked for
    service_tier: str = ""
    system_fingerprint: str = ""
    moderation: Moderated | None = None
    is_done: bool = False  # [DONE] came

    def apply(self, event: Event) -> None:
        """Fold one event in."""
        if isinstance(event, ChoiceEvent) and event.choice != self.choice:
            return
        match event:
            case AnswerDelta():
                self.answer_parts.append(event.text)
            case ReasoningDelta():
                self.reasoning_parts.append(event.text)
            case RefusalDelta():
                self.refusal_parts.append(event.text)
            case AnswerWasReasoning():
                self.reasoning_parts += self.answer_parts
                self.answer_parts.clear()
            case ToolCallDelta():
                self._apply_tool_call(event)
            case LogprobsDelta():
                self.logprobs += event.content
                self.refusal_logprobs += event.refusal
            case ResponseStarted():
                self.response_id, self.model = event.response_id, event.model
            case ServiceNamed():
                self.service_tier = event.service_tier
                self.system_fingerprint = event.system_fingerprint
            case Moderated():
                known = self.moderation or Moderated()
                self.moderation = Moderated(
                    event.input or known.input, event.output or known.output
                )
            case Finished():
                self.finish_reason = event.finish_reason
            case UsageReported():
                self.usage = event.usage
            case StreamDone():
                self.is_done = True
            case Failed():
                self.error = event.error
            case TimedOut() if self.finish_reason:
                pass  # this choice is whole; another one, or the stream's end, is what is missing
            case TimedOut():
                message = f"nothing came for {event.idle_seconds:g} seconds"
                self.error = UpstreamError(ErrorKind.TIMED_OUT, message)
            case UsageOptionRefused():
                pass  # says something of the upstream, nothing of the reply
            case _:
                assert_never(event)

    @property
    def reasoning(self) -> str:
        return "".join(self.reasoning_parts)

    @property
    def answer(self) -> str:
        return "".join(self.answer_parts)

    @property
    def refusal(self) -> str:
        return "".join(self.refusal_parts)

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls by index; their arguments are parsed once the model has finished."""
        parts = sorted(self.tool_call_parts.values(), key=lambda part: part.index)
        return [part.joined(bool(self.finish_reason)) for part in parts]

    @property
    def wants_tools(self) -> bool:
        """Whether the model waits for the results of its tool calls: the reply goes on in another
        request, and `ending` is only that of this round.

        Some upstreams finish with `stop` in place of `tool_calls`.
        """
        is_whole = self.finish_reason and self.ending is Ending.COMPLETE
        return bool(is_whole and self.tool_call_parts)

    @property
    def ending(self) -> Ending:
        """What the stream says of its end; meaningful once the stream is closed."""
        if self.error:
            timed_out = self.error.kind is ErrorKind.TIMED_OUT
            return Ending.TIMED_OUT if timed_out else Ending.FAILED
        if self.finish_reason == "length":
            return Ending.LENGTH
        if self.finish_reason == "content_filter":
            return Ending.CONTENT_FILTER
        if not self.finish_reason and not self.is_done:
            return Ending.CUT_OFF
        if self.refusal_parts and not self.answer_parts:
            return Ending.REFUSED
        return Ending.COMPLETE

    def _apply_tool_call(self, delta: ToolCallDelta) -> None:
        if delta.index not in self.tool_call_parts:
            self.tool_call_parts[delta.index] = ToolCallParts(delta.index)
        self.tool_call_parts[delta.index].apply(delta)
