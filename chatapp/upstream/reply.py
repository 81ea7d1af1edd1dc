"""The fold: one reply's events, in order, become a `Reply` with its text, usage and ending.

Knows what the stream itself says; that it was stopped, abandoned or interrupted is known only to
whoever ran it. Appending is linear: regions are lists of parts, joined when they are read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from chatapp.upstream.dialects import ChatMessage
from chatapp.upstream.errors import ErrorKind, UpstreamError
from chatapp.upstream.events import (
    AnswerDelta,
    Event,
    Failed,
    Finished,
    ReasoningDelta,
    RefusalDelta,
    ResponseStarted,
    StreamDone,
    TimedOut,
    TokenUsage,
    UsageReported,
)

_BYTES_PER_TOKEN = 4


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

    reasoning_parts: list[str] = field(default_factory=list)
    answer_parts: list[str] = field(default_factory=list)
    refusal_parts: list[str] = field(default_factory=list)
    finish_reason: str = ""
    usage: TokenUsage | None = None  # the upstream's own count
    error: UpstreamError | None = None
    response_id: str = ""
    model: str = ""  # as the upstream names it, which may not be what was asked for
    is_done: bool = False  # [DONE] came

    def apply(self, event: Event) -> None:
        """Fold one event in."""
        match event:
            case AnswerDelta():
                self.answer_parts.append(event.text)
            case ReasoningDelta():
                self.reasoning_parts.append(event.text)
            case RefusalDelta():
                self.refusal_parts.append(event.text)
            case ResponseStarted():
                self.response_id, self.model = event.response_id, event.model
            case Finished():
                self.finish_reason = event.finish_reason
            case UsageReported():
                self.usage = event.usage
            case StreamDone():
                self.is_done = True
            case Failed():
                self.error = event.error
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

    def estimated_usage(self, messages: Iterable[ChatMessage]) -> TokenUsage:
        """Estimate the usage of a stream that ended before it was reported.

        One token for every 4 bytes of UTF-8, rounded up, of the text of `messages` (the prompt)
        and of all that has arrived. The details but `reasoning_tokens` stay unknown.
        """
        prompt = _estimated_tokens(str(message.get("content") or "") for message in messages)
        reasoning = _estimated_tokens(self.reasoning_parts)
        completion = reasoning + _estimated_tokens(self.answer_parts + self.refusal_parts)
        return TokenUsage(prompt, completion, prompt + completion, reasoning_tokens=reasoning)


def _estimated_tokens(texts: Iterable[str]) -> int:
    return -(-sum(len(text.encode("utf-8", "replace")) for text in texts) // _BYTES_PER_TOKEN)
