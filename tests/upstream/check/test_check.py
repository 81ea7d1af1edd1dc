"""Checks of gateways that behave, and misbehave, in various ways."""

import asyncio

import pytest

from chatapp.checks.results import Heading, Status, ok
from chatapp.upstream.check import check, timing
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.requests.dialects import OPENTOKEN
from chatapp.upstream.wire.requests.endpoint import Endpoint
from tests.demo import KEY as DEMO_KEY
from tests.demo.test_served import base_url as demo_url  # noqa: F401 - a fixture
from tests.support.fake_upstream import (
    MODEL,
    FakeUpstream,
    Pause,
    answer,
    delta,
    done,
    finish,
    usage,
)
from tests.support.live import free_port
from tests.support.program import WAIT_SECONDS
from tests.upstream.check import KEY, PLAIN, REFUSED, collect, read_recording, report_on, serve


@pytest.mark.parametrize(
    ("dialect", "greeted", "usage_found", "reasoning"),
    [
        ("opentoken", "opentoken", "in every stream, asked for or not", "none seen"),
        ("openai", "", "when asked for (stream_options)", "none seen"),
        ("aivene", "", "when asked for (stream_options)", "in delta.reasoning_content"),
        ("aigateway", "aigateway", "in every stream, asked for or not", "in delta.reasoning_conte"),
    ],
)
async def test_a_good_gateway_of_each_dialect_is_recognised(
    upstream: FakeUpstream, dialect: str, greeted: str, usage_found: str, reasoning: str
) -> None:
    serve(upstream, (read_recording(dialect),), (read_recording(greeted),) if greeted else PLAIN)
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert rows["Models"].finding == f"1: {MODEL}"
    assert rows["Usage"].finding == usage_found
    assert rows["Reasoning"].finding.startswith(reasoning)
    assert rows["Dialect"].finding.startswith(dialect)
    assert "[DONE]" in rows["Stream"].finding
    assert rows["Tools"].finding == "calls get_weather, finish_reason tool_calls"
    form = '404, {"error": {"message", "type", "code"}}: no such model'
    assert rows["Wrong model"].finding == form
    assert rows["Wrong key"].finding == '401, {"error": {"message"}}: wrong key'
    assert rows["Closing"].finding.startswith("not visible from here")
    notes = [row.what for row in rows.values() if row.status is not Status.OK]
    assert notes == ["Buffering", "Closing"]


@pytest.mark.parametrize(
    ("without", "offered", "finding", "status"),
    [
        (usage(8), usage(71), "63 tokens per request: 71 with it, 8 without", Status.OK),
        (usage(38), usage(376), "338 tokens per request: 376 with it, 38 without", Status.NOTE),
        (b"", b"", "tokens per request, estimated from its description", Status.OK),
    ],
)
async def test_the_cost_of_the_clock_is_measured_with_and_without_it(
    upstream: FakeUpstream, without: bytes, offered: bytes, finding: str, status: Status
) -> None:
    serve(upstream, tuple(answer()))
    for reported in (without, offered):
        upstream.script(delta("Hi"), finish(), reported, done())
    _, rows = await report_on(upstream)
    assert rows["Clock"].finding.endswith(finding)
    assert rows["Clock"].status is status


async def test_a_check_sends_small_requests_and_closes_the_long_reply(
    upstream: FakeUpstream,
) -> None:
    serve(upstream, tuple(answer()))
    await report_on(upstream)
    *others, closed, last, offered = upstream.chat_requests
    assert closed.closed
    assert closed.closed.was_streaming
    assert all(request.body["max_tokens"] <= 400 for request in upstream.chat_requests)
    assert [request.headers["authorization"] == f"Bearer {KEY}" for request in others] == [
        *[True] * 4,
        False,
    ]
    assert last.body["model"] == closed.body["model"] == MODEL
    assert offered.body == last.body | {"tools": offered.body["tools"]}
    asks_for_usage = ["stream_options" in request.body for request in others]
    assert asks_for_usage == [True, False, True, True, True]
    assert [request.body["model"] == MODEL for request in others] == [True, True, True, False, True]
    assert ["tools" in request.body for request in others] == [False, False, True, False, False]


