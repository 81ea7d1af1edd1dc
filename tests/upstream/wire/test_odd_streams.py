"""Odd streams that gateways really send: they are read, or the loss is reported."""

import json
from typing import Any

import pytest

from chatapp.upstream.wire.events import Finished, ToolCallDelta
from chatapp.upstream.wire.reply import Ending, Reply
from tests.support.fake_upstream import choice, delta, done, finish, reasoning
from tests.upstream import events_of, reply_of


def body(*parts: bytes, split: int = 0) -> Reply:
    """Decode a stream in one piece, or in pieces of `split` bytes."""
    whole = b"".join(parts)
    pieces = [whole[i : i + split] for i in range(0, len(whole), split)] if split else [whole]
    return reply_of(*pieces)


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
    said = choice({"content": "Four."}, word)
    assert body(said, finish(), done()).ending is Ending.COMPLETE
    assert not any(isinstance(event, Finished) for event in events_of(said))
    assert body(said).ending is Ending.CUT_OFF
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


@pytest.mark.parametrize("field", ["content", "reasoning_content", "refusal"])
def test_a_surrogate_pair_may_be_split_between_two_deltas(field: str) -> None:
    def said(text: str) -> bytes:
        frame = {"choices": [{"index": 0, "delta": {field: text}, "finish_reason": None}]}
        return f"data: {json.dumps(frame)}\n\n".encode()

    reply = body(said("Done \ud83c"), said("\udf89 a"), said("\udf89b"), said("c\ud83c"), finish())
    texts = {"content": reply.answer, "reasoning_content": reply.reasoning}
    assert texts.get(field, reply.refusal) == "Done 🎉 a\ufffdbc\ufffd"


def test_a_surrogate_pair_in_arguments_may_be_split_too() -> None:
    def part(arguments: str, **more: Any) -> bytes:
        call = {"index": 0, "function": {"arguments": arguments, **more}}
        frame = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        return f"data: {json.dumps(frame)}\n\n".encode()

    reply = body(part('{"a": "\ud83c', name="f"), part('\udf89"}'), finish("tool_calls"))
    assert reply.tool_calls[0].parsed == {"a": "🎉"}


# ---- tool calls


def called(*fragments: str | None) -> Any:
    first = {"index": 0, "id": "a", "function": {"name": "now", "arguments": fragments[0]}}
    more = [{"index": 0, "function": {"arguments": fragment}} for fragment in fragments[1:]]
    frames = [choice({"tool_calls": [one]}) for one in (first, *more)]
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
    call = called(*fragments)
    assert call.parsed == {"timezone": "Asia/Tokyo"}
    assert json.loads(call.arguments) == call.parsed


@pytest.mark.parametrize("fragments", [(None,), ("",), (" \n",), ("null",), ("{}",), ("{}", "{}")])
def test_missing_arguments_are_an_empty_object(fragments: tuple[str | None]) -> None:
    assert called(*fragments).parsed == {}


@pytest.mark.parametrize("fragments", [('{"a": 1}', '{"a": 2}'), ("[1]",), ('{"a": 1} x',), ("5",)])
def test_meaningless_arguments_are_reported(fragments: tuple[str]) -> None:
    call = called(*fragments)
    assert call.parsed is None
    assert call.problem


@pytest.mark.parametrize("names", [("get_", "weather"), ("get_", "get_weather"), ("get_weather",)])
def test_a_name_may_come_in_pieces(names: tuple[str, ...]) -> None:
    parts = [{"index": 0, "function": {"name": name}} for name in names]
    frames = [choice({"tool_calls": [part]}) for part in parts]
    arguments = choice({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})
    events = events_of(*frames, arguments, finish("tool_calls"))
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
