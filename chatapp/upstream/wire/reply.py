"""Fold a stream's events, in order, into a `Reply` with its text, usage and ending.

A `Reply` is one choice. If several were requested, give each `Reply` all events of the stream: it
applies those about its own choice and about the whole response.

Knows only what the stream says; stopped, abandoned and interrupted are endings that the caller
decides. Appending takes linear time: regions are lists of parts, joined when read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from chatapp.upstream.wire import finish_reasons
from chatapp.upstream.wire.decoding.tool_calls import ToolCall, ToolCallParts, unique_ids
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import (
    AnswerDelta,
    AnswerWasReasoning,
    ChoiceEvent,
    ChoiceFailed,
    EndEvent,
    Event,
    Failed,
    Finished,
    ImageReceived,
    LogprobsDelta,
    Moderated,
    OpaqueReceived,
    PieceLeftOut,
    ReasoningDelta,
    ReasoningFieldSeen,
    RefusalDelta,
    ResponseEvent,
    ResponseStarted,
    ServiceTierReported,
    SoundReceived,
    SourcesCited,
    SourcesCounted,
    StreamDone,
    TimedOut,
    TokenLogprob,
    TokenUsage,
    ToolCallDelta,
    UsageOptionRefused,
    UsageReported,
)
from chatapp.upstream.wire.images import Image
from chatapp.upstream.wire.sources import MAX_SOURCES, Source

_MAX_KINDS_LEFT_OUT = 20
_OTHER_PIECES = "other"


class Ending(StrEnum):
    """Why a reply ended; `finish_reason` keeps the upstream's own word."""

    COMPLETE = "complete"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSED = "refused"
    NO_ANSWER = "no_answer"  # the upstream ended the reply without an answer
    STOPPED = "stopped"
    ABANDONED = "abandoned"
    FAILED = "failed"
    CUT_OFF = "cut_off"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    OVER_BUDGET = "over_budget"  # it used up what a limit had left

    @property
    def label(self) -> str:
        """The name in lists, for example "Cut off"."""
        return _LABELS.get(self) or self.replace("_", " ").capitalize()


_LABELS = {
    Ending.LENGTH: "Length limit",
    Ending.ABANDONED: "Reader left",
    Ending.OVER_BUDGET: "Limit reached",
}


