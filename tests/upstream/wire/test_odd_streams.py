"""Odd streams that gateways really send: they are read, or the loss is reported."""

import json
from typing import Any

import pytest

from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Finished,
    ReasoningDelta,
    TokenUsage,
    ToolCallDelta,
)
from chatapp.upstream.wire.reply import Ending, Reply
from tests.support.fake_upstream import (
    choice,
    chunk,
    delta,
    done,
    error,
    finish,
    frame,
    reasoning,
    usage,
)
from tests.upstream import decode_events, decode_reply, fold_events


def body(*parts: bytes, split: int = 0) -> Reply:
    """Decode a stream in one piece, or in pieces of `split` bytes."""
    whole = b"".join(parts)
    pieces = [whole[i : i + split] for i in range(0, len(whole), split)] if split else [whole]
    return decode_reply(*pieces)


def bare(frame: bytes) -> bytes:
    return frame.removeprefix(b"data: ")


# ---- lines


@pytest.mark.parametrize(
    "prefix",
    [b"data: data: ", b"data:data:", b" data: ", b"\t data:", b"\xef\xbb\xbfdata: "],
    ids=["doubled", "doubled without spaces", "a space", "a tab", "a BOM"],
)
@pytest.mark.parametrize("split", [0, 1])
def test_prefixes_of_a_field_are_ignored(prefix: bytes, split: int) -> None:
    frames = [delta("Hello "), delta("there"), finish(), done()]
    for changed in (frames, frames[1:2], frames[3:]):
        parts = [prefix + bare(frame) if frame in changed else frame for frame in frames]
        reply = body(*parts, split=split)
        assert (reply.answer, reply.ending) == ("Hello there", Ending.COMPLETE)
        assert not reply.left_out


def test_two_objects_on_one_line_are_two_events() -> None:
    first, second = (bare(delta(text)).strip() for text in ("Hello ", "there"))
    for between in (b"", b" "):
        reply = body(b"data: " + first + between + second + b"\n\n", finish(), done())
        assert (reply.answer, reply.ending) == ("Hello there", Ending.COMPLETE)
    broken = body(b"data: " + first + second[:-4] + b"\n\n", finish(), done())
    assert broken.ending is Ending.FAILED


@pytest.mark.parametrize("prefix", [b"chunk = ", b"Data: ", b"data ", b"> data: "])
def test_an_event_on_a_line_that_is_not_a_field_is_read_and_the_prefix_reported(
    prefix: bytes,
) -> None:
    reply = body(delta("Hello "), prefix + bare(delta("there")), finish(), done())
    assert (reply.answer, reply.ending) == ("Hello there", Ending.COMPLETE)
    assert sum(reply.left_out.values()) == 1


def test_a_broken_event_on_such_a_line_fails_the_reply() -> None:
    reply = body(delta("Hello "), b'chunk = {"choices": [{"del\n\n', finish(), done())
    assert (reply.answer, reply.ending) == ("Hello ", Ending.FAILED)


# ---- endings


@pytest.mark.parametrize("word", ["null", "None", " ", "undefined"])
def test_an_empty_finish_reason_does_not_end_the_reply(word: str) -> None:
    text_chunk = choice({"content": "Four."}, word)
    assert body(text_chunk, finish(), done()).ending is Ending.COMPLETE
    assert not any(isinstance(event, Finished) for event in decode_events(text_chunk))
    assert body(text_chunk).ending is Ending.CUT_OFF
    call = {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}
    assert body(choice({"tool_calls": [call]}, word), finish("tool_calls"), done()).wants_tools


def test_an_unknown_finish_reason_counts_only_if_it_is_the_last() -> None:
    assert body(delta("Hi"), finish("weird"), finish("stop"), done()).ending is Ending.COMPLETE
    assert body(delta("Hi"), finish("weird"), finish("length"), done()).ending is Ending.LENGTH
    assert body(delta("Hi"), finish("stop"), finish("weird"), done()).ending is Ending.FAILED


@pytest.mark.parametrize("word", ["content-filter", "SAFETY", "guardrail_intervened", "SPII"])
def test_providers_names_for_a_content_filter_are_known(word: str) -> None:
    assert body(delta("Hi"), finish(word), done()).ending is Ending.CONTENT_FILTER


# ---- characters


