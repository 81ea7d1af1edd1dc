"""The client against a real server: the requests it sends, and when it closes connections."""

import asyncio
import json
import socket
from dataclasses import replace

import pytest

from chatapp.upstream import client as client_module
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.network import RequestBody, Transport
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamFailed
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Failed,
    TimedOut,
    UsageOptionRefused,
)
from chatapp.upstream.wire.model_list import model_page
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.content import EncodedPart
from chatapp.upstream.wire.requests.dialects import OPENTOKEN, RequestOptions
from tests.support.fake_upstream import (
    Abort,
    Delay,
    FakeUpstream,
    Pause,
    Script,
    Stall,
    build_response,
    delta,
    done,
    finish,
)
from tests.upstream import KEY, MESSAGES, ask, failure, fold_events, reply_to


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


async def test_a_body_with_images_is_sent_whole(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    image = EncodedPart.of("image/png", bytes(1024 * 1024))
    async with client.stream(endpoint, "m", [{"role": "user", "content": [image]}]) as reads:
        assert fold_events([event async for events in reads for event in events]).answer
    request = upstream.wait_for_request()
    assert request.body["messages"][0]["content"] == [json.loads(image.json)]
    assert int(request.headers["content-length"]) == len(request.raw)
    assert "transfer-encoding" not in request.headers


async def test_other_tasks_run_between_the_parts_of_a_large_body() -> None:
    turns = 0

    async def another() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(another())
    body = RequestBody([bytes(600_000), b"end"])
    assert [(len(part), turns) async for part in body] == [
        (262_144, 0),
        (262_144, 1),
        (75_712, 2),
        (3, 3),
    ]
    task.cancel()


async def test_events_arrive_as_they_are_written(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(delta("Hello"), pause, delta("!"), finish(), done())
    async with client.stream(endpoint, "m", MESSAGES) as reads:
        assert AnswerDelta("Hello") in await anext(reads)
        pause.release()
        assert AnswerDelta("!") in await anext(reads)


@pytest.mark.parametrize("text", ["Größe 📏 \u2028", "half of a pair: \ud83d", 'a\0 "b" \\n'])
async def test_any_text_is_sent_unchanged(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, text: str
) -> None:
    messages = [{"role": "user", "content": text}]
    async with client.stream(endpoint, "m", messages):
        pass
    assert upstream.wait_for_request().body["messages"] == messages


async def test_a_request_has_its_options_and_without_a_key_no_authorization(
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
async def test_a_request_is_repeated_without_stream_options_if_they_are_rejected(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, status: int, body: object
) -> None:
    upstream.fail(status, body)
    events = await ask(client, endpoint)
    assert events[0] == UsageOptionRefused()
    assert fold_events(events).ending is Ending.COMPLETE
    first, second = upstream.requests
    assert first.body == second.body | {"stream_options": {"include_usage": True}}
    await ask(client, replace(endpoint, takes_usage_option=False))
    assert "stream_options" not in upstream.requests[2].body


async def test_leaving_a_repeated_request_closes_the_upstream(
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


async def test_a_request_rejected_for_another_reason_is_not_repeated(
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


async def test_a_connection_is_reused_without_keeping_cookies(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.script(delta("x"), finish(), done(), headers={"Set-Cookie": "who=alice"})
    await ask(client, endpoint)
    await ask(client, endpoint)
    first, second = upstream.requests
    assert first.connection == second.connection
    assert "cookie" not in second.headers


async def test_cancelling_closes_the_upstream(
    transports: list[Transport],
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
) -> None:
    task = await streaming(client, endpoint, upstream)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    close = await (await upstream.until_requested()).until_closed()
    assert close.was_streaming
    assert [len(transport.connections) for transport in transports] == [0]


@pytest.mark.parametrize("turns", range(8))
async def test_cancelling_twice_closes_the_upstream(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, turns: int
) -> None:
    """Cancel again after `turns` iterations of the loop, whatever it awaits by then."""
    task = await streaming(client, endpoint, upstream)
    task.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await (await upstream.until_requested()).until_closed()).was_streaming


async def streaming(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> asyncio.Task[None]:
    """Return a task that reads a reply, once its first events have come."""
    upstream.script(delta("Hello"), Stall())
    has_started = asyncio.Event()

    async def read() -> None:
        async with client.stream(endpoint, "m", MESSAGES) as reads:
            async for _ in reads:
                has_started.set()

    task = asyncio.create_task(read())
    await has_started.wait()
    return task


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
                pass  # data still in flight, and then the end


@pytest.mark.parametrize("how", ["break", "raise", "unread"])
async def test_leaving_the_block_for_any_reason_closes_the_upstream(
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


@pytest.mark.parametrize("beginning", [[delta("Packets ")], []], ids=["some text", "no text"])
async def test_an_upstream_can_have_its_own_silence_timeout(
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


@pytest.mark.network
async def test_an_upstream_that_never_answers_times_out() -> None:
    client = UpstreamClient(idle_seconds=0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert await ask(client, Endpoint(_url(silent))) == [TimedOut(0.05)]
    await client.aclose()


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


async def test_models_are_listed_in_order_without_duplicates(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.models = ["b", "a", "b"]
    assert [model.id for model in await client.list_models(endpoint)] == ["b", "a"]
    assert upstream.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_all_pages_of_a_list_of_models_are_read(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.models = [f"maker/model {number}&more" for number in range(7)]
    upstream.models_a_page = 3
    assert [model.id for model in await client.list_models(endpoint)] == upstream.models
    assert len(upstream.requests) == 3


async def test_a_list_of_models_that_never_ends_is_read_once(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.fail_models(200, {"data": [{"id": "a"}], "has_more": True})
    assert [model.id for model in await client.list_models(endpoint)] == ["a"]
    assert len(upstream.requests) == 2


async def test_pages_before_one_that_fails_count(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upstream.models, upstream.models_a_page = ["a", "b"], 1
    bodies = iter([b'{"data": ["a"], "has_more": true}', b"["])
    monkeypatch.setattr(client_module, "model_page", lambda _: model_page(next(bodies)))
    assert [model.id for model in await client.list_models(endpoint)] == ["a"]


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


async def test_the_body_of_a_model_list_may_take_as_long_as_the_list(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It used to be cut off at the limit for other bodies, and was then invalid."""
    monkeypatch.setattr(client_module, "WHOLE_BODY_SECONDS", 0.0)
    listed = build_response(200, {"data": [{"id": "late"}]})
    upstream.models_failure = Script((Delay(0.05), *listed.steps), headers=listed.headers)
    assert await client.list_models(endpoint)


@pytest.mark.network
async def test_listing_models_times_out(
    client: UpstreamClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "LIST_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UpstreamFailed) as raised:
        await client.list_models(Endpoint(_url(silent)))
    assert raised.value.error.kind is ErrorKind.TIMED_OUT


def _url(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/v1"
