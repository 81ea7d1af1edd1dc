"""The events of a reply's stream: frozen dataclasses, and `Event`, their union.

Take them apart with `match` and close it with `assert_never`. Texts contain no NUL and no lone
surrogates, so they can be stored and encoded; escape them when showing them.

Events about one of several choices (`n > 1`) are `ChoiceEvent`s and carry the choice's index.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.images import Image
from chatapp.upstream.wire.moderation import ModerationFailure, ModerationResults
from chatapp.upstream.wire.sources import Source

__all__ = [
    "AnswerDelta",
    "AnswerWasReasoning",
    "ChoiceEvent",
    "ChoiceFailed",
    "ContentEvent",
    "EndEvent",
    "ErrorKind",
    "Event",
    "Failed",
    "Finished",
    "ImageReceived",
    "LogprobsDelta",
    "Moderated",
    "OpaqueReceived",
    "PieceLeftOut",
    "ReasoningDelta",
    "ReasoningFieldSeen",
    "RefusalDelta",
    "ResponseEvent",
    "ResponseStarted",
    "ServiceTierReported",
    "SoundReceived",
    "SourcesCited",
    "SourcesCounted",
    "StreamDone",
    "TimedOut",
    "TokenLogprob",
    "TokenUsage",
    "ToolCallDelta",
    "UpstreamError",
    "UsageOptionRefused",
    "UsageReported",
]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens counted for one reply; a detail is None if the upstream did not give it.

    The details are included in the two main counts, not added to them.
    """

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    prompt_audio_tokens: int | None = None
    completion_audio_tokens: int | None = None
    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None
    extra_fees: int | None = None  # searches and tools that the gateway charges besides tokens
    cost: int | None = None  # in nano-dollars, as the gateway reports it


class TokenLogprob(msgspec.Struct, frozen=True, gc=False):
    """One token the model chose; `top` holds the likeliest tokens at that position.

    `utf8` is the token's bytes, or None if not given; they may be part of a character. `gc=False`
    because a long answer has hundreds of thousands of tokens.
    """

    token: str
    logprob: float  # -9999.0 for very unlikely
    utf8: bytes | None = None
    top: tuple["TokenLogprob", ...] = ()


@dataclass(frozen=True, slots=True)
class ChoiceEvent:
    """Base class of events about one choice."""

    choice: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class ResponseStarted:
    """The response's `id` and the model that actually answers, from the first chunk with either."""

    response_id: str
    model: str


@dataclass(frozen=True, slots=True)
class ServiceTierReported:
    """The way the response is served, as known so far; unknown fields are empty."""

    service_tier: str
    system_fingerprint: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta(ChoiceEvent):
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningFieldSeen(ChoiceEvent):
    """The delta field that carries the reasoning; send reasoning back under the same name."""

    name: str


@dataclass(frozen=True, slots=True)
class AnswerDelta(ChoiceEvent):
    text: str


@dataclass(frozen=True, slots=True)
class AnswerWasReasoning(ChoiceEvent):
    """A closing think tag came without an opening one: the whole answer so far was reasoning.

    A viewer moves the answer's text so far into the reasoning and starts an empty answer.
    """


@dataclass(frozen=True, slots=True)
class RefusalDelta(ChoiceEvent):
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta(ChoiceEvent):
    """A fragment of the tool call at `index`.

    `arguments` are appended; a non-empty `id` or `name` and each of the `extras` replace the
    earlier value. `extras` are sent back with the call.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    extras: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class OpaqueReceived(ChoiceEvent):
    """Opaque fields to send back with the reply's tool calls; they replace earlier ones."""

    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LogprobsDelta(ChoiceEvent):
    """Log probabilities of the latest tokens of the content (including tags) and the refusal."""

    content: tuple[TokenLogprob, ...] = ()
    refusal: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageReceived(ChoiceEvent):
    image: Image


@dataclass(frozen=True, slots=True)
class SoundReceived(ChoiceEvent):
    """The answer has audio, too; the audio itself is not kept."""


@dataclass(frozen=True, slots=True)
class SourcesCited:
    """New sources, or known ones that now have a title; of all choices if `choice` is None."""

    sources: tuple[Source, ...]
    choice: int | None = None


@dataclass(frozen=True, slots=True)
class SourcesCounted:
    """The number of sources that the upstream used, including unnamed ones."""

    number: int


@dataclass(frozen=True, slots=True)
class Finished(ChoiceEvent):
    """The model finished, and why; usage may follow.

    An empty `finish_reason` revokes the one before, because more text came after it. `native` is
    the reason as named by the provider behind a gateway.
    """

    finish_reason: str
    native: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceFailed(ChoiceEvent):
    """One choice failed; others may continue."""

    error: UpstreamError


@dataclass(frozen=True, slots=True)
class PieceLeftOut:
    """A piece of the stream that could not be read; `what` is its field or a short description."""

    what: str


@dataclass(frozen=True, slots=True)
class Moderated:
    """The upstream's moderation of prompt and reply; None for a side it did not report."""

    input: ModerationResults | ModerationFailure | None = None
    output: ModerationResults | ModerationFailure | None = None

    @property
    def is_flagged(self) -> bool:
        sides = (self.input, self.output)
        return any(isinstance(side, ModerationResults) and side.is_flagged for side in sides)


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The upstream's own count so far; it replaces an earlier one instead of adding to it."""

    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class UsageOptionRefused:
    """The upstream rejects `stream_options`, so the request was sent again without it.

    Store that on the upstream (`Endpoint.takes_usage_option`).
    """


@dataclass(frozen=True, slots=True)
class StreamDone:
    """The literal `[DONE]`; anything after it is ignored, except usage."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The upstream failed, before or after the first delta; anything after it is ignored."""

    error: UpstreamError


@dataclass(frozen=True, slots=True)
class TimedOut:
    """No byte came for this many seconds; anything after it is ignored."""

    idle_seconds: float


# Content of a reply, facts about it or about the whole response, and its end.
ContentEvent = (
    AnswerDelta
    | ReasoningDelta
    | RefusalDelta
    | AnswerWasReasoning
    | ToolCallDelta
    | OpaqueReceived
    | LogprobsDelta
    | ImageReceived
    | SoundReceived
)
ResponseEvent = (
    ResponseStarted
    | ServiceTierReported
    | ReasoningFieldSeen
    | Moderated
    | SourcesCited
    | SourcesCounted
    | PieceLeftOut
    | UsageReported
    | UsageOptionRefused
)
EndEvent = Finished | ChoiceFailed | StreamDone | Failed | TimedOut

Event = ContentEvent | ResponseEvent | EndEvent