@pytest.mark.network
async def test_the_demo_passes_a_check(demo_url: str) -> None:  # noqa: F811
    problem, rows = await collect(check(Endpoint(f"{demo_url}/v1", DEMO_KEY)))
    assert problem == ""
    assert rows["Dialect"].finding.startswith("opentoken")
    assert rows["Wrong key"].finding.startswith('401, {"error": {"message"')


async def test_missing_usage_is_a_note(upstream: FakeUpstream) -> None:
    serve(upstream, PLAIN)
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert (rows["Usage"].finding, rows["Usage"].status) == ("never", Status.NOTE)
    assert rows["Dialect"].finding == "auto (Automatic)"


async def test_a_configured_dialect_that_never_requests_usage_is_a_problem(
    upstream: FakeUpstream,
) -> None:
    serve(upstream, tuple(answer()))
    endpoint = Endpoint(upstream.base_url, KEY, OPENTOKEN, takes_usage_option=False)
    _, rows = await collect(check(endpoint))
    assert "stream_options" in upstream.chat_requests[0].body
    row = rows["Dialect"]
    assert (row.status, "Set it to Automatic" in row.remedy) == (Status.WARNING, True)


async def test_a_gateway_that_rejects_stream_options_is_asked_without_them(
    upstream: FakeUpstream,
) -> None:
    upstream.fail(400, {"error": {"message": REFUSED}})
    serve(upstream, PLAIN)
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert "rejects stream_options" in rows["Usage"].finding
    assert ["stream_options" in request.body for request in upstream.chat_requests] == [
        True,
        *[False] * 8,
    ]


async def test_max_completion_tokens_is_tried_if_max_tokens_is_rejected(
    upstream: FakeUpstream,
) -> None:
    message = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    upstream.fail(400, {"error": {"message": message}})
    serve(upstream, PLAIN)
    problem, _ = await report_on(upstream)
    assert problem == ""
    assert all("max_completion_tokens" in request.body for request in upstream.chat_requests[1:])


async def test_a_buffering_gateway_is_reported(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "SILENCE_SECONDS", 0.0)
    monkeypatch.setattr(timing, "BURST_GAP_SECONDS", 60.0)
    serve(upstream, (b"".join(delta(f"{n} ") for n in range(20)) + finish() + done(),))
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert rows["Buffering"].finding == "20 of 20 chunks came in bursts after silence"
    assert "proxy_buffering" in rows["Buffering"].remedy


async def test_think_tags_are_recognised(upstream: FakeUpstream) -> None:
    serve(upstream, (read_recording("ollama"),))
    _, rows = await report_on(upstream)
    assert rows["Reasoning"].finding == "in think tags inside the content"


async def test_rejected_tools_are_a_note(upstream: FakeUpstream) -> None:
    error = {"error": "tools are not supported"}
    serve(upstream, PLAIN, tools=lambda: upstream.fail(400, error))
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert rows["Tools"].status is Status.NOTE
    assert "rejects a request with tools (400 tools are not supported)" in rows["Tools"].finding


async def test_a_gateway_that_accepts_any_key_is_reported(upstream: FakeUpstream) -> None:
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert rows["Wrong key"].finding == "accepts any key"
    assert rows["Wrong model"].finding == "answers under any name"
    assert rows["Tools"].status is Status.NOTE


async def test_a_rejected_key_is_a_problem_and_is_never_shown(upstream: FakeUpstream) -> None:
    upstream.fail_models(401, {"error": {"message": f"bad key {KEY}"}})
    problem, rows = await report_on(upstream)
    assert problem.startswith("It rejects the key: 401 bad key ***. Enter the key again")
    assert KEY not in problem + str(rows)
    assert upstream.chat_requests == []


async def test_a_key_rejected_only_in_chat_is_a_problem(upstream: FakeUpstream) -> None:
    upstream.fail(401, {"error": {"message": f"bad key {KEY}"}})
    problem, _ = await report_on(upstream)
    assert problem.startswith(f"It rejects the key: 401 bad key {'*' * len(KEY)}. Enter")
    assert len(upstream.chat_requests) == 1


@pytest.mark.network
async def test_a_gateway_that_is_down_is_a_problem() -> None:
    endpoint = Endpoint(f"http://127.0.0.1:{free_port()}/v1", KEY)
    problem, _ = await collect(check(endpoint, "some-model"))
    assert problem.startswith("It can't be reached: ")


