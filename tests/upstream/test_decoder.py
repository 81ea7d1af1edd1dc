"""The whole pure path, from bytes to a reply, over the recordings and over anything at all."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.decoder import EventDecoder
from chatapp.upstream.errors import ErrorKind
from chatapp.upstream.events import (
    AnswerDelta,
    Event,
    Failed,
    Finished,
    ReasoningDelta,
    RefusalDelta,
    ResponseStarted,
    StreamDone,
    TokenUsage,
    UsageReported,
)
from chatapp.upstream.reply import Ending, Reply
from tests.fake_upstream import chunk, delta, done, error, finish, frame, reasoning, refusal, usage

RECORDINGS = Path(__file__).parent.parent / "recordings"
USAGE = TokenUsage(12, 18, 30, cached_tokens=4, reasoning_tokens=6)


def events_of(*reads: bytes, secret: str = "") -> list[Event]:
    decoder = EventDecoder(secret)
    return [event for data in reads for event in decoder.receive_data(data)] + decoder.close()


def reply_of(*reads: bytes) -> Reply:
    reply = Reply()
    for event in events_of(*reads):
        reply.apply(event)
    return reply


@pytest.mark.parametrize(
    ("name", "reasoning", "answer", "ending", "usage"),
    [
        ("opentoken", "", "Packets in flight", Ending.COMPLETE, USAGE),
        (
            "opentoken_reasoning",
            "Zählen: 数 🤔 eins,\u2028zwei.",
            "Größe \u2028🚀 fertig\n",
            Ending.LENGTH,
            USAGE,
        ),
        ("opentoken_think_tags", "Hm, a < b", "Write <think> to start.", Ending.COMPLETE, USAGE),
        ("opentoken_error", "", "Packets ", Ending.FAILED, None),
    ],
)
def test_a_recording_gives_the_same_events_at_every_split(
    name: str, reasoning: str, answer: str, ending: Ending, usage: TokenUsage | None
) -> None:
    stream = (RECORDINGS / f"{name}.sse").read_bytes()
    events = events_of(stream)
    reply = reply_of(stream)
    assert (reply.reasoning, reply.answer) == (reasoning, answer)
    assert (reply.ending, reply.usage) == (ending, usage)
    assert (reply.response_id, reply.model) == ("chatcmpl-1", "google/gemini-3-flash")
    for i in range(len(stream)):
        assert events_of(stream[:i], stream[i:]) == events
    assert events_of(*(stream[i : i + 1] for i in range(len(stream)))) == events


def test_the_events_of_a_reply_come_in_order() -> None:
    assert events_of(reasoning("Hm."), delta("Hi"), finish(), usage(1, 2), done()) == [
        ResponseStarted("chatcmpl-1", "google/gemini-3-flash"),
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
        ({"choices": [{"index": 1, "delta": {"content": "x"}}]}, []),
        ({"choices": [{"delta": {"reasoning": "x"}}]}, [ReasoningDelta("x")]),
        (
            {"choices": [{"delta": {"reasoning": "x", "reasoning_content": "x"}}]},
            [ReasoningDelta("x")],
        ),
        (
            {"choices": [{"delta": {"reasoning_content": "a", "content": "b", "refusal": "c"}}]},
            [ReasoningDelta("a"), AnswerDelta("b"), RefusalDelta("c")],
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
        ({"choices": [{"index": 10**9, "delta": {"content": "x"}}] * 10_000}, []),
    ],
)
def test_a_chunk_of_any_shape_gives_its_events(content: object, events: list[Event]) -> None:
    assert events_of(frame(content)) == events


def test_the_last_of_cumulative_usages_counts() -> None:
    counts = [{"prompt_tokens": 5, "completion_tokens": n} for n in (1, 2, 3)]
    stream = b"".join(chunk([{"index": 0, "delta": {"content": "x"}}], usage=c) for c in counts)
    assert reply_of(stream).usage == TokenUsage(5, 3, 8)


def test_tags_are_text_where_the_reasoning_has_its_own_field() -> None:
    reply = reply_of(reasoning("Hm."), delta("<think> is a tag."))
    assert (reply.reasoning, reply.answer) == ("Hm.", "<think> is a tag.")


@pytest.mark.parametrize("last", [finish(), done(), error(), b"data: ?\n\n", b""])
def test_text_held_back_for_a_tag_is_never_lost(last: bytes) -> None:
    assert reply_of(delta("<thi"), last).answer == "<thi"
    reply = reply_of(delta("<think>Hm. </thi"), last)
    assert (reply.reasoning, reply.answer) == ("Hm. </thi", "")


@pytest.mark.parametrize("last", [done(), error()])
def test_nothing_counts_after_the_end(last: bytes) -> None:
    assert events_of(last, delta("late")) == events_of(last) == events_of(last + delta("late"))


def test_a_malformed_chunk_fails_the_reply_and_keeps_what_came_before() -> None:
    stream = delta("kept") + b'data: {"choices": 5}\n\n' + delta("lost")
    reply = reply_of(stream)
    assert reply.answer == "kept"
    assert reply.error
    assert reply.error.kind is ErrorKind.MALFORMED
    assert "$.choices" in reply.error.message


def test_a_line_without_an_end_fails_the_reply_and_keeps_what_came_before() -> None:
    reply = reply_of(delta("kept") + b"data:" + b"x" * 2_000_000)
    assert reply.answer == "kept"
    assert reply.error
    assert reply.error.kind is ErrorKind.TOO_LARGE


@pytest.mark.parametrize("cut", [1, 2, 3, 40, 100])
def test_half_a_chunk_at_the_end_is_a_cut_and_no_failure(cut: int) -> None:
    reply = reply_of(delta("one ") + delta("two")[:-cut])
    assert reply.answer == ("one " if cut > 2 else "one two")
    assert reply.ending is Ending.CUT_OFF


def test_the_last_event_needs_no_blank_line() -> None:
    assert events_of(delta("x") + b"data: [DONE]")[-1] == StreamDone()
    assert events_of(finish()[:-2])[-1] == Finished("stop")
    assert isinstance(events_of(error()[:-1])[-1], Failed)


def test_comments_blank_data_and_unknown_events_say_nothing() -> None:
    pings = b": ping\n\ndata:\n\ndata:  \n\nevent: ping\ndata: {}\n\n"
    assert events_of(pings + refusal("No.") + pings)[1:] == [RefusalDelta("No.")]


def test_the_key_is_taken_out_of_error_frames() -> None:
    events = events_of(error("bad key sk-a-secret-key"), secret="sk-a-secret-key")
    assert "sk-a" not in str(events)
    assert "sk-a" not in repr(EventDecoder("sk-a-secret-key"))


def test_names_of_any_length_are_cut_to_what_can_be_stored() -> None:
    content = {"id": "i" * 999, "model": "m" * 999, "choices": [{"finish_reason": "f" * 999}]}
    started, finished = events_of(frame(content))
    assert isinstance(started, ResponseStarted)
    assert isinstance(finished, Finished)
    assert len(started.response_id) == len(started.model) == 200
    assert len(finished.finish_reason) == 100


FRAGMENTS = [delta("a"), delta("<think>"), reasoning("r"), finish(), usage(), done(), error()]
SPLINTERS = [
    rb'data: {"choices":[{"delta":{"content":"\ud800"}}]}',
    b"\n\n",
    b"\r",
    b"data: {",
    b"\0",
]


@given(st.lists(st.binary(max_size=30) | st.sampled_from(FRAGMENTS + SPLINTERS), max_size=8))
def test_any_bytes_give_storable_events_and_raise_nothing(reads: list[bytes]) -> None:
    events = events_of(*reads)
    assert events == events_of(b"".join(reads))
    assert "\0" not in str(events)
    str(events).encode()
