"""The client against a real server: what goes out, what comes back, and when it is closed."""

import asyncio
import base64
import gzip
import json
import math
import socket
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from chatapp.upstream import client as client_module
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.dialects import OPENTOKEN, RequestOptions
from chatapp.upstream.errors import ErrorKind, UpstreamError, UpstreamFailed
from chatapp.upstream.events import (
    AnswerDelta,
    Event,
    Failed,
    Finished,
    TimedOut,
    UsageOptionRefused,
)
from chatapp.upstream.reply import Ending, Reply
from tests.fake_upstream import (
    Abort,
    Close,
    Delay,
    FakeUpstream,
    Pause,
    Stall,
    choice,
    chunk,
    delta,
    done,
    error,
    finish,
    paced,
    usage,
)
from tests.upstream import folded

KEY = "sk-a-secret-key"
MESSAGES = [{"role": "user", "content": "Größe? \ud800"}]


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
async def client() -> AsyncIterator[UpstreamClient]:
    client = UpstreamClient()
    yield client
    await client.aclose()


@pytest.fixture
def endpoint(upstream: FakeUpstream) -> Endpoint:
    return Endpoint(upstream.base_url + "/", KEY)


async def ask(client: UpstreamClient, endpoint: Endpoint) -> list[Event]:
    async with client.stream(endpoint, "m", MESSAGES) as reads:
        return [event async for events in reads for event in events]


async def reply_to(client: UpstreamClient, endpoint: Endpoint) -> Reply:
    return folded(await ask(client, endpoint))


async def failure(client: UpstreamClient, endpoint: Endpoint) -> UpstreamError:
    (event,) = await ask(client, endpoint)
    assert isinstance(event, Failed)
    assert "sk-a" not in str(event)
    return event.error


async def test_a_reply_streams_in(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending) == ("Packets in flight", Ending.COMPLETE)
    assert reply.usage
    request = upstream.wait_for_request()
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"
    assert request.body == {
        "model": "m",
        "messages": MESSAGES,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_events_come_as_they_are_written(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(delta("Hello"), pause, delta("!"), finish(), done())
    async with client.stream(endpoint, "m", MESSAGES) as reads:
        assert AnswerDelta("Hello") in await anext(reads)
        pause.release()
        assert AnswerDelta("!") in await anext(reads)


async def test_a_request_carries_its_options_and_without_a_key_no_header(
    client: UpstreamClient, upstream: FakeUpstream
) -> None:
    endpoint = Endpoint(upstream.base_url, dialect=OPENTOKEN)
    tool = {"type": "function", "function": {"name": "now"}}
    options = RequestOptions([tool], {"temperature": 0})
    async with client.stream(endpoint, "m", MESSAGES, options):
        pass
    request = upstream.wait_for_request()
    assert (request.body["tools"], request.body["temperature"]) == ([tool], 0)
    assert "stream_options" not in request.body
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "Unknown parameter", "param": "stream_options"}}),
        (422, {"detail": "Unexpected keys in the request: {'stream_options'}"}),
        (400, {"message": "include_usage is not supported"}),
    ],
)
async def test_an_upstream_that_knows_no_stream_options_is_asked_again_without(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, status: int, body: object
) -> None:
    upstream.fail(status, body)
    events = await ask(client, endpoint)
    assert events[0] == UsageOptionRefused()
    assert folded(events).ending is Ending.COMPLETE
    first, second = upstream.requests
    assert first.body == second.body | {"stream_options": {"include_usage": True}}
    await ask(client, replace(endpoint, takes_usage_option=False))
    assert "stream_options" not in upstream.requests[2].body


