"""Chat completions as the official client of OpenAI sends and reads them."""

import asyncio
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import openai
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.utils import timezone
from openai import AsyncOpenAI
from pytest_django import Settings

from chatapp.models import (
    AccessRule,
    AccessToken,
    BudgetAccount,
    BudgetHold,
    Fallback,
    Installation,
    Limit,
    ModelChoice,
    Upstream,
    Usage,
    User,
)
from chatapp.realtime.completions import ApiRequest
from chatapp.realtime.worker import worker
from tests.api.conftest import MODEL
from tests.support.fake_upstream import (
    Close,
    FakeUpstream,
    Pause,
    choice,
    chunk,
    delta,
    done,
    error,
    finish,
    reasoning,
    usage,
)
from tests.support.pictures import png
from tests.support.program import WAIT_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)

HELLO: Any = [{"role": "user", "content": "Hello"}]
CALL = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": '},
}
MORE = {"index": 0, "function": {"arguments": '"Rome"}'}}
NO_MAX_TOKENS = "Unsupported parameter: 'max_tokens' is not supported with this model."
OUTPUT_FIELDS = {"max_tokens", "max_completion_tokens"}
TOOL: Any = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def bodies(upstream: FakeUpstream) -> list[Any]:
    return [request.body for request in upstream.chat_requests]


async def until(happens: Callable[[], Awaitable[bool]]) -> None:
    while not await happens():
        pass


async def test_a_whole_answer_is_returned_and_booked(
    script: AsyncOpenAI, upstream: FakeUpstream, alice: User
) -> None:
    upstream.script(reasoning("Hm"), delta("Hi "), delta("there"), finish(), usage(12, 18), done())
    got = await script.chat.completions.create(model=MODEL, messages=HELLO, temperature=0.5)
    [answer] = got.choices
    assert (answer.message.role, answer.message.content) == ("assistant", "Hi there")
    assert answer.message.model_extra == {"reasoning_content": "Hm"}
    assert answer.finish_reason == "stop"
    assert got.usage
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (12, 18)
    [sent] = bodies(upstream)
    assert (sent["messages"], sent["temperature"], sent["stream"]) == (HELLO, 0.5, True)
    row = await Usage.objects.aget()
    assert (row.user_id, row.kind, row.model, row.ending) == (alice.pk, "api", MODEL, "complete")
    assert row.total_tokens == 30


