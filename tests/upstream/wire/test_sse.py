"""The SSE decoder, with the HTML standard's examples and with what gateways send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.wire.decoding.sse import (
    MAX_EVENT_BYTES,
    MAX_IMAGE_EVENT_BYTES,
    STRAY,
    Decoder,
    EventTooLarge,
    ServerSentEvent,
)


def decode_events(*reads: bytes) -> list[tuple[str, str]]:
    decoder = Decoder()
    events = [event for data in reads for event in decoder.receive_data(data)]
    return [(event.event, event.data) for event in events + decoder.close()]


def decode_messages(*reads: bytes) -> list[str]:
    return [data for event, data in decode_events(*reads) if event != STRAY]


@pytest.mark.parametrize(
    ("stream", "messages"),
    [
        # HTML standard, section 9.2.6
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", ["YHOO\n+2\n10"]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
            b"data:  third event\n\n",
            ["first event", "second event", " third event"],
        ),
        (b"data\n\ndata\ndata\n\n", ["", "\n"]),
        (b"data:test\n\ndata: test\n\n", ["test", "test"]),
        # what gateways send
        (b"", []),
        (b"\n\n\n", []),
        (b": OPENROUTER PROCESSING\n\ndata: x\n\n", ["x"]),
        (b": ping\ndata: x\n\n", ["x"]),
        (b"\xef\xbb\xbfdata: x\n\n", ["x"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", ["x"]),
        (b"data: x\r\ndata: y\r\n\r\ndata: z\r\n\r\n", ["x\ny", "z"]),
        (b"data: x\rdata: y\r\rdata: z\r\r", ["x\ny", "z"]),
        (b"data: x\n\r\ndata: y\r\r\ndata: z\n\n", ["x", "y", "z"]),
        (b'data:{"a": 1}\n\n', ['{"a": 1}']),
        (b"data: the last one", ["the last one"]),
        (b"data: x\n\ndata: the last one\n", ["x", "the last one"]),
        (b"data: the last one\r", ["the last one"]),
        (b"datum: x\nDATA: y\nretry: 5\n\n", []),
        ("data: a\u2028b\u0085c\x0bd\x0c\x1ce\n\n".encode(), ["a\u2028b\u0085c\x0bd\x0c\x1ce"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        ("data: 🤔 数\n\n".encode(), ["🤔 数"]),
    ],
)
def test_a_stream_gives_the_same_events_at_every_split(stream: bytes, messages: list[str]) -> None:
    assert decode_messages(stream) == messages
    for i in range(len(stream)):
        assert decode_messages(stream[:i], stream[i:]) == messages
    assert decode_messages(*(stream[i : i + 1] for i in range(len(stream)))) == messages


def test_an_event_type_applies_to_one_event_only() -> None:
    stream = b"event: add\ndata: 1\n\ndata: 2\n\nevent: gone\n\ndata: 3\n\n"
    assert decode_events(stream) == [("add", "1"), ("message", "2"), ("message", "3")]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # no blank line between events, with and without names, throughout or once
        (
            b'data: {"a":1}\ndata: {"b":2}\ndata: {"c":3}\ndata: [DONE]\n',
            [("message", text) for text in ('{"a":1}', '{"b":2}', '{"c":3}', "[DONE]")],
        ),
        (
            b'event: add\ndata: {"a":1}\nevent: error\ndata: {"b":2}\nevent: add\ndata: {"c":3}\n',
            [("error", '{"a":1}'), ("message", '{"b":2}'), ("add", '{"c":3}')],
        ),
        (b'data: null\ndata: {"a":1}\n\n', [("message", "null"), ("message", '{"a":1}')]),
        # JSON over several lines is one event
        (b'data: {"a": [{"b": 1},\ndata: {"c": 2}]\ndata: }\n\n',
         [("message", '{"a": [{"b": 1},\n{"c": 2}]\n}')]),
        # llama.cpp's own server
        (b'error: {"code":500}\n\n', [("error", '{"code":500}')]),
        (b"event: error\n\ndata: x\n\n", [("error", ""), ("message", "x")]),
        # lines that are not a field
        (b'{"a":1}\n{"b":2}\n', [(STRAY, '{"a":1}'), (STRAY, '{"b":2}')]),
        (b'{\n "a": 1\n}', [(STRAY, '{\n "a": 1\n}')]),
        (b"data: x\nupstream error: gone\n\n", [("message", "x"), (STRAY, "upstream error: gone")]),
    ],
)  # fmt: skip
def test_events_of_sloppy_servers_are_separated_at_every_split(
    stream: bytes, events: list[tuple[str, str]]
) -> None:
    assert decode_events(stream) == events
    for i in range(len(stream)):
        assert decode_events(stream[:i], stream[i:]) == events


def test_events_without_blank_lines_are_returned_at_once() -> None:
    decoder = Decoder()
    assert decoder.receive_data(b'data: {"a":1}\n') == []
    assert len(decoder.receive_data(b'data: {"b":2}\n')) == 2
    assert len(decoder.receive_data(b'data: {"c":3}\n')) == 1
    assert Decoder().receive_data(b"data: [DONE]\n") == [ServerSentEvent("message", "[DONE]")]


def test_an_event_is_returned_as_soon_as_its_blank_line_arrives() -> None:
    for stream in (b"data: x\n\n", b"data: x\r\r", b"data: x\r\n\r"):
        assert Decoder().receive_data(stream) == [ServerSentEvent("message", "x")]


def test_an_event_of_the_largest_size_is_accepted() -> None:
    line = b"data:" + b"x" * (MAX_EVENT_BYTES - 5)
    assert len(decode_messages(line + b"\n\n" + line + b"\n\n")) == 2


@pytest.mark.parametrize(
    "hostile",
    [
        b"data:" + b"x" * MAX_EVENT_BYTES,
        b"data:" + b"x" * MAX_EVENT_BYTES + b"\n\n",
        b": a comment " + b"x" * MAX_EVENT_BYTES,
        (b"data:" + b"x" * 1000 + b"\n") * (MAX_EVENT_BYTES // 1000),
    ],
    ids=["a line without an end", "a line", "a comment", "many lines"],
)
def test_an_event_that_is_too_large_is_an_error_with_the_events_before_it(hostile: bytes) -> None:
    with pytest.raises(EventTooLarge) as raised:
        Decoder().receive_data(b"data: before\n\n" + hostile)
    assert [event.data for event in raised.value.events] == ["before"]
    with pytest.raises(EventTooLarge):
        decode_events(*(hostile[i : i + 60_000] for i in range(0, len(hostile), 60_000)))


IMAGE = b'data: {"url":"data:image/png;base64,'


def test_an_image_may_be_larger_than_text() -> None:
    line = IMAGE + b"A" * (MAX_IMAGE_EVENT_BYTES - len(IMAGE))
    assert len(decode_messages(line + b"\n\n" + line + b"\n\n")) == 2
    pieces = [line[start : start + 300_000] for start in range(0, len(line), 300_000)]
    assert len(decode_messages(*pieces, b"\n\n")) == 1
    after_it = b"data:" + b"x" * MAX_EVENT_BYTES
    for hostile in (line + b"A", line + b"\n\n" + after_it, after_it + IMAGE):
        for step in (300_000, len(hostile)):
            reads = [hostile[start : start + step] for start in range(0, len(hostile), step)]
            with pytest.raises(EventTooLarge):
                decode_events(*reads)


def test_a_long_line_in_tiny_reads_is_joined_once() -> None:
    decoder = Decoder()
    for _ in range(50_000):
        assert decoder.receive_data(b"data: x") == []
    assert len(decoder.unfinished) == 50_000  # not joined until the line ends
    assert len(decoder.receive_data(b"\n\n")) == 1
    assert decoder.unfinished == []


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_give_the_same_events_however_they_are_split(reads: list[bytes]) -> None:
    assert decode_events(*reads) == decode_events(b"".join(reads))


@given(st.lists(st.text("dat: \r\nevx\ufeff", max_size=20).map(str.encode), max_size=6))
def test_almost_valid_fields_give_the_same_events_however_they_are_split(
    reads: list[bytes],
) -> None:
    assert decode_events(*reads) == decode_events(b"".join(reads))
