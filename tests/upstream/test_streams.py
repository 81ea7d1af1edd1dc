"""Bodies from a real server: their events, and when reading stops."""

import base64
import json
import math

import pytest

from chatapp.upstream import streams
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Event,
    Finished,
    StreamDone,
    TimedOut,
    TokenUsage,
)
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.dialects import RequestOptions
from tests.support.fake_upstream import (
    Abort,
    Close,
    Delay,
    FakeUpstream,
    Pause,
    Stall,
    choice,
    chunk,
    delay_frames,
    delta,
    done,
    error,
    finish,
    usage,
)
from tests.upstream import MESSAGES, WHOLE, EagerClient, ask, failure, fold_events, reply_to


@pytest.fixture(params=[UpstreamClient, EagerClient], ids=["iterated", "at once"])
def client_kind(request: pytest.FixtureRequest) -> type[UpstreamClient]:
    kind: type[UpstreamClient] = request.param
    return kind


async def test_a_json_answer_is_the_whole_reply(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    message = {"role": "assistant", "content": "Größe", "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    upstream.fail(200, {"id": "1", "choices": [choice], "usage": usage})
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending, reply.response_id) == ("Größe", Ending.LENGTH, "1")
    assert reply.usage


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "text/plain; charset=utf-8", "application/octet-stream", ""],
)
async def test_a_stream_is_recognised_with_any_content_type(
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
                pause.release()  # so events came before the end of the body
    assert (fold_events(seen).answer, fold_events(seen).ending) == ("Hello", Ending.COMPLETE)


COMPLETION = {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "text/plain"])
@pytest.mark.parametrize("indent", [None, 2])
async def test_a_whole_completion_is_recognised_with_any_content_type(
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


async def test_a_finish_reason_in_every_chunk_does_not_end_the_reply(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "TAIL_SECONDS", 0.05)
    words = [choice({"content": word}, "stop") for word in ("a", "b", "c")]
    upstream.script(words[0], words[1], Delay(0.2), words[2], usage(), done())
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending, reply.is_done) == ("abc", Ending.COMPLETE, True)
    upstream.script(words[0], words[1], Abort())
    reply = await reply_to(client, endpoint)
    assert (reply.answer, reply.ending) == ("ab", Ending.CUT_OFF)