async def test_a_streamed_answer_has_the_same_parts(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream
) -> None:
    upstream.script(reasoning("Hm"), delta("Hi "), delta("there"), finish(), usage(12, 18), done())
    stream = await script.chat.completions.create(
        model=f"{api_upstream.name}/{MODEL}",
        messages=HELLO,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    *parts, last = chunks
    deltas = [part.choices[0].delta for part in parts]
    assert deltas[0].role == "assistant"
    assert [part_delta.content for part_delta in deltas if part_delta.content] == ["Hi ", "there"]
    assert [part_delta.model_extra for part_delta in deltas if part_delta.model_extra] == [
        {"reasoning_content": "Hm"}
    ]
    assert [part.choices[0].finish_reason for part in parts][-2:] == [None, "stop"]
    assert not last.choices
    assert last.usage
    assert last.usage.total_tokens == 30
    row = await Usage.objects.aget()
    assert {chunk.id for chunk in chunks} == {f"chatcmpl-{row.pk.hex}"}


async def test_usage_is_streamed_only_if_asked_for(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    stream = await script.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
    chunks = [chunk async for chunk in stream]
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_tool_calls_go_to_the_script_and_their_results_to_the_model(
    script: AsyncOpenAI, upstream: FakeUpstream, is_streamed: bool
) -> None:
    calls = (choice({"tool_calls": [CALL]}), choice({"tool_calls": [MORE]}), finish("tool_calls"))
    upstream.script(*calls, done())
    helper = script.chat.completions
    request: Any = {"model": MODEL, "tools": [TOOL], "tool_choice": "auto"}
    if is_streamed:
        async with helper.stream(messages=HELLO, **request) as stream:
            got = await stream.get_final_completion()
            message: Any = got.choices[0].message
            finish_reason = got.choices[0].finish_reason
    else:
        whole = await helper.create(messages=HELLO, **request)
        message, finish_reason = whole.choices[0].message, whole.choices[0].finish_reason
    [call] = message.tool_calls
    assert (call.id, call.function.name) == ("call_1", "weather")
    assert call.function.arguments == '{"city": "Rome"}'
    assert finish_reason == "tool_calls"
    following: Any = [
        *HELLO,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call.model_dump(include=SENT_BACK_FIELDS)],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Sunny"},
    ]
    await helper.create(messages=following, **request)
    first, second = bodies(upstream)
    assert (first["tools"], first["tool_choice"]) == ([TOOL], "auto")
    assert second["messages"] == following


SENT_BACK_FIELDS: Any = {"id": True, "type": True, "function": {"name", "arguments"}}


async def test_parameters_are_passed_on_as_the_upstream_spells_them(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    await script.chat.completions.create(
        model=MODEL,
        messages=HELLO,
        max_completion_tokens=7,
        stop="END",
        seed=3,
        presence_penalty=0.5,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
        },
        extra_body={"top_k": 20},
    )
    [sent] = bodies(upstream)
    assert (sent["max_tokens"], sent["stop"], sent["seed"]) == (7, ["END"], 3)
    assert (sent["presence_penalty"], sent["top_k"]) == (0.5, 20)
    schema = {"name": "answer", "schema": {"type": "object"}, "strict": True}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": schema}


async def test_an_administrators_rules_and_defaults_hold(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream
) -> None:
    api_upstream.model_parameters = {"": {"temperature": {"max": 0.4}}}
    api_upstream.parameters = {"top_p": 0.3, "n": 2, "logprobs": True}
    await api_upstream.asave()
    await script.chat.completions.create(model=MODEL, messages=HELLO, temperature=1.5)
    [sent] = bodies(upstream)
    assert (sent["temperature"], sent["top_p"]) == (0.4, 0.3)
    assert not sent.keys() & {"n", "logprobs"}


async def test_there_are_as_many_choices_as_an_administrator_allows(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream
) -> None:
    request: Any = {"model": MODEL, "messages": HELLO, "n": 2}
    with pytest.raises(openai.BadRequestError, match="n can be 1 at most"):
        await script.chat.completions.create(**request)
    api_upstream.parameters = {"n": 2}
    await api_upstream.asave()
    upstream.script(
        build_chunk(0, {"content": "a"}),
        build_chunk(1, {"content": "b"}),
        build_chunk(0, {}, "stop"),
        build_chunk(1, {}, "length"),
        done(),
    )
    got = await script.chat.completions.create(**request)
    answers = [
        (answer.index, answer.message.content, answer.finish_reason) for answer in got.choices
    ]
    assert answers == [(0, "a", "stop"), (1, "b", "length")]


def build_chunk(index: int, content: dict[str, Any], finish_reason: str | None = None) -> bytes:
    return chunk([{"index": index, "delta": content, "finish_reason": finish_reason}])


async def test_images_are_passed_on_as_data_and_counted_by_their_size(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    image = f"data:image/png;base64,{b64encode(png(64, 32)).decode()}"
    messages: Any = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": image, "detail": "low"}},
            ],
        }
    ]
    upstream.script(delta("A dot"), finish(), done())
    got = await script.chat.completions.create(model=MODEL, messages=messages)
    [sent] = bodies(upstream)
    assert sent["messages"] == messages
    assert got.usage
    assert 0 < got.usage.prompt_tokens < 200
    messages[0]["content"][1]["image_url"]["url"] = "http://169.254.169.254/latest"
    with pytest.raises(openai.BadRequestError, match="data URLs"):
        await script.chat.completions.create(model=MODEL, messages=messages)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_an_answer_that_is_cut_off_is_never_shown_as_whole(
    script: AsyncOpenAI, upstream: FakeUpstream, is_streamed: bool
) -> None:
    upstream.script(delta("Half an"), Close())
    if is_streamed:
        stream = await script.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
        first = await anext(stream)
        assert first.choices[0].delta.content == "Half an"
        with pytest.raises(openai.APIError, match="before it was complete"):
            await anext(stream)
    else:
        with pytest.raises(openai.InternalServerError) as caught:
            await script.chat.completions.create(model=MODEL, messages=HELLO)
        assert caught.value.status_code == 502
        body: Any = caught.value.body
        assert body["partial"][0]["content"] == "Half an"
    row = await Usage.objects.aget()
    assert (row.ending, row.provenance) == ("cut_off", "estimated")


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_limit_of_length_is_the_finish_reason(
    script: AsyncOpenAI, upstream: FakeUpstream, is_streamed: bool
) -> None:
    upstream.script(delta("Half"), finish("length"), done())
    request: Any = {"model": MODEL, "messages": HELLO}
    if is_streamed:
        stream = await script.chat.completions.create(stream=True, **request)
        reasons = [part.choices[0].finish_reason async for part in stream]
        assert reasons[-1] == "length"
    else:
        got = await script.chat.completions.create(**request)
        assert got.choices[0].finish_reason == "length"


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (400, {"error": {"message": "Bad thing", "param": "seed"}}, openai.BadRequestError, None),
        (404, {"error": {"message": "No such model"}}, openai.NotFoundError, "model_not_found"),
        (401, {"error": {"message": "sk-very-secret"}}, openai.InternalServerError, None),
        (
            400,
            {"error": {"message": "maximum context length is 10 tokens"}},
            openai.BadRequestError,
            "context_length_exceeded",
        ),
    ],
)
async def test_an_upstreams_errors_have_a_status_and_a_sentence(
    script: AsyncOpenAI,
    upstream: FakeUpstream,
    status: int,
    body: Any,
    kind: type[openai.APIStatusError],
    code: str | None,
) -> None:
    upstream.fail(status, body)
    with pytest.raises(kind) as caught:
        await script.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
    assert code is None or caught.value.code == code
    assert "sk-very-secret" not in str(caught.value)
    assert await Usage.objects.acount() == 1


