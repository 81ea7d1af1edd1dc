"""Folding events into a reply, and its ending according to the stream."""

import pytest

from chatapp.upstream.wire.decoding.tool_calls import ToolCall
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import (
    AnswerDelta,
    AnswerWasReasoning,
    ChoiceFailed,
    Event,
    Failed,
    Finished,
    ImageReceived,
    LogprobsDelta,
    Moderated,
    PieceLeftOut,
    ReasoningDelta,
    ReasoningFieldSeen,
    RefusalDelta,
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
from chatapp.upstream.wire.moderation import ModerationFailure
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.sources import Source
from tests.upstream import fold_events

ERROR = UpstreamError(ErrorKind.STREAM_ERROR)


def fold_reply(*events: Event) -> Reply:
    return fold_events(events)


def test_every_event_is_applied_to_the_reply() -> None:
    error = UpstreamError(ErrorKind.STREAM_ERROR, "stream interrupted")
    token = TokenLogprob("Hel", -0.5)
    reply = fold_reply(
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
        ServiceTierReported("flex", "fp_1"),
        LogprobsDelta((token,), (token, token)),
        Moderated(input=ModerationFailure("c", "m")),
        Moderated(output=ModerationFailure("d", "n")),
        UsageOptionRefused(),
    )
    assert (reply.service_tier, reply.system_fingerprint) == ("flex", "fp_1")
    assert (reply.logprobs, reply.refusal_logprobs) == ([token], [token, token])
    assert reply.moderation == Moderated(ModerationFailure("c", "m"), ModerationFailure("d", "n"))
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
        ([AnswerDelta("x"), StreamDone()], Ending.CUT_OFF),
        ([ReasoningDelta("x"), StreamDone()], Ending.CUT_OFF),
        ([StreamDone()], Ending.NO_ANSWER),
        ([Finished("stop"), StreamDone()], Ending.NO_ANSWER),
        ([ReasoningDelta("x"), Finished("stop")], Ending.NO_ANSWER),
        ([AnswerDelta(" "), AnswerDelta("\n"), Finished("stop")], Ending.NO_ANSWER),
        ([SoundReceived(), Finished("stop")], Ending.COMPLETE),
        ([ImageReceived(Image("image/png", b"")), Finished("stop")], Ending.COMPLETE),
        ([ToolCallDelta(0, "a", "f"), Finished("tool_calls")], Ending.COMPLETE),
        ([AnswerDelta("x"), Finished("stop")], Ending.COMPLETE),
        ([Finished("tool_calls"), StreamDone()], Ending.NO_ANSWER),
        ([Finished("length"), StreamDone()], Ending.LENGTH),
        ([Finished("content_filter"), StreamDone()], Ending.CONTENT_FILTER),
        ([RefusalDelta("x"), Finished("stop"), StreamDone()], Ending.REFUSED),
        ([RefusalDelta("x"), StreamDone()], Ending.CUT_OFF),
        ([AnswerDelta("x"), RefusalDelta("x"), Finished("stop")], Ending.COMPLETE),
        ([AnswerDelta("x"), Failed(UpstreamError(ErrorKind.MALFORMED))], Ending.FAILED),
        ([AnswerDelta("x"), TimedOut(120)], Ending.TIMED_OUT),
        ([Failed(UpstreamError(ErrorKind.TIMED_OUT))], Ending.TIMED_OUT),
        ([AnswerDelta("x"), Finished("stop"), TimedOut(120)], Ending.COMPLETE),
        ([AnswerDelta("x"), Finished("stop"), Finished("")], Ending.CUT_OFF),
        ([AnswerDelta("x"), Finished("odd"), Finished("")], Ending.CUT_OFF),
        ([AnswerDelta("x"), Finished("odd")], Ending.FAILED),
        ([AnswerDelta("x"), ChoiceFailed(ERROR), Finished("stop")], Ending.FAILED),
        ([AnswerDelta("x"), ChoiceFailed(ERROR, choice=1), Finished("stop")], Ending.COMPLETE),
        ([Finished("stop", choice=1), TimedOut(120)], Ending.TIMED_OUT),
    ],
)
def test_the_ending_follows_from_the_stream(events: list[Event], ending: Ending) -> None:
    assert fold_events(events).ending is ending


