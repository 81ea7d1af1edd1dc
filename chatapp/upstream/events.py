"""What can happen in a reply's stream: one frozen dataclass each, and `Event`, their union.

Take them apart with `match` and close it with `assert_never`. Texts hold no NUL and no lone
surrogate, so that any of them can be stored and encoded; they are to be escaped where shown.
"""

from dataclasses import dataclass

from chatapp.upstream.errors import ErrorKind, UpstreamError

__all__ = [
    "AnswerDelta",
    "ErrorKind",
    "Event",
    "Failed",
    "Finished",
    "ReasoningDelta",
    "RefusalDelta",
    "ResponseStarted",
    "StreamDone",
    "TimedOut",
    "TokenUsage",
    "UpstreamError",
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


@dataclass(frozen=True, slots=True)
class ResponseStarted:
    """The first chunk that names the response: its `id` and the model that really answers."""

    response_id: str
    model: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    text: str


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The model stopped writing, and why; usage may follow."""

    finish_reason: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The upstream's own count so far: it replaces an earlier one, it does not add to it."""

    usage: TokenUsage


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


Event = (
    ResponseStarted
    | ReasoningDelta
    | AnswerDelta
    | RefusalDelta
    | Finished
    | UsageReported
    | StreamDone
    | Failed
    | TimedOut
)