async def test_a_failed_request_is_sent_again_before_the_script_hears_of_it(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    upstream.fail(503, {"error": {"message": "overloaded"}})
    upstream.script(delta("Hi"), finish(), done())
    got = await script.chat.completions.create(model=MODEL, messages=HELLO)
    assert got.choices[0].message.content == "Hi"


async def test_an_error_in_the_stream_before_any_text_has_a_status_too(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    upstream.script(error("the model broke"))
    with pytest.raises(openai.InternalServerError, match="the model broke"):
        await script.chat.completions.create(model=MODEL, messages=HELLO, stream=True)


async def test_a_fallback_answers_and_both_are_booked(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream
) -> None:
    with FakeUpstream() as other:
        spare = await Upstream.objects.acreate(
            name="Spare", base_url=other.base_url, offered_models="two"
        )
        choices = [ModelChoice(spare.pk, "two")]
        await sync_to_async(Fallback.replace)(api_upstream, MODEL, choices)
        upstream.fail(429, {"error": {"message": "too many"}}, {"Retry-After": "30"})
        other.script(delta("Hi"), finish(), usage(), done())
        got = await script.chat.completions.create(model=MODEL, messages=HELLO)
    assert (got.choices[0].message.content, got.model) == ("Hi", "Spare/two")
    row = await Usage.objects.aget()
    assert (row.model, row.upstream_name, row.ending) == ("two", "Spare", "complete")


async def test_a_parameter_is_spelled_otherwise_once_the_model_has_refused_it(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream
) -> None:
    upstream.fail(400, {"error": {"message": NO_MAX_TOKENS, "param": "max_tokens"}})
    upstream.script(delta("Hi"), finish(), done())
    await script.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=5)
    assert bodies(upstream)[1]["max_completion_tokens"] == 5
    await api_upstream.arefresh_from_db()
    assert list(api_upstream.refused_by(MODEL)) == ["max_tokens"]


async def test_a_maximum_output_by_a_limit_is_spelled_otherwise_as_well(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    await Limit.objects.acreate(cap=3000, measure="tokens", period="ever")
    upstream.fail(400, {"error": {"message": NO_MAX_TOKENS, "param": "max_tokens"}})
    upstream.script(delta("Hi"), finish(), done())
    got = await script.chat.completions.create(model=MODEL, messages=HELLO)
    assert got.choices[0].message.content == "Hi"
    assert [sorted(body.keys() & OUTPUT_FIELDS) for body in bodies(upstream)] == [
        ["max_tokens"],
        ["max_completion_tokens"],
    ]


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "This model's maximum context length is 300 tokens.",
        "2 validation errors: {'loc': ('body','messages',0,'content',0,'text','type'), "
        "'msg': \"Input should be 'text'\"}, {'loc': ('body','messages',0,'content',0,'image_url',"
        "'image_url','detail'), 'msg': \"Input should be 'auto', 'low' or 'high'\"}",
    ],
    ids=["parameter", "context", "image"],
)
async def test_a_mistake_of_a_script_teaches_nothing_about_the_model(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream, message: str
) -> None:
    url = {"url": f"data:image/png;base64,{b64encode(png(4, 4)).decode()}", "detail": "auto"}
    content: Any = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": url}]
    for _ in range(2):
        upstream.fail(400, {"error": {"message": message}})
        with pytest.raises(openai.BadRequestError):
            await script.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": content}], temperature=0.2
            )
    assert [body["temperature"] for body in bodies(upstream)] == [0.2, 0.2]
    await api_upstream.arefresh_from_db()
    assert not api_upstream.parameter_refusals
    assert not api_upstream.context_refusals
    assert not api_upstream.image_refusals