async def test_leaving_a_request_asked_again_closes_the_upstream(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": "no stream_options"})
    upstream.script(delta("Hello"), Stall())
    async with client.stream(endpoint, "m", MESSAGES) as reads:
        async for events in reads:
            if AnswerDelta("Hello") in events:
                break
    await upstream.until_requested()
    assert (await (await upstream.until_requested()).until_closed()).was_streaming


async def test_an_upstream_that_refuses_anything_else_is_not_asked_again(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": {"message": "no such model", "param": "model"}})
    assert (await failure(client, endpoint)).param == "model"
    upstream.fail(400, {"error": "no stream_options"})
    upstream.fail(400, {"error": "still no stream_options"})
    refused, failed = await ask(client, endpoint)
    assert refused == UsageOptionRefused()
    assert isinstance(failed, Failed)
    assert failed.error.message == "still no stream_options"
    assert len(upstream.requests) == 3


async def test_a_connection_is_used_again_and_keeps_no_cookie(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.script(delta("x"), finish(), done(), headers={"Set-Cookie": "who=alice"})
    await ask(client, endpoint)
    await ask(client, endpoint)
    first, second = upstream.requests
    assert first.connection == second.connection
    assert "cookie" not in second.headers


async def test_cancelling_closes_the_upstream_at_once(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    delays = []
    for _ in range(10):
        upstream.script(delta("Hello"), Stall())
        streaming = asyncio.Event()

        async def read(streaming: asyncio.Event = streaming) -> None:
            async with client.stream(endpoint, "m", MESSAGES) as reads:
                async for _ in reads:
                    streaming.set()

        task = asyncio.create_task(read())
        await streaming.wait()
        cancelled_at = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        close = await (await upstream.until_requested()).until_closed()
        assert close.was_streaming
        delays.append(close.at - cancelled_at)
    assert statistics.median(delays) < 0.003
    assert client._http._transport.pool.connections == []  # type: ignore[attr-defined]


async def test_cancelling_before_the_headers_closes_the_upstream(
    client: UpstreamClient, endpoint: Endpoint
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(ask(client, Endpoint(_url(silent))))
        connection, _ = await loop.sock_accept(silent)
        with connection:
            assert await loop.sock_recv(connection, 65536)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while await asyncio.wait_for(loop.sock_recv(connection, 65536), 10):
                pass  # what was still on its way; then the end


@pytest.mark.parametrize("how", ["break", "raise", "unread"])
async def test_leaving_the_block_in_any_way_closes_the_upstream(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, how: str
) -> None:
    upstream.script(delta("Hello"), Stall())
    try:
        async with client.stream(endpoint, "m", MESSAGES) as reads:
            if how != "unread":
                async for _ in reads:
                    if how == "raise":
                        raise LookupError
                    break
    except LookupError:
        pass
    assert (await (await upstream.until_requested()).until_closed()).was_streaming


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "message", "retry_after"),
    [
        (401, {"error": {"message": f"bad {KEY}"}}, {}, ErrorKind.UNAUTHORIZED, "bad ***", None),
        (429, {"error": "slow"}, {"Retry-After": "7"}, ErrorKind.RATE_LIMITED, "slow", 7.0),
        (500, "<title>Oh &amp; no</title>", {}, ErrorKind.SERVER_ERROR, "Oh & no", None),
        (500, "plain text", {}, ErrorKind.SERVER_ERROR, "plain text", None),
        (422, {"detail": "no"}, {}, ErrorKind.BAD_REQUEST, "no", None),
        (200, "<html><title>Welcome</title>", {}, ErrorKind.NOT_A_STREAM, "Welcome", None),
        (200, {"error": {"message": "m"}}, {}, ErrorKind.STREAM_ERROR, "m", None),
        (
            200,
            {"choices": []},
            {},
            ErrorKind.NOT_A_STREAM,
            "sent application/json in place of an event stream",
            None,
        ),
        (500, "x" * 1_000_000, {}, ErrorKind.SERVER_ERROR, "x" * 499 + "…", None),
    ],
)
async def test_a_response_that_is_no_stream_fails_with_what_it_says(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    status: int,
    body: object,
    headers: dict[str, str],
    kind: ErrorKind,
    message: str,
    retry_after: float | None,
) -> None:
    upstream.fail(status, body, headers)
    error = await failure(client, endpoint)
    assert (error.status, error.kind, error.message) == (status, kind, message)
    assert error.retry_after == retry_after


async def test_an_answer_that_is_json_is_taken_as_the_whole_reply(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    message = {"role": "assistant", "content": "Größe", "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    upstream.fail(200, {"id": "1", "choices": [choice], "usage": usage})
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending, reply.response_id) == ("Größe", Ending.LENGTH, "1")
    assert reply.usage


WHOLE = [delta("Hello"), finish(), usage(), done()]


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "text/plain; charset=utf-8", "application/octet-stream", ""],
)
async def test_a_stream_is_one_whatever_it_is_called(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, content_type: str
) -> None:
    pause = Pause()
    upstream.script(
        *(b"\n", b": hi\n\n", delta("Hel")),
        *(pause, delta("lo"), finish(), done()),
        headers={"Content-Type": content_type},
    )
    seen: list[Event] = []
    async with client.stream(endpoint, "m", MESSAGES) as reads:
        async for events in reads:
            seen += events
            if AnswerDelta("Hel") in events:
                pause.release()  # so it is not waited for to its end
    assert (folded(seen).answer, folded(seen).ending) == ("Hello", Ending.COMPLETE)


COMPLETION = {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "text/plain"])
@pytest.mark.parametrize("indent", [None, 2])
async def test_a_whole_completion_is_a_reply_whatever_it_is_called(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    content_type: str,
    indent: int | None,
) -> None:
    headers = {"Content-Type": content_type}
    upstream.script(json.dumps(COMPLETION, indent=indent).encode(), headers=headers)
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending) == ("Hello", Ending.COMPLETE)
    problem = {"object": "error", "message": "no slots", "code": 503}
    for body in ({"error": problem}, problem):
        upstream.script(json.dumps(body, indent=indent).encode(), headers=headers)
        error = await failure(client, endpoint)
        assert (error.kind, error.message) == (ErrorKind.STREAM_ERROR, "no slots")


