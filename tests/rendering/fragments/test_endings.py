"""The endings of replies: how an upstream causes them, what a person is shown and can do then.

Each row is a stream with its ending, read by the real decoder, stored by the real model and drawn
by the page's own partial. An incomplete reply is never `complete`.
"""

import gzip
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import unescape
from uuid import uuid4

import pytest

from chatapp.models import Conversation, Message, Usage
from chatapp.rendering.fragments.endings import FAILED, build_notice
from chatapp.rendering.fragments.replies import ReplyView, reply_html
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import Event, Failed
from chatapp.upstream.wire.reply import Reply
from tests.support.drawn import render_html
from tests.support.fake_upstream import (
    Abort,
    Close,
    FakeUpstream,
    Pause,
    Script,
    Stall,
    Step,
    build_response,
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
from tests.upstream import RECORDINGS
from tests.upstream.wire.test_recorded_streams import ASKED_CHOICES

HALF = role() + delta("Packets ")
TEXT = HALF + delta("in flight")
THOUGHT = role() + reasoning("Hm.")
CALL = choice({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]})
PNG = "data:image/png;base64,iVBORw0KGgo="


def error_event(data: str) -> bytes:
    return f"event: error\ndata: {data}\n\n".encode()


def odd_finish(finish_reason: str, **more: object) -> bytes:
    return chunk([{"index": 0, "delta": {}, "finish_reason": finish_reason, **more}])


OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}
OPENROUTER = {
    "code": 502,
    "message": "Provider returned error",
    "metadata": {"provider_name": "Acme", "raw": '{"error": {"message": "GPU on fire"}}'},
}
COMPLETION = {"id": "1", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}


@dataclass(frozen=True)
class ExpectedEnding:
    """The expected display: the ending, part of its notice ("" if there is none), and the
    actions."""

    ending: str
    words: str = ""
    can_continue: bool = False
    urges_retry: bool = False


WHOLE = ExpectedEnding("complete")
LENGTH = ExpectedEnding("length", "reached its length limit", can_continue=True)
FILTERED = ExpectedEnding("content_filter", "content filter ended the reply")
REFUSED = ExpectedEnding("refused", "declined to answer")
CUT = ExpectedEnding(
    "cut_off", "ended before the reply was complete. The text so far has been saved", True, True
)
NOTHING = ExpectedEnding("no_answer", "ended the reply without an answer", urges_retry=True)
ONLY_THOUGHT = ExpectedEnding("no_answer", "thought, but gave no answer", urges_retry=True)


def build_failure(words: str, can_continue: bool = True) -> ExpectedEnding:
    return ExpectedEnding("failed", words, can_continue, urges_retry=True)


