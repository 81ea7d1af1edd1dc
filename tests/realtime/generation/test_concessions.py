"""A model takes no tools together with reasoning: one gives way, and the reply says so."""

import asyncio
from html import unescape
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatapp.models import Conversation, Fallback, ModelChoice, ToolServer, Upstream
from chatapp.models.conversations.chats.chat_settings import ChatSettings
from chatapp.models.platform import upstreams
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.concessions import Concession
from chatapp.upstream.wire.requests.gateways import gateway_at
from chatapp.upstream.wire.requests.history import History
from tests.realtime.generation.conftest import Desk
from tests.realtime.generation.replies import load_saved_reply
from tests.support.fake_upstream import MODEL, FakeUpstream, Stall, answer
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

REFUSAL = (
    "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use "
    "function tools, use /v1/responses or set reasoning_effort to 'none'."
)
WITHOUT_TOOLS = "Answered without tools, because this model takes no reasoning effort"
WITHOUT_REASONING = "Answered without reasoning, because this model takes no tools"


def refuse(upstream: FakeUpstream) -> None:
    error = {"message": REFUSAL, "type": "invalid_request_error", "param": "reasoning_effort"}
    upstream.fail(400, {"error": error})


def list_requests(upstream: FakeUpstream) -> list[tuple[bool, Any]]:
    """Return whether each request had tools, and its effort."""
    bodies = [request.body for request in upstream.chat_requests]
    return [("tools" in body, body.get("reasoning_effort")) for body in bodies]


async def test_the_clock_gives_way(tab: Tab, upstream: FakeUpstream) -> None:
    refuse(upstream)
    upstream.script(*answer("Hello."))
    reply = await tab.ask()
    assert WITHOUT_TOOLS in " ".join(unescape(await tab.until_ended()).split())
    message = await load_saved_reply(reply)
    assert (message.content, message.extras.conceded) == ("Hello.", "tools")
    assert list_requests(upstream) == [(True, None), (False, None)]
    upstream.script(*answer("Again."))
    await tab.ask("Again", conversation=str(message.conversation_id))
    await tab.until_ended()
    assert list_requests(upstream)[2:] == [(False, None)]


async def test_tools_give_way_to_an_effort_that_the_chat_sets(
    tab: Tab, upstream: FakeUpstream
) -> None:
    await tab.ask()
    await tab.until_ended()
    chat = await Conversation.objects.aget()
    settings = ChatSettings(conversation=chat, parameters={"reasoning_effort": "high"})
    await database_sync_to_async(settings.store)()
    upstream.requests.clear()
    refuse(upstream)
    upstream.script(*answer("Hello."))
    await tab.ask("Hi", conversation=str(chat.pk))
    assert WITHOUT_TOOLS in " ".join(unescape(await tab.until_ended()).split())
    assert list_requests(upstream) == [(True, "high"), (False, "high")]


async def test_reasoning_gives_way_to_the_tools_of_a_server(
    tab: Tab, upstream: FakeUpstream, workshop: ToolServer
) -> None:
    refuse(upstream)
    upstream.script(*answer("Hello."))
    await tab.ask()
    assert WITHOUT_REASONING in " ".join(unescape(await tab.until_ended()).split())
    assert list_requests(upstream) == [(True, None), (True, "none")]


UNKNOWN_KEYWORD = (
    'Invalid JSON payload received. Unknown name "$schema" at '
    "'tools[0].function_declarations[0].parameters': Cannot find field."
)


def keywords(upstream: FakeUpstream) -> list[bool]:
    """Return whether the tools of each request had keywords that Google refuses."""
    tools = [request.body.get("tools") for request in upstream.chat_requests]
    return ["$schema" in str(tool) or "additionalProperties" in str(tool) for tool in tools]


async def test_keywords_of_schemas_are_left_out_once_a_model_has_refused_them(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream, workshop: ToolServer
) -> None:
    upstream.fail(400, {"error": {"message": UNKNOWN_KEYWORD}})
    for _ in range(2):
        upstream.script(*answer("Hello."))
        await tab.ask()
        await tab.until_ended()
    assert keywords(upstream) == [True, False, False]
    assert all("tools" in request.body for request in upstream.chat_requests)
    await saved_upstream.arefresh_from_db()
    [concessions] = saved_upstream.concessions_at.values()
    assert [*concessions] == [Concession.SCHEMA_KEYWORDS]


