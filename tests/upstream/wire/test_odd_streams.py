"""Streams as gateways really send them: what they say is read, or what is lost is told."""

import json
from typing import Any

import pytest

from chatapp.upstream.wire.events import Finished, ToolCallDelta
from chatapp.upstream.wire.reply import Ending, Reply
from tests.support.fake_upstream import choice, delta, done, finish, reasoning
from tests.upstream import events_of, reply_of


def body(*parts: bytes, split: int = 0) -> Reply:
    """The reply of a stream, which may come byte for byte."""
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
def test_what_stands_before_a_field_is_read_over(prefix: bytes, split: int) -> None:
    frames = [delta("Hello "), delta("there"), finish(), done()]
    for changed in (frames, frames[1:2], frames[3:]):
        parts = [prefix + bare(one) if one in changed else one for one in frames]
        reply = body(*parts, split=split)
        assert (reply.answer, reply.ending) == ("Hello there", Ending.COMPLETE)
        assert not reply.left_out


def test_two_objects_in_a_line_are_two_events() -> None:
    first, second = (bare(delta(text)).strip() for text in ("Hello ", "there"))
    for between in (b"", b" "):
        reply = body(b"data: " + first + between + second + b"\n\n", finish(), done())
        assert (reply.answer, reply.ending) == ("Hello there", Ending.COMPLETE)
    broken = body(b"data: " + first + second[:-4] + b"\n\n", finish(), done())
    assert broken.ending is Ending.FAILED


@pytest.mark.parametrize("prefix", [b"chunk = ", b"Data: ", b"data ", b"> data: "])
def test_an_event_in_a_line_that_is_no_field_is_read_and_the_rest_is_told(prefix: bytes) -> None:
    reply = body(delta("Hello "), prefix + bare(delta("there")), finish(), done())
    assert (reply.answer, reply.ending) == ("Hello there", Ending.COMPLETE)
    assert sum(reply.left_out.values()) == 1


def test_a_broken_event_in_such_a_line_is_not_called_complete() -> None:
    reply = body(delta("Hello "), b'chunk = {"choices": [{"del\n\n', finish(), done())
    assert (reply.answer, reply.ending) == ("Hello ", Ending.FAILED)


# ---- endings


@pytest.mark.parametrize("word", ["null", "None", " ", "undefined"])
def test_a_finish_that_is_none_ends_nothing(word: str) -> None:
    said = choice({"content": "Four."}, word)
    assert body(said, finish(), done()).ending is Ending.COMPLETE
    assert not any(isinstance(event, Finished) for event in events_of(said))
    assert body(said).ending is Ending.CUT_OFF
    call = {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}
    assert body(choice({"tool_calls": [call]}, word), finish("tool_calls"), done()).wants_tools


def test_a_word_that_nobody_knows_counts_only_if_none_follows() -> None:
    assert body(delta("Hi"), finish("weird"), finish("stop"), done()).ending is Ending.COMPLETE
    assert body(delta("Hi"), finish("weird"), finish("length"), done()).ending is Ending.LENGTH
    assert body(delta("Hi"), finish("stop"), finish("weird"), done()).ending is Ending.FAILED


@pytest.mark.parametrize("word", ["content-filter", "SAFETY", "guardrail_intervened", "SPII"])
def test_words_of_providers_for_a_content_filter(word: str) -> None:
    assert body(delta("Hi"), finish(word), done()).ending is Ending.CONTENT_FILTER


# ---- characters


@pytest.mark.parametrize("field", ["content", "reasoning_content", "refusal"])
def test_the_halves_of_a_character_may_come_in_two_deltas(field: str) -> None:
    def said(text: str) -> bytes:
        frame = {"choices": [{"index": 0, "delta": {field: text}, "finish_reason": None}]}
        return f"data: {json.dumps(frame)}\n\n".encode()

    reply = body(said("Done \ud83c"), said("\udf89 a"), said("\udf89b"), said("c\ud83c"), finish())
    told = {"content": reply.answer, "reasoning_content": reply.reasoning}
    assert told.get(field, reply.refusal) == "Done 🎉 a\ufffdbc\ufffd"


def test_so_may_those_of_arguments() -> None:
    def part(arguments: str, **more: Any) -> bytes:
        call = {"index": 0, "function": {"arguments": arguments, **more}}
        frame = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        return f"data: {json.dumps(frame)}\n\n".encode()

    reply = body(part('{"a": "\ud83c', name="f"), part('\udf89"}'), finish("tool_calls"))
    assert reply.tool_calls[0].parsed == {"a": "🎉"}


# ---- tool calls


def called(*fragments: str | None) -> Any:
    first = {"index": 0, "id": "a", "function": {"name": "now", "arguments": fragments[0]}}
    more = [{"index": 0, "function": {"arguments": one}} for one in fragments[1:]]
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
def test_arguments_that_are_repeated_or_cumulative_are_repaired(fragments: tuple[str]) -> None:
    call = called(*fragments)
    assert call.parsed == {"timezone": "Asia/Tokyo"}
    assert json.loads(call.arguments) == call.parsed


@pytest.mark.parametrize("fragments", [(None,), ("",), (" \n",), ("null",), ("{}",), ("{}", "{}")])
def test_no_arguments_are_none(fragments: tuple[str | None]) -> None:
    assert called(*fragments).parsed == {}


@pytest.mark.parametrize("fragments", [('{"a": 1}', '{"a": 2}'), ("[1]",), ('{"a": 1} x',), ("5",)])
def test_what_means_nothing_is_told(fragments: tuple[str]) -> None:
    call = called(*fragments)
    assert call.parsed is None
    assert call.problem


@pytest.mark.parametrize("names", [("get_", "weather"), ("get_", "get_weather"), ("get_weather",)])
def test_a_name_may_come_in_pieces(names: tuple[str, ...]) -> None:
    parts = [{"index": 0, "function": {"name": name}} for name in names]
    frames = [choice({"tool_calls": [one]}) for one in parts]
    arguments = choice({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})
    events = events_of(*frames, arguments, finish("tool_calls"))
    assert [one.index for one in events if isinstance(one, ToolCallDelta)] == [0] * (len(names) + 1)
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
def test_reasoning_and_answer_are_told_apart(frames: tuple[bytes, ...], split: int) -> None:
    reply = body(*frames, finish(), done(), split=split)
    assert (reply.reasoning.strip(), reply.answer.strip()) == ("Mull.", "Four.")
    assert reply.ending is Ending.COMPLETE


def test_tags_that_a_person_asked_about_are_answered_with() -> None:
    reply = body(reasoning("Mull."), delta("<think> opens"), delta(" and </think> closes."))
    assert reply.answer == "<think> opens and </think> closes."
    reply = body(reasoning("Mull."), delta("It is "), reasoning("More."), delta("</think>."))
    assert reply.answer == "It is </think>."
    reply = body(delta("Four. <|channel|> is a mark."))
    assert reply.answer == "Four. <|channel|> is a mark."


def test_nothing_that_stands_between_channels_is_lost() -> None:
    told = "<|channel|>commentary to=functions.x<|message|>Let me look.<|call|>Lost?"
    reply = body(delta(f"{told}<|channel|>final<|message|>a < b <|x|> <"))
    assert (reply.reasoning, reply.answer) == ("Let me look.", "Lost?a < b <|x|> <")
