"""The fold of events into a reply, and what the stream says of its end."""

import pytest

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
from chatapp.upstream.reply import Ending, Reply


def reply_of(*events: Event) -> Reply:
    reply = Reply()
    for event in events:
        reply.apply(event)
    return reply


def test_every_event_has_its_place() -> None:
    error = UpstreamError(ErrorKind.STREAM_ERROR, "stream interrupted")
    reply = reply_of(
        ResponseStarted("chatcmpl-1", "m"),
        ReasoningDelta("Hm, "),
        ReasoningDelta("hm."),
        AnswerDelta("Hel"),
        AnswerDelta("lo"),
        RefusalDelta("No."),
        UsageReported(TokenUsage(1, 1, 2)),
        UsageReported(TokenUsage(1, 2, 3)),
        Finished("stop"),
        Failed(error),
        StreamDone(),
    )
    assert (reply.response_id, reply.model) == ("chatcmpl-1", "m")
    assert (reply.reasoning, reply.answer, reply.refusal) == ("Hm, hm.", "Hello", "No.")
    assert reply.usage == TokenUsage(1, 2, 3)
    assert (reply.finish_reason, reply.error, reply.is_done) == ("stop", error, True)


@pytest.mark.parametrize(
    ("events", "ending"),
    [
        ([], Ending.CUT_OFF),
        ([AnswerDelta("x")], Ending.CUT_OFF),
        ([RefusalDelta("x")], Ending.CUT_OFF),
        ([AnswerDelta("x"), StreamDone()], Ending.COMPLETE),
        ([AnswerDelta("x"), Finished("stop")], Ending.COMPLETE),
        ([Finished("tool_calls"), StreamDone()], Ending.COMPLETE),
        ([Finished("length"), StreamDone()], Ending.LENGTH),
        ([Finished("content_filter"), StreamDone()], Ending.CONTENT_FILTER),
        ([RefusalDelta("x"), Finished("stop"), StreamDone()], Ending.REFUSED),
        ([RefusalDelta("x"), StreamDone()], Ending.REFUSED),
        ([AnswerDelta("x"), RefusalDelta("x"), Finished("stop")], Ending.COMPLETE),
        ([AnswerDelta("x"), Failed(UpstreamError(ErrorKind.MALFORMED))], Ending.FAILED),
        ([AnswerDelta("x"), TimedOut(120)], Ending.TIMED_OUT),
        ([Failed(UpstreamError(ErrorKind.TIMED_OUT))], Ending.TIMED_OUT),
    ],
)
def test_the_ending_is_what_the_stream_says(events: list[Event], ending: Ending) -> None:
    assert reply_of(*events).ending is ending


def test_a_timeout_is_an_error_with_its_seconds() -> None:
    error = reply_of(TimedOut(120.0)).error
    assert error == UpstreamError(ErrorKind.TIMED_OUT, "nothing came for 120 seconds")


def test_usage_is_estimated_at_four_bytes_a_token_rounded_up() -> None:
    reply = reply_of(ReasoningDelta("12345"), AnswerDelta("Größe"), AnswerDelta("12"))
    messages = [{"role": "system", "content": "1234"}, {"role": "user", "content": "12345"}]
    estimated = TokenUsage(3, 5, 8, reasoning_tokens=2)
    assert reply.estimated_usage(messages) == estimated
    assert Reply().estimated_usage([{"role": "user", "content": None}]).total_tokens == 0