ROWS: list[tuple[str, bytes, ExpectedEnding]] = [
    # finish reasons, those of OpenAI first
    ("stop", TEXT + finish() + usage() + done(), WHOLE),
    ("stop, with the last content", choice({"content": "Hi"}, "stop") + done(), WHOLE),
    ("stop, and the end without [DONE]", TEXT + finish(), WHOLE),
    ("length", HALF + finish("length") + done(), LENGTH),
    (
        "length after reasoning",
        THOUGHT + finish("length") + done(),
        ExpectedEnding("length", "length limit before its answer began", urges_retry=True),
    ),
    ("content_filter", HALF + finish("content_filter") + done(), FILTERED),
    ("tool_calls", role() + CALL + finish("tool_calls") + done(), WHOLE),
    ("function_call", role() + CALL + finish("function_call") + done(), WHOLE),
    ("a refusal", role() + refusal("No.") + finish() + done(), REFUSED),
    ("Mistral's model_length", HALF + finish("model_length") + done(), LENGTH),
    ("max_tokens", HALF + finish("max_tokens") + done(), LENGTH),
    ("Gemini's MAX_TOKENS", HALF + finish("MAX_TOKENS") + done(), LENGTH),
    ("Gemini's SAFETY", HALF + finish("SAFETY") + done(), FILTERED),
    ("Anthropic's refusal", role() + finish("refusal") + done(), REFUSED),
    ("Together's eos", TEXT + finish("eos") + done(), WHOLE),
    ("an empty one, and no other", HALF + finish("") + done(), CUT),
    ("Mistral's error", HALF + finish("error") + done(), build_failure("with “error”")),
    (
        "DeepSeek's insufficient_system_resource",
        HALF + finish("insufficient_system_resource") + done(),
        build_failure("with “insufficient_system_resource”"),
    ),
    ("an unknown one", TEXT + finish("abort") + done(), build_failure("with “abort”")),
    (
        "an unknown one after nothing",
        finish("abort") + done(),
        build_failure("with “abort”", False),
    ),
    (
        "OpenRouter's error and its native name",
        HALF + odd_finish("error", native_finish_reason="MALFORMED_FUNCTION_CALL") + done(),
        build_failure("MALFORMED_FUNCTION_CALL"),
    ),
    (
        "OpenRouter's error in the choice",
        HALF + odd_finish("error", error={"message": "upstream gone"}) + done(),
        build_failure("upstream gone"),
    ),
    (
        "an error in the choice beside a stop",
        HALF + odd_finish("stop", error={"message": "upstream gone"}) + done(),
        build_failure("upstream gone"),
    ),
    (
        "OpenRouter's error beside the choices",
        HALF + chunk([{"delta": {}, "finish_reason": "error"}], error=OPENROUTER) + done(),
        build_failure("Acme: GPU on fire"),
    ),
    # errors after status 200
    ("an error frame", HALF + error() + done(), build_failure("stream interrupted")),
    ("an error frame as text", HALF + frame({"error": "it broke"}), build_failure("it broke")),
    (
        "an error frame after a stop",
        TEXT + finish() + error() + done(),
        build_failure("interrupted"),
    ),
    (
        "LiteLLM's",
        HALF + frame({"error": {"message": "m500", "type": None, "param": None, "code": "500"}}),
        build_failure("m500"),
    ),
    (
        "vLLM's",
        HALF + frame({"object": "error", "message": "KV cache", "type": "E", "code": 500}) + done(),
        build_failure("KV cache"),
    ),
    (
        "Anthropic's event",
        HALF + error_event('{"type":"error","error":{"type":"o","message":"Overloaded"}}'),
        build_failure("Overloaded"),
    ),
    (
        "an error event with a bare object, and [DONE]",
        HALF + error_event('{"code":1,"message":"Overloaded","type":"o"}') + done(),
        build_failure("Overloaded"),
    ),
    (
        "an error event of plain text",
        HALF + error_event("it broke") + done(),
        build_failure("it broke"),
    ),
    (
        "an error event of nothing",
        HALF + b"event: error\n\n" + done(),
        build_failure("during the reply"),
    ),
    ("an error event after a stop", TEXT + finish() + error_event("late"), build_failure("late")),
    (
        "an error under any event's name",
        HALF + b"event: oh\n" + error() + done(),
        build_failure("inter"),
    ),
    (
        "a frame of type error",
        HALF + frame({"type": "error", **OVERLOADED}),
        build_failure("Overloaded"),
    ),
    (
        "llama.cpp's field",
        HALF + b'error: {"code":500,"message":"slot gone"}\n\n',
        build_failure("slot"),
    ),
    (
        "a last line of plain text",
        HALF + b"upstream error: gone\n",
        build_failure("upstream error: gone"),
    ),
    (
        "that line as data",
        HALF + b"data: upstream error: gone\n\n" + done(),
        build_failure("error: gone"),
    ),
    (
        "a list, as Gemini's",
        HALF + frame([{"error": {"message": "quota"}}]),
        build_failure("quota"),
    ),
    (
        "plain words and a heartbeat",
        HALF + b"data: it is gone\n\ndata: {}\n\n" + done(),
        build_failure("it is gone"),
    ),
    ("plain words, and the reply goes on", HALF + b"hold the line\n\n" + TEXT + finish(), WHOLE),
    (
        "the empty form of an error",
        TEXT
        + chunk([], error={"message": "", "code": None})
        + odd_finish("stop", error={})
        + done(),
        WHOLE,
    ),
    ("a plain line, but the reply was whole", TEXT + finish() + b"so long and bye\n", WHOLE),
    (
        "a broken event",
        HALF + b'data: {"choices\n\n' + finish() + done(),
        build_failure("is incomplete"),
    ),
    # ends without a finish reason
    ("[DONE] alone after half", HALF + done(), CUT),
    ("[DONE] alone", done(), NOTHING),
    ("[DONE] after a role", role() + done(), NOTHING),
    (
        "[DONE] after reasoning",
        THOUGHT + done(),
        ExpectedEnding(CUT.ending, CUT.words, False, True),
    ),
    ("the end after half", HALF, CUT),
    (
        "the end after comments",
        b": ping\n\n",
        ExpectedEnding("cut_off", "ended before", False, True),
    ),
    # whole, and without an answer
    ("a stop after nothing", role() + finish() + usage() + done(), NOTHING),
    ("a stop after white space", role() + delta("\n\n") + finish() + done(), NOTHING),
    ("a stop after reasoning", THOUGHT + finish() + done(), ONLY_THOUGHT),
    ("reasoning in tags alone", delta("<think>Hm.</think>") + finish() + done(), ONLY_THOUGHT),
    ("tool_calls, and none", role() + finish("tool_calls") + done(), NOTHING),
    ("an image alone", choice({"images": [{"image_url": {"url": PNG}}]}) + finish(), WHOLE),
    ("sound alone", choice({"audio": {"data": "AAAA"}}) + finish(), WHOLE),
    # what small servers and proxies do
    ("a whole completion as an event", frame(COMPLETION) + done(), WHOLE),
    ("a whole completion without [DONE]", frame(COMPLETION), WHOLE),
    (
        "a bare completion",
        b'{"choices": [{"message": {"content": "Hi"},\n "finish_reason": "stop"}]}\n',
        WHOLE,
    ),
    ("a bare error", b'{"error": {"message": "no slots"}}', build_failure("no slots", False)),
    (
        "an error as an event",
        frame({"error": {"message": "no slots"}}) + done(),
        build_failure("no slots", False),
    ),
    (
        "a page",
        b"<html><head><title>Welcome in</title></head>\n</html>\n",
        build_failure("Welcome in", False),
    ),
    (
        "no blank lines",
        TEXT.replace(b"\n\n", b"\n") + b'data: {"choices":[{"delta":{},'
        b'"finish_reason":"stop"}]}\ndata: [DONE]\n',
        WHOLE,
    ),
    (
        "heartbeats of all sorts",
        b"data: null\n\nevent: heartbeat\ndata: 12:30\n\n"
        + TEXT
        + b"event: progress\ndata: {}\n\n"
        + finish()
        + done(),
        WHOLE,
    ),
    ("something after [DONE]", TEXT + finish() + done() + error(), WHOLE),
]


