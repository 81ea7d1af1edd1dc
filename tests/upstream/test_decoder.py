"""The whole pure path, from bytes to events, over what upstreams send and over anything at all."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream import choices as choices_module
from chatapp.upstream import decoder as decoder_module
from chatapp.upstream.decoder import EventDecoder
from chatapp.upstream.errors import ErrorKind
from chatapp.upstream.events import (
    AnswerDelta,
    Event,
    Failed,
    Finished,
    ReasoningDelta,
    ReasoningFieldSeen,
    RefusalDelta,
    ResponseStarted,
    ServiceNamed,
    StreamDone,
    TokenUsage,
    UsageReported,
)
from chatapp.upstream.reply import Ending
from tests.fake_upstream import (
    choice,
    chunk,
    delta,
    done,
    error,
    finish,
    frame,
    reasoning,
    refusal,
    role,
    usage,
)
from tests.upstream import events_of, folded, reply_of


def test_the_events_of_a_reply_come_in_order() -> None:
    assert events_of(reasoning("Hm."), delta("Hi"), finish(), usage(1, 2), done()) == [
        ResponseStarted("chatcmpl-1", "google/gemini-3-flash"),
        ReasoningFieldSeen("reasoning_content"),
        ReasoningDelta("Hm."),
        AnswerDelta("Hi"),
        Finished("stop"),
        UsageReported(TokenUsage(1, 2, 3)),
        StreamDone(),
    ]


@pytest.mark.parametrize(
    ("content", "events"),
    [
        ({"choices": [{"delta": {"content": "x"}}]}, [AnswerDelta("x")]),
        ({"choices": [{"index": None, "delta": {"content": "x"}}]}, [AnswerDelta("x")]),
        ({"choices": [{"index": 1, "delta": {"content": "x"}}]}, [AnswerDelta("x")]),
        (
            {"choices": [{}, {"index": 1, "delta": {"content": "x"}}]},
            [AnswerDelta("x", choice=1)],
        ),
        ({"choices": [{"message": {"content": "x"}}]}, [AnswerDelta("x")]),
        (
            {"choices": [{"delta": {"content": "x"}, "message": {"content": "x"}}]},
            [AnswerDelta("x")],
        ),
        (
            {"choices": [{"delta": {"reasoning_details": [{"text": "x"}, 5, {"text": 5}]}}]},
            [ReasoningDelta("x")],
        ),
        ({"choices": [{"delta": {"reasoning_details": "x"}}]}, []),
        ({"service_tier": "flex", "system_fingerprint": 5}, [ServiceNamed("flex", "")]),
        ({"moderation": {"input": None}}, []),
        ({"moderation": "flagged"}, []),
        (
            {"choices": [{"delta": {"reasoning": "x"}}]},
            [ReasoningFieldSeen("reasoning"), ReasoningDelta("x")],
        ),
        (
            {"choices": [{"delta": {"reasoning": "x", "reasoning_content": "x"}}]},
            [ReasoningFieldSeen("reasoning_content"), ReasoningDelta("x")],
        ),
        (
            {"choices": [{"delta": {"reasoning_content": "a", "content": "b", "refusal": "c"}}]},
            [
                ReasoningFieldSeen("reasoning_content"),
                *(ReasoningDelta("a"), AnswerDelta("b"), RefusalDelta("c")),
            ],
        ),
        (
            {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]},
            [AnswerDelta("x"), Finished("stop")],
        ),
        (
            {
                "choices": [{"delta": {}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 2},
            },
            [Finished("stop"), UsageReported(TokenUsage(1, 2, 3))],
        ),
        (
            {
                "choices": [{"index": 0, "delta": {}}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 2},
            },
            [UsageReported(TokenUsage(1, 2, 3))],
        ),
        (
            {"usage": {"prompt_tokens": 1, "completion_tokens": 2}},
            [UsageReported(TokenUsage(1, 2, 3))],
        ),
        ({"usage": {}}, []),
        ({"choices": [{"delta": {"content": "a\0b"}}]}, [AnswerDelta("a\ufffdb")]),
        ({"error": None}, []),
        ({"id": "", "model": "", "choices": []}, []),
        ({"choices": [{"index": 0, "delta": {}}] * 10_000}, []),
    ],
)
def test_a_chunk_of_any_shape_gives_its_events(content: object, events: list[Event]) -> None:
    assert events_of(frame(content)) == events


def test_the_last_of_cumulative_usages_counts() -> None:
    counts = [{"prompt_tokens": 5, "completion_tokens": n} for n in (1, 2, 3)]
    stream = b"".join(chunk([{"index": 0, "delta": {"content": "x"}}], usage=c) for c in counts)
    assert reply_of(stream).usage == TokenUsage(5, 3, 8)


def test_tags_are_text_where_the_reasoning_has_its_own_field() -> None:
    reply = reply_of(reasoning("Hm."), delta("<think> is a tag."))
    assert (reply.reasoning, reply.answer) == ("Hm.", "<think> is a tag.")


@pytest.mark.parametrize("last", [finish(), done(), error(), b"data: ?\n\n", b""])
def test_text_held_back_for_a_tag_is_never_lost(last: bytes) -> None:
    assert reply_of(delta("<thi"), last).answer == "<thi"
    reply = reply_of(delta("<think>Hm. </thi"), last)
    assert (reply.reasoning, reply.answer) == ("Hm. </thi", "")


@pytest.mark.parametrize("last", [done(), error()])
def test_nothing_counts_after_the_end(last: bytes) -> None:
    assert events_of(last, delta("late")) == events_of(last) == events_of(last + delta("late"))


def test_a_broken_event_is_left_out_and_the_reply_is_never_called_whole() -> None:
    broken = b'data: {"choices": [{"delta": {"content": "lo\n\n'
    events = events_of(delta("a") + broken + delta("b"), broken + finish() + usage(1, 2) + done())
    reply = folded(events)
    assert (reply.answer, reply.finish_reason, reply.ending) == ("ab", "stop", Ending.FAILED)
    assert reply.error
    assert reply.error.kind is ErrorKind.MALFORMED
    assert "Unterminated" in reply.error.message
    assert reply.left_out == {"an event of broken JSON": 2}
    assert reply.usage
    hundred = events_of(delta("a") + broken * 100 + delta("b"))
    assert isinstance(hundred[-1], Failed)
    assert AnswerDelta("b") not in hundred


@pytest.mark.parametrize(
    ("stream", "left_out"),
    [
        (b'data: {"choices": 5}\n\n', {"choices": 1}),
        (b'data: {"choices": [{"index": {}, "delta": {"content": true}}]}\n\n', {"content": 1}),
        (b'data: {"choices": [{"delta": 5}]}\n\n' * 2, {"delta": 2}),
        (b'data: {"choices": [{"delta": {"tool_calls": ["x"]}}]}\n\n', {"tool_calls": 1}),
        (b"data: ping\n\n", {"an event that is no JSON": 1}),
        (b"data: 5\n\n", {"event": 1}),
        # nothing at all is nothing that is left out
        (b"data: null\n\ndata: []\n\ndata: {}\n\n", {}),
        (b'data: {"choices": [{"delta": []}], "usage": []}\n\n', {}),
        (b'data: {"choices": [null, {"delta": {"content": null, "tool_calls": false}}]}\n\n', {}),
        (b'event: heartbeat\ndata: 12:30\n\nevent: progress\ndata: {"done": 5}\n\n', {}),
    ],
)
def test_what_can_not_be_read_is_left_out_and_counted(
    stream: bytes, left_out: dict[str, int]
) -> None:
    reply = reply_of(delta("a") + stream + delta("b") + finish() + done())
    assert (reply.answer, reply.ending, reply.left_out) == ("ab", Ending.COMPLETE, left_out)


@pytest.mark.parametrize(
    "odd",
    [
        {"index": "0", "delta": {"content": "12"}},
        {"index": 7, "delta": {"content": "12"}},
        {"index": 10**9, "delta": {"content": "12"}},
        {"delta": {"content": 12}},
        {"delta": {"content": ["1", {"type": "text", "text": "2"}]}},
        {"delta": {"content": {"type": "text", "text": "12"}}},
        {"delta": {"audio": {"id": "a", "transcript": "12"}}},
        {"message": {"content": "12"}},
    ],
)
@pytest.mark.parametrize("of_chunk", [{}, {"id": 5, "model": None}, {"usage": []}])
def test_a_field_of_another_type_is_read_as_what_it_means(
    odd: dict[str, object], of_chunk: dict[str, object]
) -> None:
    stream = frame({**of_chunk, "choices": [odd]}), frame({**of_chunk, "choices": {"0": odd}})
    for one in stream:
        reply = reply_of(one, finish(), done())
        assert (reply.answer, reply.ending, reply.left_out) == ("12", Ending.COMPLETE, {})


def test_parts_of_content_are_reasoning_answer_images_or_left_out() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}, "!"]},
        *("Hi", {"type": "text", "text": " there"}, {"type": "image_url", "image_url": PNG}),
        *({"type": "reference", "reference_ids": [1]}, None, {"text": ""}),
    ]
    reply = reply_of(frame({"choices": [{"delta": {"content": parts}}]}))
    assert (reply.reasoning, reply.answer, len(reply.images)) == ("Hm.!", "Hi there", 1)
    assert reply.left_out == {"content of type reference": 1, "content": 1}


def test_a_finish_in_every_chunk_is_none_until_the_stream_ends() -> None:
    words = [
        frame({"choices": [{"delta": {"content": one}, "finish_reason": "stop"}]}) for one in "ab"
    ]
    decoder = EventDecoder()
    decoder.receive_data(words[0])
    assert decoder.has_finished
    decoder.receive_data(words[1])
    assert not decoder.has_finished
    assert folded(events_of(*words)).ending is Ending.COMPLETE
    assert folded(events_of(*words, done())).finish_reason == "stop"
    decoder, reply = EventDecoder(), folded([])
    for event in [*decoder.receive_data(b"".join(words)), *decoder.close(was_cut=True)]:
        reply.apply(event)
    assert (reply.answer, reply.ending) == ("ab", Ending.CUT_OFF)


def test_an_image_after_the_finish_belongs_to_the_whole_reply() -> None:
    reply = reply_of(delta("Look:"), finish(), images(PNG), done())
    assert (len(reply.images), reply.finish_reason, reply.ending) == (1, "stop", Ending.COMPLETE)


def test_a_message_that_repeats_what_was_streamed_is_not_said_again() -> None:
    whole = frame({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})
    for before in (b"", role(), delta("Hi")):
        assert reply_of(before, whole, done()).answer == "Hi"


IMAGE_BYTES = b"\x89PNG\r\n\x1a\n and more"
PNG = f"data:image/png;base64,{base64.b64encode(IMAGE_BYTES).decode()}"


def images(*urls: object) -> bytes:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return choice({"images": parts})


def test_images_are_told_by_their_bytes_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def encoded(data: bytes, kind: str = "png") -> str:
        return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"

    kinds = [b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", IMAGE_BYTES]
    reply = reply_of(images(*map(encoded, kinds)), finish())
    told = [image.media_type.removeprefix("image/") for image in reply.images]
    assert told == ["jpeg", "gif", "webp", "png"]
    assert reply.images[3].data == IMAGE_BYTES
    assert (reply.ending, reply.left_out) == (Ending.COMPLETE, {})
    hostile = ["https://tracker.example/x.png", encoded(b"<svg onload=alert(1)>", "svg+xml")]
    hostile += [encoded(b"<svg>"), "data:text/html;base64,PGI+", "data:image/png;base64,%%%", 5]
    assert reply_of(images(*hostile), finish()).left_out == {"image": 6}
    assert len(reply_of(images(*[PNG] * 20)).images) == 16
    monkeypatch.setattr(choices_module, "MAX_IMAGES_BYTES", 2 * len(IMAGE_BYTES))
    assert len(reply_of(images(PNG, PNG), images(PNG)).images) == 2


def test_sources_are_links_each_once_with_its_title() -> None:
    urls = ["https://a.example/x", "http://b.example/"]
    cited = [{"title": "Title <b>", "url": urls[0], "date": None}, {"url": "https://c.example"}]
    annotation = {"type": "url_citation", "url_citation": {"url": urls[1], "title": "B"}}
    reply = reply_of(
        *[frame({"citations": urls, "search_results": cited, "choices": []})] * 3,
        choice({"annotations": [annotation, annotation]}),
        frame({"usage": {"prompt_tokens": 1, "completion_tokens": 2, "num_sources_used": 4}}),
    )
    said = [(source.url, source.title) for source in reply.sources.values()]
    assert said == [(urls[0], "Title <b>"), (urls[1], "B"), ("https://c.example", "")]
    assert (reply.source_count, reply.left_out) == (4, {})


def test_sources_that_are_no_links_are_left_out_and_their_number_is_bounded() -> None:
    hostile = ["javascript:alert(1)", "data:text/html,x", "https://bank.example@evil.example/", 5]
    hostile += ["https://", "//a.example", "https://a.example/ b", "https://[", "h" * 3000, None]
    reply = reply_of(frame({"citations": hostile}))
    assert (reply.sources, reply.left_out) == ({}, {"source": len(hostile)})
    many = [f"https://a.example/{number}" for number in range(500)]
    assert len(reply_of(frame({"citations": many})).sources) == 100


def test_zeros_after_a_usage_are_none() -> None:
    zeros = chunk([], usage={"prompt_tokens": 0, "completion_tokens": 0})
    assert reply_of(usage(1, 2), zeros).usage == TokenUsage(1, 2, 3)
    assert reply_of(zeros).usage == TokenUsage(0, 0, 0)


def test_a_line_without_an_end_fails_the_reply_and_keeps_what_came_before() -> None:
    reply = reply_of(delta("kept") + b"data:" + b"x" * 2_000_000)
    assert reply.answer == "kept"
    assert reply.error
    assert reply.error.kind is ErrorKind.TOO_LARGE


@pytest.mark.parametrize("cut", [1, 2, 3, 40, 100])
def test_half_a_chunk_at_the_end_is_a_cut_and_no_failure(cut: int) -> None:
    reply = reply_of(delta("one ") + delta("two")[:-cut])
    assert reply.answer == ("one " if cut > 2 else "one two")
    assert reply.ending is Ending.CUT_OFF


def test_the_last_event_needs_no_blank_line() -> None:
    assert events_of(delta("x") + b"data: [DONE]")[-1] == StreamDone()
    assert events_of(finish()[:-2])[-1] == Finished("stop")
    assert isinstance(events_of(error()[:-1])[-1], Failed)


def test_comments_blank_data_and_unknown_events_say_nothing() -> None:
    pings = b": ping\n\ndata:\n\ndata:  \n\nevent: ping\ndata: {}\n\n"
    assert events_of(pings + refusal("No.") + pings)[1:] == [RefusalDelta("No.")]


def test_the_key_is_taken_out_of_error_frames() -> None:
    events = events_of(error("bad key sk-a-secret-key"), secret="sk-a-secret-key")
    assert "sk-a" not in str(events)
    assert "sk-a" not in repr(EventDecoder("sk-a-secret-key"))


def test_names_of_any_length_are_cut_to_what_can_be_stored() -> None:
    content = {"id": "i" * 999, "model": "m" * 999, "choices": [{"finish_reason": "f" * 999}]}
    started, finished = events_of(frame(content))
    assert isinstance(started, ResponseStarted)
    assert isinstance(finished, Finished)
    assert len(started.response_id) == len(started.model) == 200
    assert len(finished.finish_reason) == 100


def test_a_service_that_gets_better_known_is_named_again() -> None:
    stream = frame({"service_tier": "flex"}) * 2 + frame({"system_fingerprint": "fp_1"})
    assert events_of(stream) == [ServiceNamed("flex", ""), ServiceNamed("flex", "fp_1")]


def test_a_stream_has_finished_when_all_its_choices_have() -> None:
    decoder = EventDecoder(asked_choices=2)
    decoder.receive_data(finish())
    assert not decoder.has_finished
    decoder.receive_data(chunk([{"index": 1, "delta": {}, "finish_reason": "stop"}]))
    assert decoder.has_finished


@pytest.mark.parametrize("index", [-1, 16, 10**9])
def test_an_index_out_of_range_fails_the_reply_and_keeps_what_came_before(index: int) -> None:
    stray = chunk([{"index": index, "delta": {"content": "lost"}}])
    reply = folded(events_of(delta("kept") + stray + delta("lost"), choices=2))
    assert reply.answer == "kept"
    assert reply.error
    assert reply.error.kind is ErrorKind.OUT_OF_RANGE
    assert f"index {index}; 16 choices" in reply.error.message


def test_a_reply_without_an_end_fails_and_keeps_what_came_before() -> None:
    pages = [delta("x" * 1_000_000)] * 8 + [delta("y" * 1_000_000)]
    reply = reply_of(*pages)
    assert reply.answer == "x" * 8_000_000
    assert reply.error
    assert reply.error.kind is ErrorKind.TOO_LARGE
    assert "8388608 characters" in reply.error.message


def test_a_stream_that_says_nothing_for_ever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_module, "MAX_BODY_BYTES", 1000)
    (failed,) = events_of(*[b": ping\n\n"] * 200)
    assert isinstance(failed, Failed)
    assert failed.error.kind is ErrorKind.TOO_LARGE
    assert "1000 bytes" in failed.error.message


COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": "Hm.",
                "content": "Hi",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
                ],
            },
            "finish_reason": "tool_calls",
        },
        {"index": 1, "message": {"content": "<think>Hm.</think>Ho"}, "finish_reason": "stop"},
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2},
}


def test_an_answer_that_is_json_is_a_whole_reply() -> None:
    events = EventDecoder().receive_completion(json.dumps(COMPLETION).encode())
    assert events
    first, second = folded(events), folded(events, choice=1)
    assert (first.reasoning, first.answer, first.ending) == ("Hm.", "Hi", Ending.COMPLETE)
    assert [call.name for call in first.tool_calls] == ["f", "g"]
    assert (second.reasoning, second.answer) == ("Hm.", "Ho")
    assert (first.response_id, first.usage) == ("chatcmpl-1", TokenUsage(1, 2, 3))
    assert first.is_done


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"choices": []}', b'{"choices": [{}]}', b"<html>", b'{"error": "x"}']
)
def test_json_without_a_choice_is_no_reply(body: bytes) -> None:
    assert EventDecoder().receive_completion(body) is None


FRAGMENTS = [delta("a"), delta("<think>"), reasoning("r"), finish(), usage(), done(), error()]
FRAGMENTS += [
    delta("a</thi"),
    delta("nk>"),
    b'data: {"choices":[{"logprobs":{"content":[{}]}}]}\n\n',
]
CALLS: list[object] = [{}, {"index": 1, "id": "a"}, {"index": 999}, {"function": {"arguments": {}}}]
FRAGMENTS += [
    frame({"choices": [{"index": index, "delta": {"tool_calls": [call]}}]})
    for index in (0, 1, 99)
    for call in CALLS
]
SPLINTERS = [
    rb'data: {"choices":[{"delta":{"content":"\ud800"}}]}',
    b"\n\n",
    b"\r",
    b"data: {",
    b"\0",
]


@given(st.lists(st.binary(max_size=30) | st.sampled_from(FRAGMENTS + SPLINTERS), max_size=8))
def test_any_bytes_give_storable_events_and_raise_nothing(reads: list[bytes]) -> None:
    events = events_of(*reads)
    assert events == events_of(b"".join(reads))
    assert "\0" not in str(events)
    str(events).encode()
