"""The whole decoder: arbitrary frames in, events out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.wire.decoding import decoder as decoder_module
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Event,
    Failed,
    Finished,
    ReasoningDelta,
    ReasoningFieldSeen,
    RefusalDelta,
    ResponseStarted,
    ServiceTierReported,
    StreamDone,
    TokenUsage,
    UsageReported,
)
from chatapp.upstream.wire.reply import Ending
from tests.support.fake_upstream import (
    chunk,
    delta,
    done,
    error,
    finish,
    frame,
    reasoning,
    refusal,
    usage,
)
from tests.upstream import decode_events, decode_reply, fold_events


def test_the_events_of_a_reply_come_in_order() -> None:
    assert decode_events(reasoning("Hm."), delta("Hi"), finish(), usage(1, 2), done()) == [
        ResponseStarted("chatcmpl-1", "google/gemini-3-flash"),
        ReasoningFieldSeen("reasoning_content"),
        ReasoningDelta("Hm."),
        AnswerDelta("Hi"),
        Finished("stop"),
        UsageReported(TokenUsage(1, 2, 3)),
        StreamDone(),
    ]


@pytest.mark.parametrize(
    ("content", "events"),
    [
        ({"choices": [{"delta": {"content": "x"}}]}, [AnswerDelta("x")]),
        ({"choices": [{"index": None, "delta": {"content": "x"}}]}, [AnswerDelta("x")]),
        ({"choices": [{"index": 1, "delta": {"content": "x"}}]}, [AnswerDelta("x")]),
        (
            {"choices": [{}, {"index": 1, "delta": {"content": "x"}}]},
            [AnswerDelta("x", choice=1)],
        ),
        ({"choices": [{"message": {"content": "x"}}]}, [AnswerDelta("x")]),
        (
            {"choices": [{"delta": {"content": "x"}, "message": {"content": "x"}}]},
            [AnswerDelta("x")],
        ),
        (
            {"choices": [{"delta": {"reasoning_details": [{"text": "x"}, 5, {"text": 5}]}}]},
            [ReasoningDelta("x")],
        ),
        ({"choices": [{"delta": {"reasoning_details": "x"}}]}, []),
        ({"service_tier": "flex", "system_fingerprint": 5}, [ServiceTierReported("flex", "")]),
        ({"moderation": {"input": None}}, []),
        ({"moderation": "flagged"}, []),
        (
            {"choices": [{"delta": {"reasoning": "x"}}]},
            [ReasoningFieldSeen("reasoning"), ReasoningDelta("x")],
        ),
        (
            {"choices": [{"delta": {"reasoning": "x", "reasoning_content": "x"}}]},
            [ReasoningFieldSeen("reasoning_content"), ReasoningDelta("x")],
        ),
        (
            {"choices": [{"delta": {"reasoning_content": "a", "content": "b", "refusal": "c"}}]},
            [
                ReasoningFieldSeen("reasoning_content"),
                *(ReasoningDelta("a"), AnswerDelta("b"), RefusalDelta("c")),
            ],
        ),
        (
            {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]},
            [AnswerDelta("x"), Finished("stop")],
        ),
        (
            {
                "choices": [{"delta": {}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 2},
            },
            [Finished("stop"), UsageReported(TokenUsage(1, 2, 3))],
        ),
        (
            {
                "choices": [{"index": 0, "delta": {}}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 2},
            },
            [UsageReported(TokenUsage(1, 2, 3))],
        ),
        (
            {"usage": {"prompt_tokens": 1, "completion_tokens": 2}},
            [UsageReported(TokenUsage(1, 2, 3))],
        ),
        ({"usage": {}}, []),
        ({"choices": [{"delta": {"content": "a\0b"}}]}, [AnswerDelta("a\ufffdb")]),
        ({"error": None}, []),
        ({"id": "", "model": "", "choices": []}, []),
        ({"choices": [{"index": 0, "delta": {}}] * 10_000}, []),
    ],
)
def test_a_chunk_of_any_shape_gives_its_events(content: object, events: list[Event]) -> None:
    assert decode_events(frame(content)) == events


def test_the_last_of_several_cumulative_usages_counts() -> None:
    counts = [{"prompt_tokens": 5, "completion_tokens": n} for n in (1, 2, 3)]
    stream = b"".join(chunk([{"index": 0, "delta": {"content": "x"}}], usage=c) for c in counts)
    assert decode_reply(stream).usage == TokenUsage(5, 3, 8)


@pytest.mark.parametrize("last", [done(), error()])
def test_everything_after_the_end_is_ignored(last: bytes) -> None:
    assert (
        decode_events(last, delta("late"))
        == decode_events(last)
        == decode_events(last + delta("late"))
    )


def test_a_broken_event_is_left_out_and_the_reply_fails() -> None:
    broken = b'data: {"choices": [{"delta": {"content": "lo\n\n'
    events = decode_events(
        delta("a") + broken + delta("b"), broken + finish() + usage(1, 2) + done()
    )
    reply = fold_events(events)
    assert (reply.answer, reply.finish_reason, reply.ending) == ("ab", "stop", Ending.FAILED)
    assert reply.error
    assert reply.error.kind is ErrorKind.MALFORMED
    assert "Unterminated" in reply.error.message
    assert reply.left_out == {"an event with broken JSON": 2}
    assert reply.usage
    hundred = decode_events(delta("a") + broken * 100 + delta("b"))
    assert isinstance(hundred[-1], Failed)
    assert AnswerDelta("b") not in hundred


@pytest.mark.parametrize(
    ("stream", "left_out"),
    [
        (b'data: {"choices": 5}\n\n', {"choices": 1}),
        (b'data: {"choices": [{"index": {}, "delta": {"content": true}}]}\n\n', {"content": 1}),
        (b'data: {"choices": [{"delta": 5}]}\n\n' * 2, {"delta": 2}),
        (b'data: {"choices": [{"delta": {"tool_calls": ["x"]}}]}\n\n', {"tool_calls": 1}),
        (b"data: ping\n\n", {"an event that is not JSON": 1}),
        (b"data: 5\n\n", {"event": 1}),
        # empty values don't count as left out
        (b"data: null\n\ndata: []\n\ndata: {}\n\n", {}),
        (b'data: {"choices": [{"delta": []}], "usage": []}\n\n', {}),
        (b'data: {"choices": [null, {"delta": {"content": null, "tool_calls": false}}]}\n\n', {}),
        (b'event: heartbeat\ndata: 12:30\n\nevent: progress\ndata: {"done": 5}\n\n', {}),
    ],
)
def test_unreadable_pieces_are_left_out_and_counted(
    stream: bytes, left_out: dict[str, int]
) -> None:
    reply = decode_reply(delta("a") + stream + delta("b") + finish() + done())
    assert (reply.answer, reply.ending, reply.left_out) == ("ab", Ending.COMPLETE, left_out)


@pytest.mark.parametrize(
    "odd",
    [
        {"index": "0", "delta": {"content": "12"}},
        {"index": 7, "delta": {"content": "12"}},
        {"index": 10**9, "delta": {"content": "12"}},
        {"delta": {"content": 12}},
        {"delta": {"content": ["1", {"type": "text", "text": "2"}]}},
        {"delta": {"content": {"type": "text", "text": "12"}}},
        {"delta": {"audio": {"id": "a", "transcript": "12"}}},
        {"message": {"content": "12"}},
    ],
)
@pytest.mark.parametrize("of_chunk", [{}, {"id": 5, "model": None}, {"usage": []}])
def test_a_field_of_the_wrong_type_is_converted(
    odd: dict[str, object], of_chunk: dict[str, object]
) -> None:
    stream = frame({**of_chunk, "choices": [odd]}), frame({**of_chunk, "choices": {"0": odd}})
    for field_chunk in stream:
        reply = decode_reply(field_chunk, finish(), done())
        assert (reply.answer, reply.ending, reply.left_out) == ("12", Ending.COMPLETE, {})


def test_zeros_after_a_usage_are_ignored() -> None:
    zeros = chunk([], usage={"prompt_tokens": 0, "completion_tokens": 0})
    assert decode_reply(usage(1, 2), zeros).usage == TokenUsage(1, 2, 3)
    assert decode_reply(zeros).usage == TokenUsage(0, 0, 0)


def test_an_endless_line_fails_the_reply_and_keeps_the_text_before_it() -> None:
    reply = decode_reply(delta("kept") + b"data:" + b"x" * 2_000_000)
    assert reply.answer == "kept"
    assert reply.error
    assert reply.error.kind is ErrorKind.TOO_LARGE


@pytest.mark.parametrize("cut", [1, 2, 3, 40, 100])
def test_half_a_chunk_at_the_end_means_cut_off_and_not_failed(cut: int) -> None:
    reply = decode_reply(delta("one ") + delta("two")[:-cut])
    assert reply.answer == ("one " if cut > 2 else "one two")
    assert reply.ending is Ending.CUT_OFF


def test_the_last_event_needs_no_blank_line() -> None:
    assert decode_events(delta("x") + b"data: [DONE]")[-1] == StreamDone()
    assert decode_events(finish()[:-2])[-1] == Finished("stop")
    assert isinstance(decode_events(error()[:-1])[-1], Failed)


def test_comments_blank_data_and_unknown_events_are_ignored() -> None:
    pings = b": ping\n\ndata:\n\ndata:  \n\nevent: ping\ndata: {}\n\n"
    assert decode_events(pings + refusal("No.") + pings)[1:] == [RefusalDelta("No.")]


def test_the_key_is_removed_from_error_frames() -> None:
    events = decode_events(error("bad key sk-a-secret-key"), secret="sk-a-secret-key")
    assert "sk-a" not in str(events)
    assert "sk-a" not in repr(EventDecoder("sk-a-secret-key"))


def test_long_names_are_cut_to_what_can_be_stored() -> None:
    content = {"id": "i" * 999, "model": "m" * 999, "choices": [{"finish_reason": "f" * 999}]}
    started, finished = decode_events(frame(content))
    assert isinstance(started, ResponseStarted)
    assert isinstance(finished, Finished)
    assert len(started.response_id) == len(started.model) == 200
    assert len(finished.finish_reason) == 100


def test_a_service_is_reported_again_when_more_of_it_is_known() -> None:
    stream = frame({"service_tier": "flex"}) * 2 + frame({"system_fingerprint": "fp_1"})
    assert decode_events(stream) == [
        ServiceTierReported("flex", ""),
        ServiceTierReported("flex", "fp_1"),
    ]


def test_a_stream_that_sends_filler_forever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_module, "MAX_BODY_BYTES", 1000)
    (failed,) = decode_events(*[b": ping\n\n"] * 200)
    assert isinstance(failed, Failed)
    assert failed.error.kind is ErrorKind.TOO_LARGE
    assert "1000 bytes" in failed.error.message


COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": "Hm.",
                "content": "Hi",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
                ],
            },
            "finish_reason": "tool_calls",
        },
        {"index": 1, "message": {"content": "<think>Hm.</think>Ho"}, "finish_reason": "stop"},
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2},
}


def test_a_completion_in_one_body_is_a_whole_reply() -> None:
    events = EventDecoder().receive_completion(json.dumps(COMPLETION).encode())
    assert events
    first, second = fold_events(events), fold_events(events, choice=1)
    assert (first.reasoning, first.answer, first.ending) == ("Hm.", "Hi", Ending.COMPLETE)
    assert [call.name for call in first.tool_calls] == ["f", "g"]
    assert (second.reasoning, second.answer) == ("Hm.", "Ho")
    assert (first.response_id, first.usage) == ("chatcmpl-1", TokenUsage(1, 2, 3))
    assert first.is_done


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"choices": []}', b'{"choices": [{}]}', b"<html>", b'{"error": "x"}']
)
def test_a_body_without_choices_is_not_a_reply(body: bytes) -> None:
    assert EventDecoder().receive_completion(body) is None


FRAGMENTS = [delta("a"), delta("<think>"), reasoning("r"), finish(), usage(), done(), error()]
FRAGMENTS += [
    delta("a</thi"),
    delta("nk>"),
    b'data: {"choices":[{"logprobs":{"content":[{}]}}]}\n\n',
]
CALLS: list[object] = [{}, {"index": 1, "id": "a"}, {"index": 999}, {"function": {"arguments": {}}}]
FRAGMENTS += [
    frame({"choices": [{"index": index, "delta": {"tool_calls": [call]}}]})
    for index in (0, 1, 99)
    for call in CALLS
]
SPLINTERS = [
    rb'data: {"choices":[{"delta":{"content":"\ud800"}}]}',
    b"\n\n",
    b"\r",
    b"data: {",
    b"\0",
]


@given(st.lists(st.binary(max_size=30) | st.sampled_from(FRAGMENTS + SPLINTERS), max_size=8))
def test_any_bytes_give_storable_events_and_raise_nothing(reads: list[bytes]) -> None:
    events = decode_events(*reads)
    assert events == decode_events(b"".join(reads))
    assert "\0" not in str(events)
    str(events).encode()


@pytest.mark.parametrize("name", ["id", "model"])
def test_long_ids_of_responses_are_shortened_and_stay_different(name: str) -> None:
    def decode_start(value: str) -> ResponseStarted:
        (event,) = decode_events(frame({name: value, "choices": []}))
        assert isinstance(event, ResponseStarted)
        return event

    first, other = (decode_start(f"{'x' * 300}{n}") for n in (1, 2))
    assert first != other
    assert first == decode_start(f"{'x' * 300}1")
    shortened_id = first.response_id or first.model
    assert len(shortened_id) == 200
    assert shortened_id.startswith("x" * 100)
    assert decode_start("x" * 200) in (
        ResponseStarted("x" * 200, ""),
        ResponseStarted("", "x" * 200),
    )