@pytest.mark.parametrize("field", ["content", "reasoning_content", "reasoningContent", "refusal"])
def test_a_surrogate_pair_may_be_split_between_two_deltas(field: str) -> None:
    def build_delta(text: str) -> bytes:
        frame = {"choices": [{"index": 0, "delta": {field: text}, "finish_reason": None}]}
        return f"data: {json.dumps(frame)}\n\n".encode()

    reply = body(
        build_delta("Done \ud83c"),
        build_delta("\udf89 a"),
        build_delta("\udf89b"),
        build_delta("c\ud83c"),
        finish(),
    )
    texts = {"content": reply.answer, "reasoning_content": reply.reasoning}
    texts["reasoningContent"] = reply.reasoning
    assert texts.get(field, reply.refusal) == "Done 🎉 a\ufffdbc\ufffd"


def test_a_surrogate_pair_in_arguments_may_be_split_too() -> None:
    def part(arguments: str, **more: Any) -> bytes:
        call = {"index": 0, "function": {"arguments": arguments, **more}}
        frame = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        return f"data: {json.dumps(frame)}\n\n".encode()

    reply = body(part('{"a": "\ud83c', name="f"), part('\udf89"}'), finish("tool_calls"))
    assert reply.tool_calls[0].parsed == {"a": "🎉"}


# ---- tool calls


def decode_call(*fragments: str | None) -> Any:
    first = {"index": 0, "id": "a", "function": {"name": "now", "arguments": fragments[0]}}
    more = [{"index": 0, "function": {"arguments": fragment}} for fragment in fragments[1:]]
    frames = [choice({"tool_calls": [call_part]}) for call_part in (first, *more)]
    (call,) = body(*frames, finish("tool_calls")).tool_calls
    return call


ZONE = '{"timezone": "Asia/Tokyo"}'


@pytest.mark.parametrize(
    "fragments",
    [
        ("{}", '{"timezone":', ' "Asia/Tokyo"}'),
        ("{}", ZONE),
        ('{"time', '{"timezone": ', ZONE),
        ('{"timezone": ', '"Asia/Tokyo"}', ZONE),
        (ZONE, ZONE),
        (ZONE, "\n", ZONE, ZONE),
        ('{"timezone": "Asia/Tokyo"', "}"),
    ],
)
def test_repeated_or_cumulative_arguments_are_repaired(fragments: tuple[str]) -> None:
    call = decode_call(*fragments)
    assert call.parsed == {"timezone": "Asia/Tokyo"}
    assert json.loads(call.arguments) == call.parsed


@pytest.mark.parametrize("fragments", [(None,), ("",), (" \n",), ("null",), ("{}",), ("{}", "{}")])
def test_missing_arguments_are_an_empty_object(fragments: tuple[str | None]) -> None:
    assert decode_call(*fragments).parsed == {}


@pytest.mark.parametrize("fragments", [('{"a": 1}', '{"a": 2}'), ("[1]",), ('{"a": 1} x',), ("5",)])
def test_meaningless_arguments_are_reported(fragments: tuple[str]) -> None:
    call = decode_call(*fragments)
    assert call.parsed is None
    assert call.problem


@pytest.mark.parametrize("names", [("get_", "weather"), ("get_", "get_weather"), ("get_weather",)])
def test_a_name_may_come_in_pieces(names: tuple[str, ...]) -> None:
    parts = [{"index": 0, "function": {"name": name}} for name in names]
    frames = [choice({"tool_calls": [part]}) for part in parts]
    arguments = choice({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})
    events = decode_events(*frames, arguments, finish("tool_calls"))
    assert [event.index for event in events if isinstance(event, ToolCallDelta)] == [0] * (
        len(names) + 1
    )
    (call,) = body(*frames, arguments, finish("tool_calls")).tool_calls
    assert (call.name, call.parsed) == ("get_weather", {})


# ---- reasoning


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize(
    "frames",
    [
        (reasoning("Mull."), delta("</think>\n\nFour.")),
        (reasoning("Mull."), delta("\n"), delta("</think>"), delta("Four.")),
        (reasoning("Mull."), delta("<think>\n\n</think>\n\nFour.")),
        (delta("<think>\n"), reasoning("Mull."), delta("\n</think>\n\n"), delta("Four.")),
        (reasoning("Mu"), reasoning("ll."), delta("Four.")),
        (choice({"reasoning_text": "Mull."}), delta("Four.")),
        (choice({"thinking": "Mull."}), delta("Four.")),
        (delta("<seed:think>Mull.</seed:think>Four."),),
        (delta("◁think▷Mull.◁/think▷Four."),),
        *(
            tuple(delta(text) for text in parts)
            for parts in (
                (
                    "<|channel|>analysis<|message|>Mull.<|end|><|start|>assistant",
                    "<|channel|>final<|message|>Four.",
                ),
                (
                    *("<|start|>", "assistant", "<|channel|>", "analysis", "<|message|>", "Mu"),
                    *("ll.", "<|end|>", "<|start|>assistant", "<|channel|>final", "<|mess"),
                    *("age|>", "Four.", "<|return|>"),
                ),
            )
        ),
    ],
)
def test_reasoning_and_answer_are_separated(frames: tuple[bytes, ...], split: int) -> None:
    reply = body(*frames, finish(), done(), split=split)
    assert (reply.reasoning.strip(), reply.answer.strip()) == ("Mull.", "Four.")
    assert reply.ending is Ending.COMPLETE