# The recordings that do not end as a whole reply; every other one does. A gateway in the table of
# dialects has a recording, or a row above or in `OVER_HTTP`.
RECORDED = {
    "opentoken_reasoning": LENGTH,
    "opentoken_error": build_failure("stream interrupted"),
    "openai_refusal": REFUSED,
    "aivene_error": build_failure("stream interrupted"),
    "litellm_error": build_failure("upstream closed"),
    "transformers_error": build_failure("CUDA"),
    "llama_cpp_interrupted": CUT,
    "azure": FILTERED,
    "mistral_length": LENGTH,
    "deepseek_overloaded": build_failure("with “insufficient_system_resource”"),
    "openrouter_error": build_failure("GPU"),
    "vllm_error": build_failure("EngineCore died"),
    "anthropic_error": build_failure("Overloaded"),
    "llama_cpp_error": build_failure("context shift failed"),
    "small_last_words": build_failure("upstream error"),
    "proxy_cut": CUT,
    "proxy_cut_in_character": CUT,
    "hostile_html": build_failure("<script>"),
    "hostile_choice_index": build_failure("beyond what this app accepts"),
    "hostile_tool_index": build_failure("beyond what this app accepts"),
    "hostile_nesting": build_failure("is incomplete"),
}

STREAM = (role(), delta("Hello"), finish(), usage(), done())
NO_TYPE = b"HTTP/1.0 200 OK\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n" + NO_TYPE
IN_AN_HOUR = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