@dataclass(slots=True)
class Reply:
    """An assistant message, from its first delta to its ending."""

    choice: int = 0
    reasoning_parts: list[str] = field(default_factory=list)
    answer_parts: list[str] = field(default_factory=list)
    refusal_parts: list[str] = field(default_factory=list)
    tool_call_parts: dict[int, ToolCallParts] = field(default_factory=dict)
    logprobs: list[TokenLogprob] = field(default_factory=list)  # of the content, including tags
    refusal_logprobs: list[TokenLogprob] = field(default_factory=list)
    finish_reason: str = ""
    usage: TokenUsage | None = None  # the upstream's own count
    error: UpstreamError | None = None
    response_id: str = ""
    model: str = ""  # as the upstream names it; may differ from the requested model
    service_tier: str = ""
    system_fingerprint: str = ""
    moderation: Moderated | None = None
    is_done: bool = False  # [DONE] arrived
    reasoning_field: str = ""  # the delta's field for reasoning, if it has one
    opaque: Mapping[str, object] = field(default_factory=dict)  # sent back with the tool calls
    images: list[Image] = field(default_factory=list)
    has_sound: bool = False
    sources: dict[str, Source] = field(default_factory=dict)  # by their URL
    source_count: int = 0  # as counted by the upstream
    left_out: dict[str, int] = field(default_factory=dict)  # count by description of the piece

    def apply(self, event: Event) -> None:
        """Apply one event."""
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
            case OpaqueReceived():
                self.opaque = event.fields
            case LogprobsDelta():
                self.logprobs += event.content
                self.refusal_logprobs += event.refusal
            case ImageReceived():
                self.images.append(event.image)
            case SoundReceived():
                self.has_sound = True
            case _:
                self._apply_response_event(event)

    def _apply_response_event(self, event: ResponseEvent | EndEvent) -> None:
        match event:
            case ResponseStarted():
                self.response_id, self.model = event.response_id, event.model
            case ServiceTierReported():
                self.service_tier = event.service_tier
                self.system_fingerprint = event.system_fingerprint
            case ReasoningFieldSeen():
                self.reasoning_field = event.name
            case Moderated():
                earlier = self.moderation or Moderated()
                self.moderation = Moderated(
                    event.input or earlier.input, event.output or earlier.output
                )
            case SourcesCited():
                if event.choice in (None, self.choice):
                    self._apply_sources(event.sources)
            case SourcesCounted():
                self.source_count = event.number
            case PieceLeftOut():
                self._count_left_out(event.what)
            case UsageReported():
                self.usage = event.usage
            case UsageOptionRefused():
                pass  # concerns the upstream, not the reply
            case _:
                self._apply_end(event)

    def _apply_end(self, event: EndEvent) -> None:
        match event:
            case Finished():
                self._apply_finish(event)
            case ChoiceFailed() | Failed():
                self.error = event.error
            case StreamDone():
                self.is_done = True
            case TimedOut() if self.finish_reason:
                pass  # this choice is complete; only other choices or the stream's end are missing
            case TimedOut():
                message = f"nothing came for {event.idle_seconds:g} seconds"
                self.error = UpstreamError(ErrorKind.TIMED_OUT, message)
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
        """The calls in order of index; arguments are parsed once the model has finished."""
        parts = sorted(self.tool_call_parts.values(), key=lambda part: part.index)
        return unique_ids([part.build_call(bool(self.finish_reason)) for part in parts])

    @property
    def wants_tools(self) -> bool:
        """Whether the model waits for the results of its tool calls.

        If so the reply continues in another request, and `ending` is only that of this round. Some
        upstreams finish with `stop` instead of `tool_calls`.
        """
        is_whole = self.finish_reason and self.ending is Ending.COMPLETE
        return bool(is_whole and self.tool_call_parts)

    @property
    def ending(self) -> Ending:
        """The ending according to the stream; meaningful once the stream is closed."""
        if self.error:
            timed_out = self.error.kind is ErrorKind.TIMED_OUT
            return Ending.TIMED_OUT if timed_out else Ending.FAILED
        if not self.finish_reason:
            nothing = self.is_done and not self.has_arrived
            return Ending.NO_ANSWER if nothing else Ending.CUT_OFF
        word = finish_reasons.normalise(self.finish_reason)
        if word in finish_reasons.LENGTH:
            return Ending.LENGTH
        if word in finish_reasons.FILTERED:
            return Ending.CONTENT_FILTER
        if self.has_answer:
            return Ending.COMPLETE
        if self.refusal_parts or word in finish_reasons.REFUSED:
            return Ending.REFUSED
        return Ending.COMPLETE if self.tool_call_parts else Ending.NO_ANSWER

    @property
    def has_answer(self) -> bool:
        """Whether there is any text (other than white space), image or audio."""
        is_text = any(not part.isspace() for part in self.answer_parts)
        return is_text or bool(self.images) or self.has_sound

    @property
    def has_arrived(self) -> bool:
        """Whether any part of the reply has arrived."""
        return bool(
            self.answer_parts
            or self.reasoning_parts
            or self.refusal_parts
            or self.tool_call_parts
            or self.images
            or self.has_sound
        )

    def _apply_tool_call(self, delta: ToolCallDelta) -> None:
        if delta.index not in self.tool_call_parts:
            self.tool_call_parts[delta.index] = ToolCallParts(delta.index)
        self.tool_call_parts[delta.index].apply(delta)

    def _apply_finish(self, event: Finished) -> None:
        """Apply a finish; an unknown `finish_reason` makes the reply a failure."""
        self.finish_reason = event.finish_reason
        word = finish_reasons.normalise(event.finish_reason)
        if word and word not in finish_reasons.KNOWN and self.error is None:
            self.error = UpstreamError(
                ErrorKind.FINISH_REASON, event.native, code=event.finish_reason
            )
        elif self.error and self.error.kind is ErrorKind.FINISH_REASON:
            self.error = None  # the reply continued since, or now has a known finish_reason

    def _count_left_out(self, what: str) -> None:
        is_known = what in self.left_out or len(self.left_out) < _MAX_KINDS_LEFT_OUT
        what = what if is_known else _OTHER_PIECES
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def _apply_sources(self, sources: Iterable[Source]) -> None:
        for source in sources:
            known_source = self.sources.get(source.url)
            if known_source or len(self.sources) < MAX_SOURCES:
                self.sources[source.url] = (
                    source if source.title or not known_source else known_source
                )
