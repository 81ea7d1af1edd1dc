"""What the wire said of a reply's end, and what a person is told and can do.

Each row is a stream as an upstream ends it, read by the real decoder, kept by the real model and
drawn by the page's own partial. A reply that is not whole is never `complete`.
"""

import gzip
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import unescape
from uuid import uuid4

import pytest

from chatapp.frames.endings import FAILED, notice_of
from chatapp.frames.replies import ReplyView, reply_html
from chatapp.models import Conversation, Message, Usage
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.decoder import EventDecoder
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import Event, Failed
from chatapp.upstream.wire.reply import Reply
from tests.support.drawn import html_of
from tests.support.fake_upstream import (
    Abort,
    Close,
    FakeUpstream,
    Pause,
    Script,
    Stall,
    Step,
    answered,
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
class Told:
    """What is shown: the ending, words of its sentence (none: there is no notice), and actions."""

    ending: str
    words: str = ""
    can_continue: bool = False
    urges_retry: bool = False


WHOLE = Told("complete")
LENGTH = Told("length", "reached its length limit", can_continue=True)
FILTERED = Told("content_filter", "content filter ended the reply")
REFUSED = Told("refused", "declined to answer")
CUT = Told(
    "cut_off", "ended before the reply was complete. The text so far has been saved", True, True
)
NOTHING = Told("no_answer", "ended the reply without an answer", urges_retry=True)
ONLY_THOUGHT = Told("no_answer", "thought, but gave no answer", urges_retry=True)


def failed(words: str, can_continue: bool = True) -> Told:
    return Told("failed", words, can_continue, urges_retry=True)


ROWS: list[tuple[str, bytes, Told]] = [
    # finish reasons, those of OpenAI first
    ("stop", TEXT + finish() + usage() + done(), WHOLE),
    ("stop, with the last content", choice({"content": "Hi"}, "stop") + done(), WHOLE),
    ("stop, and the end without [DONE]", TEXT + finish(), WHOLE),
    ("length", HALF + finish("length") + done(), LENGTH),
    ("length after reasoning", THOUGHT + finish("length") + done(),
     Told("length", "length limit before its answer began", urges_retry=True)),
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
    ("Mistral's error", HALF + finish("error") + done(), failed("with “error”")),
    (
        "DeepSeek's insufficient_system_resource",
        HALF + finish("insufficient_system_resource") + done(),
        failed("with “insufficient_system_resource”"),
    ),
    ("an unknown one", TEXT + finish("abort") + done(), failed("with “abort”")),
    ("an unknown one after nothing", finish("abort") + done(), failed("with “abort”", False)),
    (
        "OpenRouter's error and its native name",
        HALF + odd_finish("error", native_finish_reason="MALFORMED_FUNCTION_CALL") + done(),
        failed("MALFORMED_FUNCTION_CALL"),
    ),
    (
        "OpenRouter's error in the choice",
        HALF + odd_finish("error", error={"message": "upstream gone"}) + done(),
        failed("upstream gone"),
    ),
    (
        "an error in the choice beside a stop",
        HALF + odd_finish("stop", error={"message": "upstream gone"}) + done(),
        failed("upstream gone"),
    ),
    (
        "OpenRouter's error beside the choices",
        HALF + chunk([{"delta": {}, "finish_reason": "error"}], error=OPENROUTER) + done(),
        failed("Acme: GPU on fire"),
    ),
    # errors after status 200
    ("an error frame", HALF + error() + done(), failed("stream interrupted")),
    ("an error frame as text", HALF + frame({"error": "it broke"}), failed("it broke")),
    ("an error frame after a stop", TEXT + finish() + error() + done(), failed("interrupted")),
    (
        "LiteLLM's",
        HALF + frame({"error": {"message": "m500", "type": None, "param": None, "code": "500"}}),
        failed("m500"),
    ),
    (
        "vLLM's",
        HALF
        + frame({"object": "error", "message": "KV cache", "type": "E", "code": 500})
        + done(),
        failed("KV cache"),
    ),
    (
        "Anthropic's event",
        HALF + error_event('{"type":"error","error":{"type":"o","message":"Overloaded"}}'),
        failed("Overloaded"),
    ),
    (
        "an error event with a bare object, and [DONE]",
        HALF + error_event('{"code":1,"message":"Overloaded","type":"o"}') + done(),
        failed("Overloaded"),
    ),
    ("an error event of plain text", HALF + error_event("it broke") + done(), failed("it broke")),
    ("an error event of nothing", HALF + b"event: error\n\n" + done(), failed("during the reply")),
    ("an error event after a stop", TEXT + finish() + error_event("late"), failed("late")),
    ("an error under any event's name", HALF + b"event: oh\n" + error() + done(), failed("inter")),
    ("a frame of type error", HALF + frame({"type": "error", **OVERLOADED}), failed("Overloaded")),
    ("llama.cpp's field", HALF + b'error: {"code":500,"message":"slot gone"}\n\n', failed("slot")),
    ("a last line of plain text", HALF + b"upstream error: gone\n", failed("upstream error: gone")),
    ("the same as data", HALF + b"data: upstream error: gone\n\n" + done(), failed("error: gone")),
    ("a list, as Gemini's", HALF + frame([{"error": {"message": "quota"}}]), failed("quota")),
    ("plain words and a heartbeat", HALF + b"data: it is gone\n\ndata: {}\n\n" + done(),
     failed("it is gone")),
    ("plain words, and the reply goes on", HALF + b"hold the line\n\n" + TEXT + finish(), WHOLE),
    ("the empty form of an error", TEXT + chunk([], error={"message": "", "code": None})
     + odd_finish("stop", error={}) + done(), WHOLE),
    ("a plain line, but the reply was whole", TEXT + finish() + b"so long and bye\n", WHOLE),
    ("a broken event", HALF + b'data: {"choices\n\n' + finish() + done(), failed("is incomplete")),
    # ends without a finish reason
    ("[DONE] alone after half", HALF + done(), CUT),
    ("[DONE] alone", done(), NOTHING),
    ("[DONE] after a role", role() + done(), NOTHING),
    ("[DONE] after reasoning", THOUGHT + done(), Told(CUT.ending, CUT.words, False, True)),
    ("the end after half", HALF, CUT),
    ("the end after comments", b": ping\n\n", Told("cut_off", "ended before", False, True)),
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
    ("a bare completion", b'{"choices": [{"message": {"content": "Hi"},\n'
                          b' "finish_reason": "stop"}]}\n', WHOLE),
    ("a bare error", b'{"error": {"message": "no slots"}}', failed("no slots", False)),
    ("an error as an event", frame({"error": {"message": "no slots"}}) + done(),
     failed("no slots", False)),
    ("a page", b"<html><head><title>Welcome in</title></head>\n</html>\n",
     failed("Welcome in", False)),
    ("no blank lines", TEXT.replace(b"\n\n", b"\n") + b'data: {"choices":[{"delta":{},'
     b'"finish_reason":"stop"}]}\ndata: [DONE]\n', WHOLE),
    ("heartbeats of all sorts", b"data: null\n\nevent: heartbeat\ndata: 12:30\n\n" + TEXT
     + b"event: progress\ndata: {}\n\n" + finish() + done(), WHOLE),
    ("something after [DONE]", TEXT + finish() + done() + error(), WHOLE),
]  # fmt: skip


# The recordings that do not end as a whole reply; every other one is whole. A gateway's row in the
# table of dialects has a recording of its own, or stands above or under `OVER_HTTP`.
RECORDED = {
    "opentoken_reasoning": LENGTH,
    "opentoken_error": failed("stream interrupted"),
    "openai_refusal": REFUSED,
    "aivene_error": failed("stream interrupted"),
    "litellm_error": failed("upstream closed"),
    "transformers_error": failed("CUDA"),
    "llama_cpp_interrupted": CUT,
    "azure": FILTERED,
    "mistral_length": LENGTH,
    "deepseek_overloaded": failed("with “insufficient_system_resource”"),
    "openrouter_error": failed("GPU"),
    "vllm_error": failed("EngineCore died"),
    "anthropic_error": failed("Overloaded"),
    "llama_cpp_error": failed("context shift failed"),
    "small_last_words": failed("upstream error"),
    "proxy_cut": CUT,
    "proxy_cut_in_character": CUT,
    "hostile_html": failed("<script>"),
    "hostile_choice_index": failed("beyond what this app accepts"),
    "hostile_tool_index": failed("beyond what this app accepts"),
    "hostile_nesting": failed("is incomplete"),
}

STREAM = (role(), delta("Hello"), finish(), usage(), done())
NO_TYPE = b"HTTP/1.0 200 OK\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n" + NO_TYPE
IN_AN_HOUR = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


def streamed(*steps: Step, **headers: str) -> Script:
    return Script(steps, 200, {name.replace("_", "-"): headers[name] for name in headers})


def written(head: bytes, *steps: Step) -> Script:
    """With this head, until close."""
    return Script(steps, written_head=head)


# What shows in no stream alone: the status, the headers, how the connection ends.
OVER_HTTP: list[tuple[str, Script, Told]] = [
    ("401", answered(401, {"error": {"message": "bad key"}}), failed("401 bad key", False)),
    ("403", answered(403, {"error": "not you"}), failed("403 not you", False)),
    ("LiteLLM's wrong key, a 400", answered(400, {"error": {"message": "no token", "code": "400"}}),
     failed("400 no token", False)),
    ("404", answered(404, {"detail": "Not Found"}), failed("404 Not Found", False)),
    ("408", answered(408, {"message": "too slow"}), failed("408 too slow", False)),
    ("409", answered(409, "a conflict"), failed("409 a conflict", False)),
    ("transformers' 422", answered(422, {"detail": "Unexpected keys"}),
     failed("422 Unexpected keys", False)),
    ("429", answered(429, {"error": {"message": "slow"}}), failed("rate-limited", False)),
    ("429 and seconds", answered(429, {"error": "slow"}, {"Retry-After": "7"}),
     failed("Try again in 7 s", False)),
    ("429 and a date", answered(429, {"error": "slow"}, {"Retry-After": IN_AN_HOUR}),
     failed(" min.", False)),
    ("500 in plain text", answered(500, "no such model"), failed("500 no such model", False)),
    ("502 and a page", answered(502, "<html><title>Bad Gateway</title>"),
     failed("502 Bad Gateway", False)),
    ("503", answered(503, {"error": {}}), failed("server failed", False)),
    ("529", answered(529, {"error": {"message": "overloaded"}}), failed("529 overloaded", False)),
    ("a page as 200", answered(200, "<html><title>Welcome</title>"), failed("Welcome", False)),
    ("an error as 200", answered(200, {"error": {"message": "m"}}), failed("m", False)),
    ("JSON that is no reply", answered(200, {"choices": []}), failed("is not a reply", False)),
    ("a whole reply as JSON", answered(200, COMPLETION), WHOLE),
    ("llama-cpp-python's empty body", streamed(), failed("may be too long", False)),
    ("an empty body as JSON", streamed(Content_Type="application/json"),
     failed("may be too long", False)),
    ("a stream called JSON", streamed(*STREAM, Content_Type="application/json"), WHOLE),
    ("a stream called text", streamed(*STREAM, Content_Type="text/plain"), WHOLE),
    ("a stream called bytes", streamed(*STREAM, Content_Type="application/octet-stream"), WHOLE),
    ("half of one called JSON", streamed(*STREAM[:2], Content_Type="application/json"), CUT),
    ("HTTP/1.0 until close", written(NO_TYPE, *STREAM), WHOLE),
    ("half of it until close", written(NO_TYPE, *STREAM[:2]), CUT),
    ("early hints", written(HINTS, *STREAM), WHOLE),
    ("gzip", streamed(gzip.compress(b"".join(STREAM)), Content_Encoding="gzip"), WHOLE),
    ("gzip in several members", streamed(*map(gzip.compress, STREAM), Content_Encoding="gzip"),
     WHOLE),
    ("half of a gzip", streamed(gzip.compress(HALF), Content_Encoding="gzip"), CUT),
    ("a packing that was not asked for", streamed(HALF, Content_Encoding="br"),
     failed("compressed with br", False)),
    ("llama-cpp-python's second request", streamed(HALF, done(), Close()), CUT),
    ("the same, before a word", streamed(done(), Close()), NOTHING),
    ("cut before a word", streamed(role(), Close()), Told("cut_off", CUT.words[:20], False, True)),
    ("a reset", streamed(HALF, Pause(), Abort()), CUT),
    ("silence", streamed(HALF, Stall()), Told("timed_out", "stopped responding", True, True)),
    ("silence from the start", streamed(Stall()),
     Told("timed_out", "stopped responding", False, True)),
    ("silence after the finish", streamed(TEXT, finish(), Stall()), WHOLE),
    ("an endless line", streamed(HALF, b"data: ", *[b"x" * 2**20] * 64), failed("too much data")),
]  # fmt: skip


def events_of(stream: bytes, choices: int = 1) -> list[Event]:
    decoder = EventDecoder("", choices)
    return decoder.receive_data(stream) + decoder.close()


def kept(events: list[Event]) -> Message:
    """The reply as it is kept."""
    reply, message = Reply(), Message(role="assistant", model="m", conversation=Conversation())
    for event in events:
        reply.apply(event)
    message.take(reply)
    message.finish(reply, reply.ending)
    return message


def drawn(message: Message) -> str:
    message.siblings = [message]
    message.usage = Usage(message=message, provenance=Usage.Provenance.UNKNOWN)
    return unescape(reply_html(ReplyView.of(message, html_of)))


def check(message: Message, told: Told) -> None:
    notice = notice_of(message)
    html = drawn(message)
    assert message.ending == told.ending
    assert bool(notice) == bool(told.words)
    assert told.words in html
    assert f'data-ending="{told.ending}"' in html
    assert (">Continue</button>" in html) == told.can_continue
    assert 'aria-label="Retry"' in html
    assert ('<div class="notice error"' in html) == told.urges_retry


@pytest.mark.parametrize(("stream", "told"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_what_the_wire_said_is_what_is_shown(stream: bytes, told: Told) -> None:
    check(kept(events_of(stream)), told)


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDINGS.glob("*.sse")))
def test_what_each_gateway_sends_is_shown_as_what_it_is(name: str) -> None:
    events = events_of((RECORDINGS / f"{name}.sse").read_bytes(), ASKED_CHOICES.get(name, 1))
    check(kept(events), RECORDED.get(name, WHOLE))


@pytest.mark.parametrize(
    ("script", "told"), [r[1:] for r in OVER_HTTP], ids=[r[0] for r in OVER_HTTP]
)
async def test_what_http_said_is_what_is_shown(
    upstream: FakeUpstream, script: Script, told: Told
) -> None:
    upstream.respond(script)
    client = UpstreamClient(idle_seconds=1.5, usage_seconds=0.1)
    events: list[Event] = []
    async with client.stream(Endpoint(upstream.base_url), "m", []) as reads:
        async for read in reads:
            events += read
            for step in script.steps:
                if isinstance(step, Pause):
                    step.release()  # what was written before it has arrived
    await client.aclose()
    check(kept(events), told)


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_failure_has_its_sentence(kind: ErrorKind) -> None:
    message = kept([Failed(UpstreamError(kind, "their words", code="odd"))])
    if kind is not ErrorKind.TIMED_OUT:
        assert message.ending == "failed"
        assert FAILED[kind]
        assert "their words" in drawn(message)


def test_a_page_shows_what_a_newer_version_has_stored() -> None:
    """While processes are upgraded one by one, an old one reads what a new one has written."""
    message = kept(events_of(TEXT + error()))
    message.pk = uuid4()
    assert message.error
    message.error["kind"] = "of_the_future"
    assert "error during the reply" in drawn(message)
    message.ending = "of_the_future"
    assert "The reply ended." in drawn(message)