EVENTS_HEAD = b"content-type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\n" + EVENTS_HEAD,
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n" + EVENTS_HEAD,
        b"HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n" + EVENTS_HEAD,
        b"HTTP/1.1 200\r\nconnection: close\r\n\r\n",
    ],
    ids=["HTTP/1.0", "until close", "early hints", "no reason and no type"],
)
async def test_a_stream_that_ends_with_its_connection_is_read(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, head: bytes
) -> None:
    upstream.script(*WHOLE, head=head)
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending) == ("Hello", Ending.COMPLETE)
    upstream.script(delta("Hel"), head=head)
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending) == ("Hel", Ending.CUT_OFF)


async def test_a_finish_in_every_chunk_ends_nothing(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "TAIL_SECONDS", 0.05)
    words = [choice({"content": word}, "stop") for word in ("a", "b", "c")]
    upstream.script(words[0], words[1], Delay(0.2), words[2], usage(), done())
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending, reply.is_done) == ("abc", Ending.COMPLETE, True)
    upstream.script(words[0], words[1], Abort())
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending) == ("ab", Ending.CUT_OFF)


async def test_an_image_of_megabytes_comes_through(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    data = b"\x89PNG\r\n\x1a\n" + b"\0" * 6_000_000
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    upstream.script(choice({"images": [{"image_url": {"url": url}}]}), finish(), done())
    reply = await reply_to(client, endpoint)
    assert [image.data for image in reply.images] == [data]
    assert reply.ending is Ending.COMPLETE


async def test_how_long_to_wait_may_be_a_date(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    upstream.fail(429, {"error": "slow"}, {"Retry-After": date})
    retry_after = (await failure(client, endpoint)).retry_after
    assert retry_after
    assert 80 < retry_after <= 90


async def test_an_answer_that_is_json_and_too_large_fails(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "_MAX_COMPLETION_BYTES", 1000)
    upstream.fail(200, {"choices": [{"message": {"content": "x" * 1000}}]})
    assert (await failure(client, endpoint)).kind is ErrorKind.TOO_LARGE


async def test_a_redirect_is_not_followed(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.fail(307, "", {"Location": f"{upstream.base_url}/chat/completions"})
    error = await failure(client, endpoint)
    assert error.kind is ErrorKind.REDIRECTED
    assert upstream.base_url in error.message
    assert len(upstream.requests) == 1


async def test_an_error_frame_after_200_keeps_what_came_before(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.script(delta("Packets "), error(), done())
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending) == ("Packets ", Ending.FAILED)
    expected = UpstreamError(
        ErrorKind.STREAM_ERROR, "stream interrupted", type="upstream_error", code="stream_error"
    )
    assert reply.error == expected


@pytest.mark.parametrize("step", [Abort(), Close()], ids=["reset", "closed"])
async def test_a_connection_cut_in_the_middle_is_cut_off(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, step: Abort | Close
) -> None:
    pause = Pause()
    upstream.script(delta("Packets "), pause, step)
    reply = Reply()
    async with client.stream(endpoint, "m", MESSAGES) as reads:
        async for events in reads:
            pause.release()
            for event in events:
                reply.apply(event)
    assert (reply.answer, reply.ending) == ("Packets ", Ending.CUT_OFF)


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/json"}])
async def test_an_empty_body_fails_as_empty(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, headers: dict[str, str]
) -> None:
    upstream.script(headers=headers)
    error = await failure(client, endpoint)
    assert error.kind is ErrorKind.EMPTY
    assert not error.may_pass


@pytest.mark.parametrize("step", [Abort(), Close()], ids=["reset", "closed"])
async def test_a_connection_lost_before_the_first_byte_may_be_tried_again(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, step: Abort | Close
) -> None:
    upstream.script(Delay(0.05), step)
    error = await failure(client, endpoint)
    assert error.kind is ErrorKind.UNREACHABLE
    assert error.message
    assert error.may_pass


@pytest.mark.parametrize("beginning", [[delta("Packets ")], []], ids=["some text", "no text"])
async def test_a_stream_that_stalls_times_out(
    endpoint: Endpoint, upstream: FakeUpstream, beginning: list[bytes]
) -> None:
    client = UpstreamClient(idle_seconds=0.05)
    upstream.script(*beginning, Stall())
    events = await ask(client, endpoint)
    assert events[-1] == TimedOut(0.05)
    assert [e for e in events if isinstance(e, AnswerDelta)] == [
        AnswerDelta("Packets ") for _ in beginning
    ]
    await (await upstream.until_requested()).until_closed()
    await client.aclose()


@pytest.mark.parametrize("beginning", [[delta("Packets ")], []], ids=["some text", "no text"])
async def test_an_upstream_may_be_silent_for_as_long_as_is_set_for_it(
    endpoint: Endpoint, upstream: FakeUpstream, beginning: list[bytes]
) -> None:
    client = UpstreamClient(idle_seconds=0.05)
    upstream.script(*beginning, Delay(0.3), delta("in flight"), finish(), done())
    patient = replace(endpoint, silence_seconds=5)
    assert (await reply_to(client, patient)).ending is Ending.COMPLETE
    upstream.script(*beginning, Stall())
    hasty = replace(endpoint, silence_seconds=0.1)
    assert (await ask(client, hasty))[-1] == TimedOut(0.1)
    await client.aclose()


async def test_an_upstream_that_never_answers_times_out() -> None:
    client = UpstreamClient(idle_seconds=0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert await ask(client, Endpoint(_url(silent))) == [TimedOut(0.05)]
    await client.aclose()


async def test_usage_is_waited_for_as_long_as_the_stream_is_open(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "TAIL_SECONDS", 0.01)
    upstream.script(delta("x"), finish(), Delay(0.3), usage(), Stall())
    reply = await reply_to(client, endpoint)
    assert (reply.ending, reply.is_done) == (Ending.COMPLETE, False)
    assert reply.usage
    await (await upstream.until_requested()).until_closed()


async def test_usage_that_does_not_come_is_not_waited_for_without_end(
    endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    client = UpstreamClient(usage_seconds=0.05)
    upstream.script(delta("x"), finish(), Stall())
    reply = await reply_to(client, endpoint)
    assert (reply.ending, reply.usage) == (Ending.COMPLETE, None)
    await client.aclose()


async def test_where_the_usage_is_known_the_rest_is_not_waited_for_long(
    endpoint: Endpoint, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "TAIL_SECONDS", 0.05)
    client = UpstreamClient(usage_seconds=math.inf)
    for steps in ([finish(), usage()], [usage(), finish()]):
        upstream.script(delta("x"), *steps, Stall())
        assert (await reply_to(client, endpoint)).usage
    await client.aclose()


async def test_pings_after_the_finish_hold_nothing_up(
    endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    client = UpstreamClient(usage_seconds=0.05)
    upstream.script(delta("x"), finish(), *paced([b": ping\n\n"] * 1000, 0.01), Stall())
    assert (await reply_to(client, endpoint)).ending is Ending.COMPLETE
    assert (await (await upstream.until_requested()).until_closed()).was_streaming
    await client.aclose()


async def test_all_choices_are_waited_for(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    late = chunk([{"index": 1, "delta": {"content": "late"}, "finish_reason": "stop"}])
    upstream.script(delta("x"), finish(), Delay(0.05), late, Stall())
    seen = []
    async with client.stream(endpoint, "m", MESSAGES, RequestOptions(parameters={"n": 2})) as reads:
        async for events in reads:
            seen += events
            if Finished("stop", choice=1) in events:
                break
    assert folded(seen, choice=1).answer == "late"


async def test_an_upstream_that_leaves_the_body_open_after_done_is_closed(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.script(delta("x"), finish(), done(), Stall())
    assert (await reply_to(client, endpoint)).ending is Ending.COMPLETE
    await (await upstream.until_requested()).until_closed()


@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:1/v1", "nonsense", "http://[::1/v1", "ftp://127.0.0.1/v1", ""]
)
async def test_an_upstream_that_cannot_be_reached_fails_in_words(
    client: UpstreamClient, base_url: str
) -> None:
    error = await failure(client, Endpoint(base_url, KEY))
    assert error.kind is ErrorKind.UNREACHABLE
    assert error.message
    assert "Errno" not in error.message
    assert KEY not in repr(Endpoint(base_url, KEY))


async def test_a_key_that_cannot_be_sent_is_not_quoted(
    client: UpstreamClient, upstream: FakeUpstream
) -> None:
    error = await failure(client, Endpoint(upstream.base_url, f"two\nlines {KEY}"))
    assert error.kind is ErrorKind.BAD_REQUEST
    assert "key" in error.message


async def test_a_packed_stream_is_unpacked(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    packed = gzip.compress(delta("Hello") + finish() + done())
    upstream.script(packed, headers={"Content-Encoding": " GZip "})
    assert (await reply_to(client, endpoint)).answer == "Hello"
    upstream.script(delta("Hello"), headers={"Content-Encoding": "identity"})
    assert (await reply_to(client, endpoint)).answer == "Hello"
    upstream.script(packed, headers={"Content-Encoding": "br"})
    assert "packed as br" in (await failure(client, endpoint)).message
    upstream.script(b"not packed at all", headers={"Content-Encoding": "gzip"})
    assert (await failure(client, endpoint)).kind is ErrorKind.MALFORMED


async def test_a_stream_packed_in_several_members_is_unpacked(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    members = [gzip.compress(one) for one in WHOLE]
    for reads in (
        [b"".join(members)],
        members,
        [m[i : i + 1] for m in members for i in range(len(m))],
    ):
        upstream.script(*reads, b"no member", headers={"Content-Encoding": "gzip"})
        reply = await reply_to(client, endpoint)
        assert (reply.answer, reply.ending) == ("Hello", Ending.COMPLETE)
        assert reply.usage


async def test_a_bomb_ends_the_reply_and_keeps_what_came_before(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    bomb = gzip.compress(delta("Hello") + b": ping\n\n" * 4_000_000)
    upstream.script(bomb, headers={"Content-Encoding": "gzip"})
    reply = await reply_to(client, endpoint)
    assert reply.answer == "Hello"
    assert reply.error
    assert reply.error.kind is ErrorKind.TOO_LARGE


async def test_a_response_is_recorded_as_it_came(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.script(delta("bad " + KEY), Delay(0.05), finish(), Abort())
    recording = await client.record(endpoint, "m", MESSAGES)
    assert (recording.dialect, recording.model, recording.status) == ("auto", "m", 200)
    assert recording.headers == {"content-type": "text/event-stream"}
    assert recording.is_cut
    assert recording.body == delta("bad " + "*" * len(KEY)) + finish()
    assert recording.reads[-1].at >= 0.05
    upstream.fail(500, "no")
    assert (await client.record(endpoint, "m", MESSAGES)).body == b"no"


async def test_models_are_listed_in_order_and_once(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.models = ["b", "a", "b"]
    assert await client.list_models(endpoint) == ["b", "a"]
    assert upstream.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("body", "models"),
    [
        ([{"id": "a"}, {"id": "b"}], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ({"data": None}, []),
        ({"object": "list", "data": [{"name": "?"}, None, 5, {"id": 7}, {"id": "a"}]}, ["a"]),
    ],
)
async def test_a_list_of_models_of_another_shape_is_read(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    body: object,
    models: list[str],
) -> None:
    upstream.fail_models(200, body)
    assert await client.list_models(endpoint) == models


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": f"bad {KEY}"}}, ErrorKind.UNAUTHORIZED),
        (404, "<title>Not here</title>", ErrorKind.NOT_FOUND),
        (200, {"models": []}, ErrorKind.MALFORMED),
        (200, "<title>Welcome</title>", ErrorKind.MALFORMED),
        (200, "[" * 100_000, ErrorKind.MALFORMED),
    ],
)
async def test_models_that_cannot_be_listed_are_an_error(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    status: int,
    body: object,
    kind: ErrorKind,
) -> None:
    upstream.fail_models(status, body)
    with pytest.raises(UpstreamFailed) as raised:
        await client.list_models(endpoint)
    assert raised.value.error.kind is kind
    assert "sk-a" not in str(raised.value)


async def test_models_are_not_waited_for_long(
    client: UpstreamClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "LIST_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UpstreamFailed) as raised:
        await client.list_models(Endpoint(_url(silent)))
    assert raised.value.error.kind is ErrorKind.TIMED_OUT


def _url(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/v1"