def test_a_timeout_is_an_error_with_its_seconds() -> None:
    error = fold_reply(TimedOut(120.0)).error
    assert error == UpstreamError(ErrorKind.TIMED_OUT, "nothing came for 120 seconds")


def test_a_reply_ignores_events_of_other_choices() -> None:
    events: list[Event] = [AnswerDelta("a"), AnswerDelta("b", choice=1)]
    events.append(Finished("stop", choice=1))
    assert (fold_events(events).answer, fold_events(events).ending) == ("a", Ending.CUT_OFF)
    assert (fold_events(events, 1).answer, fold_events(events, 1).ending) == ("b", Ending.COMPLETE)


def test_images_sources_and_left_out_pieces_are_kept() -> None:
    image = Image("image/png", b"x")
    reply = fold_reply(
        ReasoningFieldSeen("reasoning"),
        ImageReceived(image),
        ImageReceived(image, choice=1),
        SoundReceived(),
        SourcesCited((Source("https://a.example"), Source("https://b.example", "B"))),
        SourcesCited((Source("https://a.example", "A"), Source("https://b.example")), choice=0),
        SourcesCited((Source("https://c.example"),), choice=1),
        SourcesCounted(7),
        *[PieceLeftOut(f"kind {number}") for number in range(30)],
        PieceLeftOut("kind 0"),
    )
    assert reply.reasoning_field == "reasoning"
    assert (reply.images, reply.has_sound, reply.source_count) == ([image], True, 7)
    assert [(source.url[8], source.title) for source in reply.sources.values()] == [
        ("a", "A"),
        ("b", "B"),
    ]
    assert (reply.left_out["kind 0"], reply.left_out["other"], len(reply.left_out)) == (2, 10, 21)


def test_an_answer_that_was_reasoning_becomes_reasoning() -> None:
    reply = fold_reply(
        AnswerDelta("Hm, "), AnswerDelta("hm."), AnswerWasReasoning(), AnswerDelta("Hi")
    )
    assert (reply.reasoning, reply.answer) == ("Hm, hm.", "Hi")


CALL = [
    ToolCallDelta(1, "call_b", "now"),
    ToolCallDelta(0, "call_a", "get_weather"),
    ToolCallDelta(0, arguments='{"city":'),
    ToolCallDelta(0, name="get_weather", arguments='"Tokyo"}'),
]


def test_arguments_are_parsed_only_after_the_finish() -> None:
    arguments = '{"city":"Tokyo"}'
    assert fold_reply(*CALL).tool_calls[0] == ToolCall(0, "call_a", "get_weather", arguments)
    weather, now = fold_reply(*CALL, Finished("tool_calls")).tool_calls
    assert (weather.parsed, weather.problem) == ({"city": "Tokyo"}, "")
    assert (now.id, now.name, now.arguments, now.parsed) == ("call_b", "now", "", {})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"city":', "truncated"),
        ("[1]", "Expected `object`"),
        ('{"a":' * 5000, "recursion"),
        ('{"a": "\\ud800"}', "truncated"),
        ("{'a': 1}", "malformed"),
    ],
)
def test_arguments_that_do_not_parse_are_kept_with_the_reason(arguments: str, problem: str) -> None:
    (call,) = fold_reply(ToolCallDelta(0, arguments=arguments), Finished("tool_calls")).tool_calls
    assert (call.id, call.arguments, call.parsed) == ("call_0", arguments, None)
    assert problem in call.problem


@pytest.mark.parametrize(
    ("events", "wants_tools"),
    [
        ([*CALL, Finished("tool_calls")], True),
        ([*CALL, Finished("function_call"), StreamDone()], True),
        ([*CALL, Finished("stop")], True),
        ([*CALL], False),
        ([*CALL, StreamDone()], False),
        ([*CALL, Finished("length")], False),
        ([*CALL, Finished("tool_calls"), Failed(UpstreamError(ErrorKind.STREAM_ERROR))], False),
        ([Finished("tool_calls")], False),
    ],
)
def test_tools_are_wanted_after_complete_calls(events: list[Event], wants_tools: bool) -> None:
    assert fold_reply(*events).wants_tools is wants_tools
