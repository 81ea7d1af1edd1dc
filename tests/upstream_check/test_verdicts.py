"""The pure parts of a check: times, forms of errors, names of models."""

import gzip

import pytest

from chatapp.upstream.events import AnswerDelta
from chatapp.upstream.recordings import Read, Recording
from chatapp.upstream.reply import Reply
from chatapp.upstream_check import Verdict, model_for_chat
from chatapp.upstream_check.answers import Answer, answer_of, form_of
from chatapp.upstream_check.timing import Timing
from chatapp.upstream_check.verdicts import closing_row
from tests.upstream_check import recorded


@pytest.mark.parametrize(
    ("times", "seems_buffered"),
    [
        ([0.5 + 0.02 * n for n in range(40)], False),  # a model that writes
        ([0.001 * n for n in range(40)], False),  # a fast one, without a silence
        ([0.5] * 40, True),  # the whole reply at once
        ([0.5 * (n // 10 + 1) for n in range(40)], True),  # a block of ten at a time
        ([0.5 + 0.1 * (n // 4) for n in range(40)], False),  # four at a time, often
        ([0.5] * 5, False),  # too few to say
        ([0.5] * 8 + [0.6 + 0.02 * n for n in range(40)], False),  # a burst at the start alone
    ],
)
def test_a_buffer_shows_in_bursts_after_silence(times: list[float], seems_buffered: bool) -> None:
    assert Timing.of(times).seems_buffered is seems_buffered


def test_times_are_measured() -> None:
    measured = Timing.of([0.5, 0.6, 0.8, 0.9])
    assert measured.first == 0.5
    assert measured.median_gap == pytest.approx(0.1)
    assert measured.longest_gap == pytest.approx(0.2)


def test_a_slow_answer_after_a_close_is_a_note() -> None:
    reply = Reply()
    reply.apply(AnswerDelta("Hello"))
    row = closing_row(0.5, Answer(reply, delta_times=(8.0,)))
    assert row.found == "a request right after a close was answered after 8.0 s (500 ms before)"
    assert (row.verdict, "go on writing for nobody" in row.advice) == (Verdict.NOTE, True)
    prompt = closing_row(0.5, Answer(reply, delta_times=(0.6,)))
    assert prompt.found.startswith("can't be seen from here")


def test_a_packed_recording_is_read() -> None:
    packed = gzip.compress(recorded("aigateway"))
    reads = (Read(0.1, packed[:40]), Read(0.2, packed[40:]))
    recording = Recording("auto", "m", reads, headers={"content-encoding": "gzip"})
    assert answer_of(recording, "").reply.answer == "Hello there"
    other = Recording("auto", "m", reads, headers={"content-encoding": "br"})
    error = answer_of(other, "").reply.error
    assert error
    assert "packed as br" in error.message


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'{"error": {"message": 1, "type": 2}}', '{"error": {"message", "type"}}'),
        (b'{"error": "text"}', '{"error"}'),
        (b'{"detail": [], "code": 1}', '{"code", "detail"}'),
        (b"[1]", "JSON that is no object"),
        (b" <html>", "HTML"),
        (b"oh no", "plain text"),
        (b"", "an empty body"),
    ],
)
def test_the_form_of_an_error_is_named(body: bytes, form: str) -> None:
    assert form_of(body) == form


def test_a_model_for_something_else_is_not_asked_first() -> None:
    assert model_for_chat(["text-embedding-3", "whisper-1", "gpt-4o"]) == "gpt-4o"
    assert model_for_chat(["text-embedding-3"]) == "text-embedding-3"
    assert model_for_chat([]) == ""
