"""A reply on the wire, and what happens when the client leaves."""

import asyncio
import itertools
import json
import math
import time

import pytest

from chatapp.demo.pace import Pace
from chatapp.demo.tokens import split_tokens
from tests.demo import Client, ask, question


async def test_a_reply_has_the_frames_of_the_opentoken_dialect() -> None:
    client = await ask("hello")
    *chunks, finish, usage = [json.loads(data) for data in client.data[:-1]]

    assert client.data[-1] == "[DONE]"
    assert chunks[0]["choices"] == [
        {"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}
    ]
    assert finish["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert usage["choices"] == []
    for chunk in (*chunks, finish, usage):
        assert chunk["object"] == "chat.completion.chunk"
        assert chunk["model"] == "demo-reasoner"
        assert (chunk["id"], chunk["created"]) == (usage["id"], usage["created"])
    assert list(chunks[0]) == ["id", "object", "created", "model", "choices"]


async def test_ids_differ_from_reply_to_reply() -> None:
    first, second = await ask("hello"), await ask("hello")

    assert json.loads(first.data[0])["id"] != json.loads(second.data[0])["id"]


async def test_the_headers_prevent_caching_and_buffering() -> None:
    client = await ask("hello")

    assert client.headers[b"content-type"] == b"text/event-stream"
    assert client.headers[b"cache-control"] == b"no-cache"
    assert client.headers[b"x-accel-buffering"] == b"no"


async def test_every_event_is_sent_on_its_own() -> None:
    client = await ask("hello")

    assert all(message["body"].count(b"\n\n") == 1 for message in client.sent[1:-1])


async def test_the_reasoner_reasons_for_about_a_second_and_a_half_first() -> None:
    fields = [next(iter(delta)) for delta in (await ask("How do I stop a reply?")).deltas]
    thoughts = fields.count("reasoning_content")

    assert fields == ["reasoning_content"] * thoughts + ["content"] * (len(fields) - thoughts)
    assert 60 <= thoughts <= 90


async def test_the_plain_model_answers_straight_away() -> None:
    client = await ask("How do I stop a reply?", model="demo-plain")

    assert "reasoning_content" not in client.body.decode()


async def test_usage_is_the_number_of_deltas() -> None:
    client = await ask("one two", "three", "four five six")
    reasoning = sum("reasoning_content" in delta for delta in client.deltas)

    assert json.loads(client.data[-2])["usage"] == {
        "prompt_tokens": 6,
        "completion_tokens": len(client.deltas),
        "total_tokens": 6 + len(client.deltas),
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


async def test_a_reply_without_streaming_is_the_same_reply() -> None:
    streamed, whole = await ask("show me code"), await ask("show me code", stream=False)
    [choice] = whole.json["choices"]

    assert whole.json["object"] == "chat.completion"
    assert choice["finish_reason"] == "stop"
    for field in ("content", "reasoning_content"):
        text = "".join(delta.get(field, "") for delta in streamed.deltas)
        assert choice["message"][field] == text
    assert whole.json["usage"] == json.loads(streamed.data[-2])["usage"]


@pytest.mark.parametrize(
    ("failure", "status", "type"),
    [
        ("401", 401, "invalid_request_error"),
        ("403", 403, "invalid_request_error"),
        ("404", 404, "invalid_request_error"),
        ("429", 429, "requests"),
        ("500", 500, "server_error"),
        ("503", 503, "server_error"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_a_status_can_be_requested(
    failure: str, status: int, type: str, stream: bool
) -> None:
    client = await ask(f"fail: {failure}", stream=stream)

    assert client.status == status
    assert client.json["error"]["type"] == type


async def test_too_many_requests_says_when_to_try_again() -> None:
    assert (await ask("fail: 429")).headers[b"retry-after"] == b"20"


async def test_failing_after_200_sends_an_error_frame_and_done() -> None:
    client = await ask("Fail: after 200.")

    assert client.status == 200
    assert client.deltas
    assert json.loads(client.data[-2]) == {
        "error": {
            "message": "stream interrupted",
            "type": "upstream_error",
            "code": "stream_error",
        }
    }
    assert client.data[-1] == "[DONE]"
    assert 'finish_reason":"' not in client.body.decode()


async def test_a_cut_off_reply_ends_with_neither_finish_nor_done() -> None:
    client = await ask("fail: cut off")

    assert "content" in json.loads(client.data[-1])["choices"][0]["delta"]
    assert "[DONE]" not in client.data


@pytest.mark.parametrize(
    ("failure", "reason"), [("length", "length"), ("content filter", "content_filter")]
)
async def test_a_reply_can_finish_for_other_reasons(failure: str, reason: str) -> None:
    client = await ask(f"fail: {failure}")
    finish, usage = (json.loads(data) for data in client.data[-3:-1])

    assert finish["choices"][0]["finish_reason"] == reason
    assert usage["usage"]["completion_tokens"] == len(client.deltas)


@pytest.mark.parametrize("failure", ["after 200", "cut off", "stall"])
async def test_a_failure_that_breaks_off_a_stream_is_a_502_without_streaming(failure: str) -> None:
    client = await ask(f"fail: {failure}", stream=False)

    assert client.status == 502
    assert client.json["error"]["type"] == "upstream_error"


STALLED_REPLY = (
    "You asked this demo to fail, so this answer is about to fall silent. A few words more, and"
)


async def test_a_stalled_reply_is_silent_until_its_reader_leaves() -> None:
    client = Client(question("fail: stall"))
    running = asyncio.create_task(client.run())
    message_count = 2 + len(split_tokens(STALLED_REPLY))
    await client.until_sent(message_count)
    done, _ = await asyncio.wait([running], timeout=0.02)

    assert not done
    assert len(client.sent) == message_count
    client.leave()
    await running
    assert len(client.sent) == message_count
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("tokens_per_second", [0.001, math.inf])
async def test_a_reader_who_leaves_ends_the_reply_at_once(tokens_per_second: float) -> None:
    client = Client(question("a long answer"), tokens_per_second=tokens_per_second)
    running = asyncio.create_task(client.run())
    await client.until_sent(2)
    client.leave()
    await running

    assert len(client.sent) < 200
    assert "[DONE]" not in client.body.decode()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_server_that_cancels_the_application_leaves_no_task_behind() -> None:
    client = Client(question("a long answer"), tokens_per_second=0.001)
    running = asyncio.create_task(client.run())
    await client.until_sent(2)
    running.cancel()
    await asyncio.wait([running])

    assert running.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_error_while_sending_is_not_swallowed() -> None:
    client = Client(question("hello"))

    async def broken_send(_: object) -> None:
        raise ConnectionError("broken pipe")

    with pytest.raises(ConnectionError, match="broken pipe"):
        await client.application(client.scope, client.incoming.get, broken_send)


async def test_tokens_come_at_the_requested_pace() -> None:
    started = time.monotonic()
    pace = Pace(1000)
    for _ in range(100):
        await pace.tick()

    assert time.monotonic() - started >= 0.095


async def test_the_pace_is_a_little_uneven_and_makes_up_for_a_late_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    loop = asyncio.get_running_loop()
    now = loop.time()
    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", sleep)
        patch.setattr(loop, "time", lambda: now)
        pace = Pace(50)
        for _ in range(30):
            await pace.tick()
        now += 9
        await pace.tick()
    gaps = [after - before for before, after in itertools.pairwise(waits[:30])]

    assert len({round(gap, 6) for gap in gaps}) > 10
    assert 0.01 <= min(gaps) <= max(gaps) <= 0.03
    assert sum(gaps) / len(gaps) == pytest.approx(0.02, rel=0.05)
    assert waits[30] == 0