@pytest.mark.parametrize("change", ["revoked", "deactivated", "left the group", "switched off"])
async def test_a_running_request_stops_when_its_right_ends(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream, alice: User, change: str
) -> None:
    group = await Group.objects.acreate(name="team")
    await alice.groups.aadd(group)
    rule = await AccessRule.objects.acreate(upstream=api_upstream)
    await rule.groups.aadd(group)
    upstream.script(delta("Hel"), Pause())
    asking = asyncio.create_task(script.chat.completions.create(model=MODEL, messages=HELLO))
    request = await asyncio.to_thread(upstream.wait_for_request)
    if change == "revoked":
        await AccessToken.objects.all().adelete()
    elif change == "deactivated":
        await User.objects.aupdate(is_active=False)
    elif change == "left the group":
        await alice.groups.aclear()
    else:
        await Installation.objects.aupdate(who_uses_api="nobody")
    worker().revocation.recheck_access([alice.pk])
    with pytest.raises(openai.PermissionDeniedError) as caught:
        await asking
    assert caught.value.code == "access_revoked"
    await request.until_closed()
    assert (await Usage.objects.aget()).ending == "abandoned"


async def test_a_running_request_stops_when_its_token_expires(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    await AccessToken.objects.aupdate(expires_at=timezone.now() + timedelta(seconds=0.7))
    upstream.script(delta("Hel"), Pause())
    with pytest.raises(openai.PermissionDeniedError, match="expired"):
        await script.chat.completions.create(model=MODEL, messages=HELLO)


async def test_what_was_reserved_grows_and_is_settled(
    script: AsyncOpenAI, upstream: FakeUpstream, alice: User
) -> None:
    await Limit.objects.acreate(measure="tokens", cap=100_000)
    pause = Pause()
    texts = [delta("word " * 500)] * 4
    upstream.script(*texts, pause, finish(), usage(10, 2000), done())
    asking = asyncio.create_task(script.chat.completions.create(model=MODEL, messages=HELLO))
    await asyncio.to_thread(upstream.wait_for_request)
    await until(lambda: BudgetAccount.objects.filter(held__gte=5_000).aexists())
    account = await BudgetAccount.objects.aget()
    pause.release()
    await asking
    await account.arefresh_from_db()
    assert (account.spent, account.held) == (2010, 0)


async def test_an_answer_ends_with_its_budget(script: AsyncOpenAI, upstream: FakeUpstream) -> None:
    await Limit.objects.acreate(measure="tokens", cap=1_000)
    upstream.script(*[delta("word " * 100)] * 100, Pause())
    got = await script.chat.completions.create(model=MODEL, messages=HELLO)
    assert got.choices[0].finish_reason == "length"
    assert bodies(upstream)[0]["max_tokens"] < 1_000
    row = await Usage.objects.aget()
    assert row.ending == "over_budget"


async def test_nothing_stays_reserved_for_a_request_whose_script_left_early(
    script: AsyncOpenAI, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Limit.objects.acreate(measure="tokens", cap=100_000)
    began, has_left = asyncio.Event(), threading.Event()
    loop, begin = asyncio.get_running_loop(), ApiRequest.begin

    def begin_late(*arguments: Any) -> ApiRequest:
        loop.call_soon_threadsafe(began.set)
        assert has_left.wait(WAIT_SECONDS)
        return begin(*arguments)

    monkeypatch.setattr(ApiRequest, "begin", begin_late)
    asking = asyncio.create_task(script.chat.completions.create(model=MODEL, messages=HELLO))
    await began.wait()
    asking.cancel()
    await asyncio.wait([asking])
    has_left.set()
    await until(lambda: BudgetHold.objects.exclude(settled_at=None).aexists())
    assert (await BudgetAccount.objects.aget()).held == 0
    assert not upstream.chat_requests


async def test_a_person_runs_only_so_many_requests_at_once(
    script: AsyncOpenAI, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_REPLIES_PER_PERSON = 1
    pause = Pause()
    upstream.script(delta("Hel"), pause, finish(), done())
    asking = asyncio.create_task(script.chat.completions.create(model=MODEL, messages=HELLO))
    await asyncio.to_thread(upstream.wait_for_request)
    with pytest.raises(openai.RateLimitError, match="running already"):
        await script.chat.completions.create(model=MODEL, messages=HELLO)
    pause.release()
    await asking


async def test_requests_that_begin_at_once_count_together(
    script: AsyncOpenAI, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_REPLIES_PER_PERSON = 2
    pauses = Pause(), Pause()
    for pause in pauses:
        upstream.script(delta("Hel"), pause, finish(), done())
    create = script.chat.completions.create
    asking = [asyncio.create_task(create(model=MODEL, messages=HELLO)) for _ in range(6)]
    refused = 0
    for first in asyncio.as_completed(asking):
        if refused == 4:
            for pause in pauses:
                pause.release()
            await first
            continue
        with pytest.raises(openai.RateLimitError):
            await first
        refused += 1
    assert len(upstream.chat_requests) == 2


@pytest.mark.parametrize("model", ["x" * 201, "a\0b"])
async def test_a_model_that_cannot_be_stored_is_unknown(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream, model: str
) -> None:
    await Upstream.objects.filter(pk=api_upstream.pk).aupdate(offered_models="")
    upstream.fail_models(500, {})
    with pytest.raises(openai.NotFoundError, match="There is no model"):
        await script.chat.completions.create(model=f"{api_upstream.name}/{model}", messages=HELLO)
    assert not upstream.chat_requests