async def test_an_image_of_several_megabytes_arrives(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    data = b"\x89PNG\r\n\x1a\n" + b"\0" * 6_000_000
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    upstream.script(choice({"images": [{"image_url": {"url": url}}]}), finish(), done())
    reply = await reply_to(client, endpoint)
    assert [image.data for image in reply.images] == [data]
    assert reply.ending is Ending.COMPLETE


async def test_a_json_answer_that_is_too_large_fails(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "MAX_COMPLETION_BYTES", 1000)
    upstream.fail(200, {"choices": [{"message": {"content": "x" * 1000}}]})
    assert (await failure(client, endpoint)).kind is ErrorKind.TOO_LARGE


async def test_an_error_frame_after_200_keeps_the_text_before_it(
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
async def test_a_reply_is_cut_off_if_its_connection_is_lost(
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


@pytest.mark.parametrize("beginning", [[delta("Packets ")], []], ids=["some text", "no text"])
async def test_a_stream_that_stalls_times_out(
    client_kind: type[UpstreamClient],
    endpoint: Endpoint,
    upstream: FakeUpstream,
    beginning: list[bytes],
) -> None:
    client = client_kind(idle_seconds=0.05)
    upstream.script(*beginning, Stall())
    events = await ask(client, endpoint)
    assert events[-1] == TimedOut(0.05)
    assert [e for e in events if isinstance(e, AnswerDelta)] == [
        AnswerDelta("Packets ") for _ in beginning
    ]
    await (await upstream.until_requested()).until_closed()
    await client.aclose()


async def test_usage_may_come_long_after_the_finish(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "TAIL_SECONDS", 0.01)
    upstream.script(delta("x"), finish(), Delay(0.3), usage(), Stall())
    reply = await reply_to(client, endpoint)
    assert (reply.ending, reply.is_done) == (Ending.COMPLETE, False)
    assert reply.usage
    await (await upstream.until_requested()).until_closed()


async def test_waiting_for_missing_usage_times_out(
    client_kind: type[UpstreamClient], endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    client = client_kind(usage_seconds=0.05)
    upstream.script(delta("x"), finish(), Stall())
    reply = await reply_to(client, endpoint)
    assert (reply.ending, reply.usage) == (Ending.COMPLETE, None)
    await client.aclose()


async def test_the_wait_for_the_end_is_short_once_usage_is_known(
    client_kind: type[UpstreamClient],
    endpoint: Endpoint,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "TAIL_SECONDS", 0.05)
    client = client_kind(usage_seconds=math.inf)
    for steps in ([finish(), usage()], [usage(), finish()]):
        upstream.script(delta("x"), *steps, Stall())
        assert (await reply_to(client, endpoint)).usage
    await client.aclose()


async def test_pings_after_the_finish_do_not_extend_the_wait(
    client_kind: type[UpstreamClient], endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    client = client_kind(usage_seconds=0.05)
    upstream.script(delta("x"), finish(), *delay_frames([b": ping\n\n"] * 1000, 0.01), Stall())
    assert (await reply_to(client, endpoint)).ending is Ending.COMPLETE
    assert (await (await upstream.until_requested()).until_closed()).was_streaming
    await client.aclose()


async def test_the_stream_is_read_until_all_choices_have_finished(
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
    assert fold_events(seen, choice=1).answer == "late"


async def test_an_upstream_that_leaves_the_body_open_after_done_is_closed(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.script(delta("x"), finish(), done(), Stall())
    assert (await reply_to(client, endpoint)).ending is Ending.COMPLETE
    await (await upstream.until_requested()).until_closed()


async def test_events_not_taken_at_once_are_iterated_over_in_order(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    words = [f"w{number} " for number in range(40)]
    steps = [step for word in words for step in (delta(word), Delay(0.002))]
    upstream.script(*steps, finish(), usage(), done())
    seen: list[Event] = []
    ways: list[str] = []

    def take(events: list[Event]) -> bool:
        is_taken = len(ways) % 3 > 0
        if is_taken:
            ways.append("at once")
            seen.extend(events)
        return is_taken

    async with client.stream(endpoint, "m", MESSAGES, at_once=take) as reads:
        async for events in reads:
            ways.append("iterated")
            seen += events
    reply = fold_events(seen)
    assert (reply.answer, reply.ending) == ("".join(words), Ending.COMPLETE)
    assert set(ways) == {"at once", "iterated"}
    again = await reply_to(client, endpoint)
    assert again.ending is Ending.COMPLETE
    assert len({request.connection for request in upstream.requests}) == 1


async def test_an_error_in_at_once_is_raised_by_the_iteration(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(delta("a"), pause, delta("b"), Stall())
    async with client.stream(endpoint, "m", MESSAGES, at_once=lambda _: bool(1 / 0)) as reads:
        assert AnswerDelta("a") in await anext(aiter(reads))
        pause.release()
        with pytest.raises(ZeroDivisionError):
            await anext(aiter(reads))
    await (await upstream.until_requested()).until_closed()


async def test_usage_after_the_end_is_still_counted(
    client_kind: type[UpstreamClient], endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    client = client_kind()
    pause = Pause()
    upstream.script(delta("Hi"), finish(), done(), pause, usage(12, 18))
    seen: list[Event] = []
    async with client.stream(endpoint, "m", MESSAGES) as reads:
        async for events in reads:
            seen += events
            if StreamDone() in events:
                pause.release()
    await client.aclose()
    reply = fold_events(seen)
    assert (reply.answer, reply.ending, reply.usage) == (
        "Hi",
        Ending.COMPLETE,
        TokenUsage(12, 18, 30),
    )


async def test_an_upstream_that_stays_open_after_the_end_is_not_waited_for(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.script(delta("Hi"), finish(), done(), Stall())
    reply = await reply_to(client, endpoint)
    assert (reply.ending, reply.usage) == (Ending.COMPLETE, None)


@pytest.mark.parametrize("content", [None, {"status": "ok"}, {"choices": []}, [1]])
async def test_a_json_body_without_choices_is_a_failure(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, content: object
) -> None:
    upstream.fail(200, content)
    error = await failure(client, endpoint)
    assert (error.kind, error.message) == (ErrorKind.NOT_A_STREAM, "sent JSON without choices")
