"""Decoding choices: content parts, tags, finishes and limits."""

import pytest

from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.reply import Ending
from tests.support.fake_upstream import (
    chunk,
    delta,
    done,
    error,
    finish,
    frame,
    reasoning,
    role,
)
from tests.upstream import decode_events, decode_reply, fold_events
from tests.upstream.wire import PNG


def test_tags_are_text_if_the_reasoning_has_its_own_field() -> None:
    reply = decode_reply(reasoning("Hm."), delta("<think> is a tag."))
    assert (reply.reasoning, reply.answer) == ("Hm.", "<think> is a tag.")


@pytest.mark.parametrize("last", [finish(), done(), error(), b"data: ?\n\n", b""])
def test_text_held_back_for_a_tag_is_never_lost(last: bytes) -> None:
    assert decode_reply(delta("<thi"), last).answer == "<thi"
    reply = decode_reply(delta("<think>Hm. </thi"), last)
    assert (reply.reasoning, reply.answer) == ("Hm. </thi", "")


def test_content_parts_are_reasoning_answer_or_images_or_left_out() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}, "!"]},
        *("Hi", {"type": "text", "text": " there"}, {"type": "image_url", "image_url": PNG}),
        *({"type": "reference", "reference_ids": [1]}, None, {"text": ""}),
    ]
    reply = decode_reply(frame({"choices": [{"delta": {"content": parts}}]}))
    assert (reply.reasoning, reply.answer, len(reply.images)) == ("Hm.!", "Hi there", 1)
    assert reply.left_out == {"content of type reference": 1, "content": 1}


def test_a_finish_in_every_chunk_counts_only_at_the_end_of_the_stream() -> None:
    words = [
        frame({"choices": [{"delta": {"content": letter}, "finish_reason": "stop"}]})
        for letter in "ab"
    ]
    decoder = EventDecoder()
    decoder.receive_data(words[0])
    assert decoder.has_finished
    decoder.receive_data(words[1])
    assert not decoder.has_finished
    assert fold_events(decode_events(*words)).ending is Ending.COMPLETE
    assert fold_events(decode_events(*words, done())).finish_reason == "stop"
    decoder, reply = EventDecoder(), fold_events([])
    for event in [*decoder.receive_data(b"".join(words)), *decoder.close(was_cut=True)]:
        reply.apply(event)
    assert (reply.answer, reply.ending) == ("ab", Ending.CUT_OFF)


def test_a_message_that_repeats_the_deltas_is_ignored() -> None:
    whole = frame({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})
    for before in (b"", role(), delta("Hi")):
        assert decode_reply(before, whole, done()).answer == "Hi"


def test_a_stream_has_finished_once_all_its_choices_have() -> None:
    decoder = EventDecoder(requested_choices=2)
    decoder.receive_data(finish())
    assert not decoder.has_finished
    decoder.receive_data(chunk([{"index": 1, "delta": {}, "finish_reason": "stop"}]))
    assert decoder.has_finished


@pytest.mark.parametrize("index", [-1, 16, 10**9])
def test_an_index_out_of_range_fails_the_reply_and_keeps_the_text_before_it(index: int) -> None:
    stray = chunk([{"index": index, "delta": {"content": "lost"}}])
    reply = fold_events(decode_events(delta("kept") + stray + delta("lost"), choices=2))
    assert reply.answer == "kept"
    assert reply.error
    assert reply.error.kind is ErrorKind.OUT_OF_RANGE
    assert f"index {index}; the limit is 16 choices" in reply.error.message


def test_an_endless_reply_fails_and_keeps_the_text_before_the_limit() -> None:
    pages = [str(number) * 1_000_000 for number in range(9)]
    reply = decode_reply(*map(delta, pages))
    assert reply.answer == "".join(pages[:-1])
    assert reply.error
    assert reply.error.kind is ErrorKind.TOO_LARGE
    assert "8388608 characters" in reply.error.message


def both(content: str, thoughts: str) -> bytes:
    return frame({"choices": [{"delta": {"content": content, "reasoning_content": thoughts}}]})


def detail(text: str) -> bytes:
    details = [{"type": "reasoning.text", "id": "r1", "text": text}]
    return frame({"choices": [{"delta": {"reasoning_details": details}}]})


def flag_as_thought(content: str) -> bytes:
    extra = {"google": {"thought": True}}
    return frame({"choices": [{"delta": {"content": content, "extra_content": extra}}]})


@pytest.mark.parametrize(
    "pieces",
    [
        [both("<think>\nOne", "One"), both(" two", " two"), delta("\n</think>\n\nHi")],
        [delta("<think>\n"), both("One", "One"), both(" two", " two"), delta("</think>Hi")],
        [both("<think>One two</think>Hi", "One two")],
        [flag_as_thought("One"), flag_as_thought(" two"), delta("Hi")],
        [flag_as_thought("<thought>One"), flag_as_thought(" two</thought>"), delta("Hi")],
        [flag_as_thought("<thought>One"), flag_as_thought(" two"), delta("Hi")],
        [flag_as_thought("<thought>One"), delta(" two</thought>"), delta("Hi")],
        [detail("One "), detail("One two"), detail("One two"), delta("Hi")],
        [flag_as_thought("<thought>One"), flag_as_thought(" two"), delta("</thought>Hi")],
        [
            flag_as_thought("<thought>One"),
            flag_as_thought(" two"),
            delta("</th"),
            delta("ought>Hi"),
        ],
    ],
)
def test_reasoning_that_is_marked_or_sent_in_an_odd_way_is_shown_once(pieces: list[bytes]) -> None:
    reply = decode_reply(*pieces, finish(), done())
    assert (reply.reasoning.rstrip(), reply.answer) == ("One two", "Hi")


LONG = "A sentence of some length."


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        ([LONG, f"{LONG} More."], f"{LONG} More."),
        ([LONG[:18], LONG[18:], LONG], LONG),
        (["ha", "ha", "haha"], "hahahaha"),
        ([LONG, " More.", LONG], f"{LONG} More.{LONG}"),
        ([LONG, LONG, " More."], f"{LONG}{LONG} More."),
        ([LONG] * 4, LONG * 4),
        (["no " * 9, "no " * 10], "no " * 19),
    ],
)
def test_a_delta_that_repeats_the_whole_answer_adds_only_the_rest(
    pieces: list[str], answer: str
) -> None:
    assert decode_reply(*map(delta, pieces), finish(), done()).answer == answer
