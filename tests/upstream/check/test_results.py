"""Findings about an answer."""

from chatapp.checks.results import Status
from chatapp.upstream.check.answers import Answer
from chatapp.upstream.check.results import closing_result
from chatapp.upstream.wire.events import AnswerDelta
from chatapp.upstream.wire.reply import Reply


def test_a_slow_answer_after_a_close_is_a_note() -> None:
    reply = Reply()
    reply.apply(AnswerDelta("Hello"))
    row = closing_result(0.5, Answer(reply, delta_times=(8.0,)))
    assert row.finding == "a request right after a close was answered after 8.0 s (500 ms before)"
    assert (row.status, "keep writing after a close" in row.remedy) == (Status.NOTE, True)
    prompt = closing_result(0.5, Answer(reply, delta_times=(0.6,)))
    assert prompt.finding.startswith("not visible from here")
