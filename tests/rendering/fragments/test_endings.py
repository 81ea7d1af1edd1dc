"""How an upstream ends a reply, and what a person is shown and can do then.

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
from chatapp.rendering.fragments.endings import FAILED, notice_of
from chatapp.rendering.fragments.replies import ReplyView, reply_html
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
class Shown:
    """What is shown: the ending, part of its notice ("" if there is none), and the actions."""

    ending: str
    words: str = ""
    can_continue: bool = False
    urges_retry: bool = False


WHOLE = Shown("complete")
LENGTH = Shown("length", "reached its length limit", can_continue=True)
FILTERED = Shown("content_filter", "content filter ended the reply")
REFUSED = Shown("refused", "declined to answer")
CUT = Shown(
    "cut_off", "ended before the reply was complete. The text so far has been saved", True, True
)
NOTHING = Shown("no_answer", "ended the reply without an answer", urges_retry=True)
ONLY_THOUGHT = Shown("no_answer", "thought, but gave no answer", urges_retry=True)


def failed(words: str, can_continue: bool = True) -> Shown:
    return Shown("failed", words, can_continue, urges_retry=True)


ROWS: list[tuple[str, bytes, Shown]] = [
    # finish reasons, those of OpenAI first
    ("stop", TEXT + finish() + usage() + done(), WHOLE),
    ("stop, with the last content", choice({"content": "Hi"}, "stop") + done(), WHOLE),
    ("stop, and the end without [DONE]", TEXT + finish(), WHOLE),
    ("length", HALF + finish("length") + done(), LENGTH),
    ("length after reasoning", THOUGHT + finish("length") + done(),
     Shown("length", "length limit before its answer began", urges_retry=True)),
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
    ("that line as data", HALF + b"data: upstream error: gone\n\n" + done(), failed("error: gone")),
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
    ("[DONE] after reasoning", THOUGHT + done(), Shown(CUT.ending, CUT.words, False, True)),
    ("the end after half", HALF, CUT),
    ("the end after comments", b": ping\n\n", Shown("cut_off", "ended before", False, True)),
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


# The recordings that do not end as a whole reply; every other one does. A gateway in the table of
# dialects has a recording, or a row above or in `OVER_HTTP`.
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
    """A response with this head and no length: it ends when the connection closes."""
    return Script(steps, written_head=head)


# What a stream alone can't show: the status, the headers, how the connection ends.
OVER_HTTP: list[tuple[str, Script, Shown]] = [
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
    ("its second request, before any text", streamed(done(), Close()), NOTHING),
    ("cut before a word", streamed(role(), Close()), Shown("cut_off", CUT.words[:20], False, True)),
    ("a reset", streamed(HALF, Pause(), Abort()), CUT),
    ("silence", streamed(HALF, Stall()), Shown("timed_out", "stopped responding", True, True)),
    ("silence from the start", streamed(Stall()),
     Shown("timed_out", "stopped responding", False, True)),
    ("silence after the finish", streamed(TEXT, finish(), Stall()), WHOLE),
    ("an endless line", streamed(HALF, b"data: ", *[b"x" * 2**20] * 64), failed("too much data")),
]  # fmt: skip


def events_of(stream: bytes, choices: int = 1) -> list[Event]:
    decoder = EventDecoder("", choices)
    return decoder.receive_data(stream) + decoder.close()


def stored(events: list[Event]) -> Message:
    """Return the reply as it is stored."""
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


def check(message: Message, shown: Shown) -> None:
    notice = notice_of(message)
    html = drawn(message)
    assert message.ending == shown.ending
    assert bool(notice) == bool(shown.words)
    assert shown.words in html
    assert f'data-ending="{shown.ending}"' in html
    assert (">Continue</button>" in html) == shown.can_continue
    assert 'aria-label="Retry"' in html
    assert ('<div class="notice error"' in html) == shown.urges_retry


@pytest.mark.parametrize(("stream", "shown"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_each_stream_is_shown_with_its_ending(stream: bytes, shown: Shown) -> None:
    check(stored(events_of(stream)), shown)


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDINGS.glob("*.sse")))
def test_each_recorded_gateway_is_shown_with_its_ending(name: str) -> None:
    events = events_of((RECORDINGS / f"{name}.sse").read_bytes(), ASKED_CHOICES.get(name, 1))
    check(stored(events), RECORDED.get(name, WHOLE))


@pytest.mark.parametrize(
    ("script", "shown"), [r[1:] for r in OVER_HTTP], ids=[r[0] for r in OVER_HTTP]
)
async def test_each_http_answer_is_shown_with_its_ending(
    upstream: FakeUpstream, script: Script, shown: Shown
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
    check(stored(events), shown)


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_of_failure_has_a_sentence(kind: ErrorKind) -> None:
    message = stored([Failed(UpstreamError(kind, "their words", code="odd"))])
    if kind is not ErrorKind.TIMED_OUT:
        assert message.ending == "failed"
        assert FAILED[kind]
        assert "their words" in drawn(message)


def test_a_page_shows_an_ending_stored_by_a_newer_version() -> None:
    """During a rolling upgrade, an old process reads what a new one wrote."""
    message = stored(events_of(TEXT + error()))
    message.pk = uuid4()
    assert message.error
    message.error["kind"] = "of_the_future"
    assert "error during the reply" in drawn(message)
    message.ending = "of_the_future"
    assert "The reply ended." in drawn(message)