async def test_a_gateway_that_refuses_keywords_is_never_sent_them(
    tab: Tab,
    upstream: FakeUpstream,
    workshop: ToolServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upstreams, "gateway_for", lambda _: gateway_at("aiplatform.googleapis.com"))
    await tab.ask()
    await tab.until_ended()
    assert keywords(upstream) == [False]


async def test_what_is_forgotten_is_sent_again(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    refuse_tools = {"error": {"message": "this model does not support tools"}}
    upstream.fail(400, refuse_tools)
    upstream.script(*answer("Hello."))
    await tab.ask()
    await tab.until_ended()
    await saved_upstream.arefresh_from_db()
    [model] = saved_upstream.concessions_at
    await database_sync_to_async(Upstream.forget_concession)(
        saved_upstream.pk, model, Concession.TOOLS
    )
    upstream.script(*answer("Hello."))
    await tab.ask()
    await tab.until_ended()
    assert [had_tools for had_tools, _ in list_requests(upstream)] == [True, False, True]


async def test_nothing_is_remembered_of_a_reply_that_failed_anyway(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.fail(400, {"error": {"message": "this model does not support tools"}})
    upstream.fail(400, {"error": {"message": "it does not support tools, or anything else"}})
    await tab.ask()
    await tab.until_ended()
    assert [had_tools for had_tools, _ in list_requests(upstream)] == [True, False]
    await saved_upstream.arefresh_from_db()
    assert not saved_upstream.concessions_at


NO_TOOLS = {"error": {"message": "this model does not support tools"}}


async def test_only_the_concession_that_helped_is_remembered(
    desk: Desk, upstream: FakeUpstream
) -> None:
    upstream.fail(400, NO_TOOLS)
    upstream.fail(400, {"error": {"message": "System role not supported"}})
    upstream.script(*answer("Hello."))
    instructions = History.of([{"role": "system", "content": "Be brief."}])
    generation, _ = await desk.generation(instructions)
    await generation.run()
    assert (await load_saved_reply(generation.reply)).content == "Hello."
    await desk.upstream.arefresh_from_db()
    [concessions] = desk.upstream.concessions_at.values()
    assert [*concessions] == [Concession.SYSTEM]


async def test_nothing_is_remembered_of_a_model_for_which_another_answered(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    with FakeUpstream() as spare:
        second = await Upstream.objects.acreate(
            name="Second", base_url=spare.base_url, offered_models="small"
        )
        choices = [ModelChoice(second.pk, "small")]
        await database_sync_to_async(Fallback.replace)(saved_upstream, MODEL, choices)
        upstream.fail(400, NO_TOOLS)
        upstream.fail(429, {"error": {"message": "busy"}}, {"retry-after": "30"})
        reply = await tab.ask()
        await tab.until_ended()
    assert (await load_saved_reply(reply)).model == "small"
    for candidate in (saved_upstream, second):
        await candidate.arefresh_from_db()
        assert not candidate.concessions_at


async def test_nothing_is_remembered_if_the_person_stops_before_the_model_answers(
    desk: Desk, upstream: FakeUpstream
) -> None:
    upstream.fail(400, NO_TOOLS)
    upstream.script(Stall())
    generation, _ = await desk.generation()
    running = asyncio.create_task(generation.run())
    for _ in range(2):
        await upstream.until_requested()
    generation.stop(Ending.STOPPED)
    await running
    await desk.upstream.arefresh_from_db()
    assert not desk.upstream.concessions_at


async def test_a_refusal_of_one_tool_removes_tools_from_one_reply_only(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    message = "tools.0.custom.input_schema: JSON schema is invalid."
    upstream.fail(400, {"error": {"message": message}})
    for _ in range(2):
        upstream.script(*answer("Hello."))
        reply = await tab.ask()
        await tab.until_ended()
        assert (await load_saved_reply(reply)).content == "Hello."
    assert [had_tools for had_tools, _ in list_requests(upstream)] == [True, False, True]
    await saved_upstream.arefresh_from_db()
    assert not saved_upstream.concessions_at
