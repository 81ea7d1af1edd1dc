"""Logprobs are read leniently, and shown as whole characters with a probability."""

import gc
import math
from typing import Any

import pytest

from chatapp.upstream.wire.decoding.logprobs import (
    DisplayToken,
    build_display_tokens,
    read_logprobs,
)
from chatapp.upstream.wire.events import AnswerDelta, LogprobsDelta, TokenLogprob
from tests.support.fake_upstream import frame
from tests.upstream import RECORDINGS, decode_events, decode_reply

ROCKET = "🚀".encode()


def test_tokens_come_with_their_bytes_and_alternatives() -> None:
    top = [{"token": "a", "logprob": -0.5, "bytes": [97]}, {"token": "b", "logprob": -9999.0}]
    token = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": top}
    first, second = TokenLogprob("a", -0.5, b"a"), TokenLogprob("b", -9999.0)
    expected = TokenLogprob("a", -0.5, b"a", (first, second))
    content = {"content": [token], "refusal": [token]}
    assert read_logprobs(content, 2) == LogprobsDelta((expected,), (expected,), choice=2)


def test_tokens_are_not_tracked_by_the_garbage_collector() -> None:
    token = TokenLogprob("a", -1.0, None, (TokenLogprob("b", -2.0),))
    assert not gc.is_tracked(token)


@pytest.mark.parametrize(
    ("token", "read"),
    [
        ({}, TokenLogprob("", -9999.0)),
        ({"token": "a\0", "logprob": 0.5}, TokenLogprob("a\ufffd", 0.0)),
        ({"token": "a", "logprob": -1, "bytes": [300]}, TokenLogprob("a", -1.0)),
        (
            {"token": "a", "logprob": -1, "top_logprobs": [{}] * 99},
            TokenLogprob("a", -1.0, None, (TokenLogprob("", -9999.0),) * 20),
        ),
    ],
)
def test_invalid_tokens_are_repaired(token: dict[str, Any], read: TokenLogprob) -> None:
    delta = read_logprobs({"content": [token]}, 0)
    assert delta
    assert delta.content == (read,)


@pytest.mark.parametrize(
    "content", [None, 5, [], {}, {"content": []}, {"content": [5]}, {"tokens": ["a"]}]
)
def test_logprobs_that_cannot_be_read_cost_nothing(content: object) -> None:
    assert read_logprobs(content, 0) is None
    chunk = {"choices": [{"delta": {"content": "x"}, "logprobs": content}]}
    assert decode_events(frame(chunk)) == [AnswerDelta("x")]


def test_the_bytes_of_a_character_split_over_tokens_are_joined() -> None:
    reply = decode_reply((RECORDINGS / "openai_logprobs.sse").read_bytes())
    go, rocket = build_display_tokens(reply.logprobs)
    assert (go.text, go.top[1].token) == ("Go ", "Up ")
    assert go.probability == pytest.approx(math.exp(-0.25))
    assert (rocket.text, rocket.probability) == ("🚀", 0.0)


@pytest.mark.parametrize(
    ("tokens", "display_tokens"),
    [
        ([TokenLogprob("Größe", 0.0)], [DisplayToken("Größe", 1.0)]),
        ([TokenLogprob("?", 0.0, ROCKET[:2])], [DisplayToken("\ufffd", 1.0)]),
        (
            [TokenLogprob("?", 0.0, ROCKET[:2]), TokenLogprob("a", 0.0, b"a")],
            [DisplayToken("\ufffda", 1.0)],
        ),
        (
            [TokenLogprob("?", 0.0, b"\xff"), TokenLogprob("a", 0.0, b"a")],
            [DisplayToken("\ufffd", 1.0), DisplayToken("a", 1.0)],
        ),
        (
            [TokenLogprob("?", 0.0, b"x" + ROCKET[:1]), TokenLogprob("?", 0.0, ROCKET[1:])],
            [DisplayToken("x🚀", 1.0)],
        ),
    ],
)
def test_tokens_are_shown_as_whole_characters(
    tokens: list[TokenLogprob], display_tokens: list[DisplayToken]
) -> None:
    assert build_display_tokens(tokens) == display_tokens
