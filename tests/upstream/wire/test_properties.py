"""Properties of every stream: dialect and split do not matter, and decoding is linear."""

import itertools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Finished,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    TokenUsage,
    ToolCallDelta,
    UsageReported,
)
from tests.support.fuzz import adversarial
from tests.upstream import decode_events, fold_events
from tests.upstream.wire.encoders import ENCODERS, Delta, Script

# no NUL, which is replaced, and nothing that could be a think tag
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0<["), min_size=1, max_size=12)
COUNT = st.integers(0, 10**6)
DELTAS = st.one_of(
    st.builds(ReasoningDelta, TEXT),
    st.builds(AnswerDelta, TEXT),
    st.builds(RefusalDelta, TEXT),
    st.builds(ToolCallDelta, st.integers(0, 3), st.just("call"), st.just("now"), TEXT),
)
SCRIPTS = st.builds(
    Script,
    st.lists(DELTAS, max_size=6),
    st.builds(Finished, st.sampled_from(["stop", "length", "tool_calls", "content_filter"])),
    st.builds(lambda prompt, reply: TokenUsage(prompt, reply, prompt + reply), COUNT, COUNT),
)


def cut_at(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(SCRIPTS, st.sampled_from(ENCODERS), st.lists(st.integers(0, 10_000), max_size=5))
def test_a_reply_is_the_same_in_every_dialect_at_any_split(
    script: Script, encode: Callable[[Script], bytes], places: list[int]
) -> None:
    expected = fold_events(
        [*script.deltas, script.finished, UsageReported(script.usage), StreamDone()]
    )
    read = fold_events(decode_events(*cut_at(encode(script), places)))
    assert (read.response_id, read.model) == ("r", "m")
    for part in ("reasoning", "answer", "refusal", "tool_calls", "finish_reason", "usage"):
        assert getattr(read, part) == getattr(expected, part)
    assert read.ending is expected.ending


@given(st.lists(DELTAS, min_size=1, max_size=3), st.integers(1, 10_000))
@example([AnswerDelta("\r"), AnswerDelta("0")], 1891)
@example([AnswerDelta("\r"), RefusalDelta("0")], 439)
@example([AnswerDelta(" "), ReasoningDelta("0")], 448)
def test_a_reply_cut_anywhere_keeps_every_complete_delta(deltas: list[Delta], place: int) -> None:
    script = Script(deltas, Finished("stop"), TokenUsage(1, 2, 3))
    whole = ENCODERS[0](script)
    read = decode_events(whole[: place % len(whole)])
    received = _join_answer([event for event in read if isinstance(event, Delta)])
    assert received in [_join_answer(deltas[:count]) for count in range(len(deltas) + 1)]


def _join_answer(deltas: list[Delta]) -> tuple[str, list[Delta]]:
    """Return the joined answer and the other deltas.

    Deltas of the answer can differ, because text that may begin a tag is held back. White space
    before reasoning is left out: the decoder drops it, since it belongs to neither.
    """
    answer = ""
    for delta in deltas:
        if isinstance(delta, AnswerDelta):
            answer += delta.text
        elif isinstance(delta, ReasoningDelta) and not answer.strip():
            answer = ""
    return answer, [delta for delta in deltas if not isinstance(delta, AnswerDelta)]


@pytest.mark.parametrize("name", adversarial(1))
def test_ten_times_the_bytes_take_ten_times_the_steps_to_decode(name: str) -> None:
    small, large = (steps(adversarial(size)[name]) for size in (4_000, 40_000))
    assert large <= 12 * small + 1000


def steps(data: bytes) -> int:
    """Count the lines of Python executed to decode `data` in pieces of 100 bytes.

    `bench/decode.py` measures the time, including that spent in C.
    """
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        if event == "line":
            count += 1
        return trace

    decoder = EventDecoder()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for start in range(0, len(data), 100):
            decoder.receive_data(data[start : start + 100])
        decoder.close()
    finally:
        sys.settrace(before)
    return count