def test_tags_within_an_answer_are_text() -> None:
    reply = body(reasoning("Mull."), delta("<think> opens"), delta(" and </think> closes."))
    assert reply.answer == "<think> opens and </think> closes."
    reply = body(reasoning("Mull."), delta("It is "), reasoning("More."), delta("</think>."))
    assert reply.answer == "It is </think>."
    reply = body(delta("Four. <|channel|> is a mark."))
    assert reply.answer == "Four. <|channel|> is a mark."


def test_no_text_between_channels_is_lost() -> None:
    before = "<|channel|>commentary to=functions.x<|message|>Let me look.<|call|>Lost?"
    reply = body(delta(f"{before}<|channel|>final<|message|>a < b <|x|> <"))
    assert (reply.reasoning, reply.answer) == ("Let me look.", "Lost?a < b <|x|> <")


def test_a_stream_that_ends_without_any_finish_reason_may_be_half_an_answer() -> None:
    assert body(delta("Four."), done()).ending is Ending.CUT_OFF
    assert body(delta("Four.")).ending is Ending.CUT_OFF


@pytest.mark.parametrize("split", [0, 1])
def test_a_finish_reason_in_camel_case_ends_the_reply(split: int) -> None:
    ended = chunk([{"index": 0, "delta": {}, "finishReason": "length"}])
    going_on = chunk([{"index": 0, "delta": {"content": "Four."}, "finishReason": None}])
    assert body(going_on, ended, done(), split=split).ending is Ending.LENGTH
    assert body(going_on, done(), split=split).ending is Ending.CUT_OFF
    odd = chunk([{"index": 0, "delta": {"content": 5}, "finishReason": "stop"}])
    assert body(odd, done(), split=split).ending is Ending.COMPLETE


def test_other_names_in_camel_case_are_read() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}
    reply = body(
        choice({"reasoningContent": "Hm."}),
        choice({"toolCalls": [call]}),
        chunk([{"index": 0, "delta": {}, "finishReason": "tool_calls"}]),
        done(),
    )
    assert (reply.reasoning, reply.wants_tools) == ("Hm.", True)
    assert [tool_call.name for tool_call in reply.tool_calls] == ["now"]


# ---- envelopes, and what is no reply


def wrap_in_envelope(data: bytes, name: str) -> bytes:
    return frame({"code": 0, name: json.loads(bare(data))})


@pytest.mark.parametrize("name", ["data", "result", "response"])
@pytest.mark.parametrize("split", [0, 1])
def test_chunks_in_an_envelope_are_read(name: str, split: int) -> None:
    parts = [
        wrap_in_envelope(part, name)
        for part in (delta("Hello "), delta("there"), finish(), usage())
    ]
    reply = body(*parts, done(), split=split)
    assert (reply.answer, reply.ending, reply.usage) == (
        "Hello there",
        Ending.COMPLETE,
        TokenUsage(12, 18, 30),
    )
    assert not reply.left_out
    failed = body(parts[0], wrap_in_envelope(error("overloaded"), name), split=split)
    assert failed.error
    assert (failed.answer, failed.error.message) == ("Hello ", "overloaded")


def test_an_error_around_an_empty_envelope_fails_the_reply() -> None:
    failure = {"code": 500, "message": "quota exceeded", "success": False}
    inners: list[dict[str, object]] = [
        {"choices": []},
        {"choices": [], "usage": {"prompt_tokens": 1}},
    ]
    for inner in inners:
        reply = body(frame({**failure, "data": inner}), done())
        assert reply.error
        assert reply.error.message == "quota exceeded"


