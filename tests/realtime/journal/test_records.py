"""The records of a reply's file survive a round trip; anything else is rejected."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from chatapp.realtime.journal.records import (
    LEFT_OUT,
    EventsReceived,
    Heading,
    Record,
    RequestSent,
    RoundEnded,
    ToolRunChanged,
    decode_events,
    encode_events,
    encode_record,
    read_records,
)
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Event,
    Failed,
    Finished,
    LogprobsDelta,
    ReasoningDelta,
    ToolCallDelta,
    UsageReported,
)
from chatapp.upstream.wire.events import TokenUsage as Tokens
from chatapp.upstream.wire.requests.estimates import PromptSize

RUN = ToolRun("call_0", "clock", "{}", RunState.DONE, "noon")
EVENTS: list[Event] = [
    ReasoningDelta("Hm.", choice=2),
    AnswerDelta("line\nbreak \u2028 and “quotes”"),
    ToolCallDelta(0, "call_0", "clock", '{"zone'),
    UsageReported(Tokens(1, 2, 3, cached_tokens=1)),
    Failed(UpstreamError(ErrorKind.STREAM_ERROR, "broke", status=500)),
    Finished("stop"),
]
FILE: list[Record] = [
    Heading("here", uuid4(), uuid4()),
    RequestSent(PromptSize(1, 2, 3, 4), 2),
    ToolRunChanged(0, RUN),
    RoundEnded(Round("Hm.", "So.", "", [RUN], "tool_calls", "id", {"total_tokens": 3})),
]


def events_in(data: bytes) -> list[Event]:
    arrived = [record for record in read_records(data) if isinstance(record, EventsReceived)]
    return [event for record in arrived for event in decode_events(record)]


def test_records_survive_a_round_trip() -> None:
    assert list(read_records(b"".join(map(encode_record, FILE)))) == FILE
    assert events_in(encode_events(EVENTS)) == EVENTS


def test_a_read_is_one_line_unless_it_holds_no_text() -> None:
    assert encode_events(EVENTS).count(b"\n") == 1
    assert encode_events([LogprobsDelta()]) == b""
    assert LogprobsDelta in LEFT_OUT


@given(st.integers(0, 400))
def test_a_file_torn_anywhere_is_read_up_to_the_tear(size: int) -> None:
    whole = (
        encode_events([AnswerDelta("one")])
        + encode_events([AnswerDelta("two")])
        + encode_events([Finished("x")])
    )
    read = events_in(whole[:size])
    assert read == events_in(whole)[: len(read)]
    assert len(read) == whole[:size].count(b"\n")


@pytest.mark.parametrize(
    "strange",
    [
        b"\n",
        b"\0" * 512 + b"\n",
        b"{}\n",
        b'["delete", 1]\n',
        b'["events", 1]\n',
        b'["run", "x", {}]\n',
        b'["run", 0, {"id": "", "name": "", "arguments": "", "state": "mad"}]\n',
        b'["ask", {"messages": -1}, 2]\n',
        b"[" * 100_000 + b"\n",
        b"\xff\xfe\n",
    ],
)
def test_nothing_after_an_invalid_line_is_read(strange: bytes) -> None:
    before = encode_events([AnswerDelta("one")])
    assert events_in(before + strange + encode_events([AnswerDelta("two")])) == [AnswerDelta("one")]


@pytest.mark.parametrize(
    "strange",
    [
        b'["events", [["AnswerDelta", {"text": 1}]]]\n',
        b'["events", [["AnswerDelta", {}]]]\n',
        b'["events", [["Popen", {"text": ""}]]]\n',
        b'["events", [["LogprobsDelta", {}]]]\n',
    ],
)
def test_anything_but_an_event_is_refused(strange: bytes) -> None:
    with pytest.raises(ValueError, match=r"event|AnswerDelta|expected|required|Expected|Object"):
        events_in(strange)