def build_stream(*steps: Step, **headers: str) -> Script:
    return Script(steps, 200, {name.replace("_", "-"): headers[name] for name in headers})


def build_raw_response(head: bytes, *steps: Step) -> Script:
    """Return a response with this head and no length: it ends when the connection closes."""
    return Script(steps, written_head=head)


# What a stream alone can't show: the status, the headers, how the connection ends.
OVER_HTTP: list[tuple[str, Script, ExpectedEnding]] = [
    (
        "401",
        build_response(401, {"error": {"message": "bad key"}}),
        build_failure("401 bad key", False),
    ),
    ("403", build_response(403, {"error": "not you"}), build_failure("403 not you", False)),
    (
        "LiteLLM's wrong key, a 400",
        build_response(400, {"error": {"message": "no token", "code": "400"}}),
        build_failure("400 no token", False),
    ),
    ("404", build_response(404, {"detail": "Not Found"}), build_failure("404 Not Found", False)),
    ("408", build_response(408, {"message": "too slow"}), build_failure("408 too slow", False)),
    ("409", build_response(409, "a conflict"), build_failure("409 a conflict", False)),
    (
        "transformers' 422",
        build_response(422, {"detail": "Unexpected keys"}),
        build_failure("422 Unexpected keys", False),
    ),
    (
        "429",
        build_response(429, {"error": {"message": "slow"}}),
        build_failure("rate-limited", False),
    ),
    (
        "429 and seconds",
        build_response(429, {"error": "slow"}, {"Retry-After": "7"}),
        build_failure("Try again in 7 s", False),
    ),
    (
        "429 and a date",
        build_response(429, {"error": "slow"}, {"Retry-After": IN_AN_HOUR}),
        build_failure(" min.", False),
    ),
    (
        "500 in plain text",
        build_response(500, "no such model"),
        build_failure("500 no such model", False),
    ),
    (
        "502 and a page",
        build_response(502, "<html><title>Bad Gateway</title>"),
        build_failure("502 Bad Gateway", False),
    ),
    ("503", build_response(503, {"error": {}}), build_failure("server failed", False)),
    (
        "529",
        build_response(529, {"error": {"message": "overloaded"}}),
        build_failure("529 overloaded", False),
    ),
    (
        "a page as 200",
        build_response(200, "<html><title>Welcome</title>"),
        build_failure("Welcome", False),
    ),
    (
        "an error as 200",
        build_response(200, {"error": {"message": "m"}}),
        build_failure("m", False),
    ),
    (
        "JSON that is no reply",
        build_response(200, {"choices": []}),
        build_failure("is not a reply", False),
    ),
    ("a whole reply as JSON", build_response(200, COMPLETION), WHOLE),
    ("llama-cpp-python's empty body", build_stream(), build_failure("may be too long", False)),
    (
        "an empty body as JSON",
        build_stream(Content_Type="application/json"),
        build_failure("may be too long", False),
    ),
    ("a stream called JSON", build_stream(*STREAM, Content_Type="application/json"), WHOLE),
    ("a stream called text", build_stream(*STREAM, Content_Type="text/plain"), WHOLE),
    (
        "a stream called bytes",
        build_stream(*STREAM, Content_Type="application/octet-stream"),
        WHOLE,
    ),
    ("half of one called JSON", build_stream(*STREAM[:2], Content_Type="application/json"), CUT),
    ("HTTP/1.0 until close", build_raw_response(NO_TYPE, *STREAM), WHOLE),
    ("half of it until close", build_raw_response(NO_TYPE, *STREAM[:2]), CUT),
    ("early hints", build_raw_response(HINTS, *STREAM), WHOLE),
    ("gzip", build_stream(gzip.compress(b"".join(STREAM)), Content_Encoding="gzip"), WHOLE),
    (
        "gzip in several members",
        build_stream(*map(gzip.compress, STREAM), Content_Encoding="gzip"),
        WHOLE,
    ),
    ("half of a gzip", build_stream(gzip.compress(HALF), Content_Encoding="gzip"), CUT),
    (
        "a packing that was not asked for",
        build_stream(HALF, Content_Encoding="br"),
        build_failure("compressed with br", False),
    ),
    ("llama-cpp-python's second request", build_stream(HALF, done(), Close()), CUT),
    ("its second request, before any text", build_stream(done(), Close()), NOTHING),
    (
        "cut before a word",
        build_stream(role(), Close()),
        ExpectedEnding("cut_off", CUT.words[:20], False, True),
    ),
    ("a reset", build_stream(HALF, Pause(), Abort()), CUT),
    (
        "silence",
        build_stream(HALF, Stall()),
        ExpectedEnding("timed_out", "stopped responding", True, True),
    ),
    (
        "silence from the start",
        build_stream(Stall()),
        ExpectedEnding("timed_out", "stopped responding", False, True),
    ),
    ("silence after the finish", build_stream(TEXT, finish(), Stall()), WHOLE),
    (
        "an endless line",
        build_stream(HALF, b"data: ", *[b"x" * 2**20] * 64),
        build_failure("too much data"),
    ),
]