@pytest.mark.parametrize("outer", [{"usage": {"prompt_tokens": 1}}, {"error": {"code": 0}}])
def test_an_envelope_may_have_members_of_a_chunk(outer: dict[str, Any]) -> None:
    parts = [json.loads(bare(part)) for part in (delta("Hello"), finish())]
    reply = body(*(frame({**outer, "data": part}) for part in parts), done())
    assert (reply.answer, reply.ending) == ("Hello", Ending.COMPLETE)


@pytest.mark.parametrize("name", ["data", "result", "response"])
def test_a_whole_reply_in_an_envelope_is_read(name: str) -> None:
    completion = {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}
    events = EventDecoder().receive_completion(json.dumps({name: completion}).encode())
    assert events
    assert (fold_events(events).answer, fold_events(events).ending) == ("Hello", Ending.COMPLETE)
    assert EventDecoder().receive_completion(json.dumps({name: [1]}).encode()) is None


@pytest.mark.parametrize(
    "stream",
    [
        b"null",
        b'{"status": "ok"}',
        frame({"object": "list", "data": [{"id": "m"}]}),
        frame({"status": "ok"}) + done(),
    ],
)
@pytest.mark.parametrize("split", [0, 1])
def test_json_without_choices_is_a_failure_and_no_empty_reply(stream: bytes, split: int) -> None:
    reply = body(stream, split=split)
    assert reply.ending is Ending.FAILED
    assert reply.error
    assert (reply.error.kind, reply.error.message) == (
        ErrorKind.NOT_A_STREAM,
        "sent JSON without choices",
    )


def test_a_chunk_that_says_nothing_is_not_taken_for_something_else() -> None:
    assert body(chunk([]), done()).ending is Ending.NO_ANSWER
    assert body(frame({"status": "ok"}), delta("Hi"), finish()).ending is Ending.COMPLETE
    assert body(frame({}), done()).ending is Ending.NO_ANSWER


# ---- after the end


@pytest.mark.parametrize("split", [0, 1])
def test_usage_after_the_end_counts_and_nothing_else_does(split: int) -> None:
    late = (delta("late"), error(), usage(12, 18))
    reply = body(delta("Four."), finish(), done(), *late, split=split)
    assert (reply.answer, reply.ending) == ("Four.", Ending.COMPLETE)
    assert reply.usage == TokenUsage(12, 18, 30)
    counted_before = body(delta("Four."), finish(), usage(1, 2), done(), usage(12, 18), split=split)
    assert counted_before.usage == TokenUsage(1, 2, 3)


def test_usage_after_a_failure_does_not_count() -> None:
    assert body(delta("Four."), error(), usage()).usage is None


# ---- deltas that repeat the text so far

SO_FAR = [
    "Pack",
    "Packets ",
    "Packets in",
    "Packets in flight, one by one by",
    "Packets in flight, one by one by one.",
]


@pytest.mark.parametrize("member", ["content", "reasoning_content"])
@pytest.mark.parametrize("begin", [0, 2, 3])
def test_cumulative_deltas_are_read_once(member: str, begin: int) -> None:
    parts = [choice({member: text}) for text in SO_FAR[begin:]]
    reply = body(*parts, finish(), done())
    assert reply.answer + reply.reasoning == SO_FAR[-1]


@pytest.mark.parametrize(
    "pieces",
    [
        ["1", "10", " apples"],
        ["1", "12", "123"],
        ["1", "10", "100", "1000", " and so on"],
        ["A", "An", "Ant", " eats."],
        ["1", "10"],
        ["ha", "haha", "hahaha", "!"],
        [" ", "  ", "   x"],
        ["a", "an", "ant"[2:], "s"],
        ["No", "Nobody", "No", " more"],
    ],
)
def test_pieces_that_repeat_the_beginning_by_chance_stay(pieces: list[str]) -> None:
    assert body(*map(delta, pieces), finish(), done()).answer == "".join(pieces)
    assert body(*map(delta, pieces)).answer == "".join(pieces)


def test_cumulative_deltas_may_begin_with_digits() -> None:
    pieces = ["2", "20", "202", "2024", "2024 was", "2024 was good."]
    assert body(*map(delta, pieces), finish(), done()).answer == pieces[-1]


def test_reasoning_is_not_held_back_until_after_the_answer() -> None:
    parts = [*map(reasoning, ("A", "An")), delta("Four."), finish(), done()]
    texts = [
        event.text
        for event in decode_events(*parts)
        if isinstance(event, ReasoningDelta | AnswerDelta)
    ]
    assert texts == ["A", "An", "Four."]