async def test_a_web_page_is_a_problem_and_its_title_is_shown(upstream: FakeUpstream) -> None:
    page = "<html><title>Welcome to nginx!</title></html>"
    upstream.fail_models(200, page)
    upstream.fail(200, page)
    problem, rows = await report_on(upstream, "some-model")
    assert "not a reply: 200 Welcome to nginx! The address may be that of a web page" in problem
    assert rows["Models"].status is Status.NOTE


async def test_without_a_model_list_a_model_must_be_given(upstream: FakeUpstream) -> None:
    upstream.fail_models(404, {"error": "no such path"})
    problem, rows = await report_on(upstream)
    assert "usually ends in /v1. If the server has no list, name a model" in problem
    failure = rows["Upstream"]
    assert (failure.cause, failure.quote) == (ErrorKind.NOT_FOUND, "404 no such path")
    serve(upstream, PLAIN)
    problem, rows = await report_on(upstream, "some-model")
    assert problem == ""
    assert rows["Model"].finding.startswith("asked some-model")


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ([], "without a finish_reason"),
        ([done()], "without a finish_reason"),
        (
            [finish("abort"), done()],
            "unknown finish_reason, so every reply would be shown as failed: abort",
        ),
    ],
)
async def test_a_stream_that_does_not_end_properly_is_a_problem(
    upstream: FakeUpstream, end: list[bytes], reason: str
) -> None:
    upstream.script(delta("Hello"), *end)
    problem, rows = await report_on(upstream)
    assert reason in problem
    assert list(rows)[-1] == "Upstream"
    assert "Stream" in rows


async def test_a_stream_with_another_content_type_is_recognised(upstream: FakeUpstream) -> None:
    headers = {"content-type": "application/json"}
    upstream.script(*answer(), headers=headers)
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert rows["Stream"].finding == 'ends with finish_reason "stop" and [DONE]'


async def test_an_empty_reply_is_a_problem(upstream: FakeUpstream) -> None:
    upstream.script(finish(), done())
    problem, _ = await report_on(upstream)
    assert "without any content" in problem


async def test_an_answer_that_is_not_streamed_works_with_a_warning(upstream: FakeUpstream) -> None:
    message = {"role": "assistant", "content": "Hello"}
    upstream.fail(200, {"choices": [{"message": message, "finish_reason": "stop"}]})
    problem, rows = await report_on(upstream)
    assert problem == ""
    assert (rows["Stream"].finding, rows["Stream"].status) == (
        "one JSON answer, no stream",
        Status.WARNING,
    )
    assert "Gaps" not in rows


@pytest.mark.parametrize("answered", [0, 1])
async def test_a_gateway_that_stalls_runs_out_of_time(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    limits: list[asyncio.Timeout] = []
    timeout_at = asyncio.timeout_at

    def record_timeout(when: float) -> asyncio.Timeout:
        limits.append(timeout_at(when))
        return limits[-1]

    monkeypatch.setattr(asyncio, "timeout_at", record_timeout)
    stall = Pause()
    for _ in range(answered):
        upstream.script(*answer())
    upstream.script(delta("Hello"), stall)
    checking = asyncio.create_task(collect(check(Endpoint(upstream.base_url, KEY))))
    assert await asyncio.to_thread(stall.reached.wait, WAIT_SECONDS)
    limits[-1].reschedule(asyncio.get_running_loop().time())
    problem, rows = await checking
    assert rows["This check"].finding == "ended after 60 seconds"
    assert ("did not finish a short reply" in problem) is not bool(answered)


async def test_control_characters_and_the_key_are_removed_from_a_gateways_texts(
    upstream: FakeUpstream,
) -> None:
    upstream.models = [f"\x1b[2J{KEY}\u202e"]
    serve(upstream, PLAIN)
    steps = [step async for step in check(Endpoint(upstream.base_url, KEY))]
    assert Heading("Asking \ufffd[2J***\ufffd to count") in steps
    assert ok("Models", "1: \ufffd[2J***\ufffd") in steps
    assert KEY not in str(steps)


async def test_a_placeholder_for_a_key_is_not_removed(upstream: FakeUpstream) -> None:
    serve(upstream, PLAIN)
    _, rows = await collect(check(Endpoint(upstream.base_url, "none")))
    assert rows["Buffering"].finding == "unclear from 1 chunk"
    assert rows["Reasoning"].finding == "none seen"
