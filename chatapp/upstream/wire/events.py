"""What can happen in a reply's stream: one frozen dataclass each, and `Event`, their union.

Take them apart with `match` and close it with `assert_never`. Texts hold no NUL and no lone
surrogate, so that any of them can be stored and encoded; they are to be escaped where shown.

What is said of one of several choices (`n > 1`) is a `ChoiceEvent` and carries the choice's index.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from chatapp.upstream.wire.errors import ErrorKind, UpstreamError
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
    "ImageCame",
    "LogprobsDelta",
    "Moderated",
    "OpaqueCame",
    "PieceLeftOut",
    "ReasoningDelta",
    "ReasoningFieldSeen",
    "RefusalDelta",
    "ResponseEvent",
    "ResponseStarted",
    "ServiceNamed",
    "SoundCame",
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
    """Tokens counted for one reply; a detail is None where the upstream did not give it.

    Details are parts of the two main counts, not additions to them.
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
    cost: int | None = None  # in nano-dollars, as the gateway reports it


class TokenLogprob(msgspec.Struct, frozen=True, gc=False):
    """One token as the model chose it; `top` are the likeliest ones at its place.

    `utf8` are the token's own bytes, None where not given: it may be a part of a character. A long
    answer has hundreds of thousands, through which the garbage collector need not look.
    """

    token: str
    logprob: float  # -9999.0 for very unlikely
    utf8: bytes | None = None
    top: tuple["TokenLogprob", ...] = ()


@dataclass(frozen=True, slots=True)
class ChoiceEvent:
    """Something is said of one choice."""

    choice: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class ResponseStarted:
    """The first chunk that names the response: its `id` and the model that really answers."""

    response_id: str
    model: str


@dataclass(frozen=True, slots=True)
class ServiceNamed:
    """How the response is served, as far as is known by now; empty where it is not."""

    service_tier: str
    system_fingerprint: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta(ChoiceEvent):
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningFieldSeen(ChoiceEvent):
    """The field of the delta in which the reasoning comes: where it must go back, it goes in it."""

    name: str


@dataclass(frozen=True, slots=True)
class AnswerDelta(ChoiceEvent):
    text: str


@dataclass(frozen=True, slots=True)
class AnswerWasReasoning(ChoiceEvent):
    """A closing think tag came without an opening one: the whole answer so far was reasoning.

    Shown live, the answer's text so far moves into the reasoning; the answer begins anew.
    """


@dataclass(frozen=True, slots=True)
class RefusalDelta(ChoiceEvent):
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta(ChoiceEvent):
    """A fragment of the tool call at `index`: `arguments` append; `id` and `name`, where not
    empty, replace what was known, and so does each of `extras`, which go back with the call.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    extras: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class OpaqueCame(ChoiceEvent):
    """What goes back with the calls of the reply, beside its text; it replaces what was known."""

    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LogprobsDelta(ChoiceEvent):
    """How likely the tokens were that came last, in the content (tags and all) and the refusal."""

    content: tuple[TokenLogprob, ...] = ()
    refusal: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageCame(ChoiceEvent):
    image: Image


@dataclass(frozen=True, slots=True)
class SoundCame(ChoiceEvent):
    """The answer is spoken as well; the sound itself is not kept."""


@dataclass(frozen=True, slots=True)
class SourcesCited:
    """Sources of one choice, or of all where `choice` is None: new ones, or with a title now."""

    sources: tuple[Source, ...]
    choice: int | None = None


@dataclass(frozen=True, slots=True)
class SourcesCounted:
    """How many sources were used, named or not."""

    number: int


@dataclass(frozen=True, slots=True)
class Finished(ChoiceEvent):
    """The model stopped writing, and why; usage may follow.

    An empty `finish_reason` takes the one before back: more was said after it. `native` is how the
    provider behind a gateway called it.
    """

    finish_reason: str
    native: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceFailed(ChoiceEvent):
    """One choice failed; others may go on."""

    error: UpstreamError


@dataclass(frozen=True, slots=True)
class PieceLeftOut:
    """A piece of the stream that could not be read: its field, or `what` it was in a few words."""

    what: str


@dataclass(frozen=True, slots=True)
class Moderated:
    """The upstream's moderation of what was asked and answered; None where it did not say."""

    input: ModerationResults | ModerationFailure | None = None
    output: ModerationResults | ModerationFailure | None = None

    @property
    def is_flagged(self) -> bool:
        sides = (self.input, self.output)
        return any(isinstance(one, ModerationResults) and one.is_flagged for one in sides)


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The upstream's own count so far: it replaces an earlier one, it does not add to it."""

    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class UsageOptionRefused:
    """The upstream knows no `stream_options`: it was asked again without, which is to be
    remembered for it (`Endpoint.takes_usage_option`).
    """


@dataclass(frozen=True, slots=True)
class StreamDone:
    """The literal `[DONE]`; nothing after it counts."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The upstream failed, before or after its first delta; nothing after it counts."""

    error: UpstreamError


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Not one byte came for this many seconds; nothing after it counts."""

    idle_seconds: float


# What is added to a reply, what is said of it or of the whole response, and how it ends.
ContentEvent = (
    AnswerDelta
    | ReasoningDelta
    | RefusalDelta
    | AnswerWasReasoning
    | ToolCallDelta
    | OpaqueCame
    | LogprobsDelta
    | ImageCame
    | SoundCame
)
ResponseEvent = (
    ResponseStarted
    | ServiceNamed
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