def decode_stream(stream: bytes, choices: int = 1) -> list[Event]:
    decoder = EventDecoder("", choices)
    return decoder.receive_data(stream) + decoder.close()


def build_message(events: list[Event]) -> Message:
    """Return the reply as it is stored."""
    reply, message = Reply(), Message(role="assistant", model="m", conversation=Conversation())
    for event in events:
        reply.apply(event)
    message.copy_progress(reply)
    message.finish(reply, reply.ending)
    return message


def draw_reply(message: Message) -> str:
    message.siblings = [message]
    message.usage = Usage(message=message, provenance=Usage.Provenance.UNKNOWN)
    return unescape(reply_html(ReplyView.of(message, render_html)))


def check(message: Message, expected: ExpectedEnding) -> None:
    notice = build_notice(message)
    html = draw_reply(message)
    assert message.ending == expected.ending
    assert bool(notice) == bool(expected.words)
    assert expected.words in html
    assert f'data-ending="{expected.ending}"' in html
    assert (">Continue</button>" in html) == expected.can_continue
    assert 'aria-label="Retry"' in html
    assert ('<div class="notice error"' in html) == expected.urges_retry


@pytest.mark.parametrize(
    ("stream", "expected"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS]
)
def test_each_stream_is_shown_with_its_ending(stream: bytes, expected: ExpectedEnding) -> None:
    check(build_message(decode_stream(stream)), expected)


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDINGS.glob("*.sse")))
def test_each_recorded_gateway_is_shown_with_its_ending(name: str) -> None:
    events = decode_stream((RECORDINGS / f"{name}.sse").read_bytes(), ASKED_CHOICES.get(name, 1))
    check(build_message(events), RECORDED.get(name, WHOLE))


@pytest.mark.parametrize(
    ("script", "expected"), [r[1:] for r in OVER_HTTP], ids=[r[0] for r in OVER_HTTP]
)
async def test_each_http_answer_is_shown_with_its_ending(
    upstream: FakeUpstream, script: Script, expected: ExpectedEnding
) -> None:
    upstream.respond(script)
    client = UpstreamClient(idle_seconds=1.5, usage_seconds=0.1)
    events: list[Event] = []
    async with client.stream(Endpoint(upstream.base_url), "m", []) as reads:
        async for read in reads:
            events += read
            for step in script.steps:
                if isinstance(step, Pause):
                    step.release()  # everything written before it has arrived
    await client.aclose()
    check(build_message(events), expected)


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_of_failure_has_a_sentence(kind: ErrorKind) -> None:
    message = build_message([Failed(UpstreamError(kind, "their words", code="odd"))])
    if kind is not ErrorKind.TIMED_OUT:
        assert message.ending == "failed"
        assert FAILED[kind]
        assert "their words" in draw_reply(message)


def test_a_page_shows_an_ending_stored_by_a_newer_version() -> None:
    """During a rolling upgrade, an old process reads what a new one wrote."""
    message = build_message(decode_stream(TEXT + error()))
    message.pk = uuid4()
    assert message.error
    message.error["kind"] = "of_the_future"
    assert "error during the reply" in draw_reply(message)
    message.ending = "of_the_future"
    assert "The reply ended." in draw_reply(message)
