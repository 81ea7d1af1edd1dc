"""A model refuses parameters: what the reply says, what is remembered, and a retry without them."""

import json
from html import unescape
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatapp.models import Conversation, Fallback, Limit, Message, ModelChoice, Upstream
from chatapp.models.conversations.chats.chat_settings import ChatSettings
from tests.realtime.generation.replies import load_saved_reply
from tests.support.fake_upstream import MODEL, FakeUpstream
from tests.support.page import parse
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

NO_TEMPERATURE = "Unsupported parameter: 'temperature' is not supported with this model."
NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
NO_SUCH_EFFORT = "`reasoning_effort` must be one of `none` or `default`"


async def chat_with(tab: Tab, upstream: FakeUpstream, **parameters: Any) -> str:
    """Begin a chat and set its parameters; return its id."""
    await tab.ask("Hello")
    await tab.until_ended()
    conversation = await Conversation.objects.aget()
    settings = ChatSettings(conversation=conversation, parameters=parameters)
    await database_sync_to_async(settings.store)()
    upstream.requests.clear()
    return str(conversation.pk)


def refuse(upstream: FakeUpstream, message: str) -> None:
    upstream.fail(400, {"error": {"message": message, "type": "invalid_request_error"}})


async def retry_without(tab: Tab, ending: str) -> None:
    """Press the button of a reply's ending."""
    buttons = parse(ending).find_all("button")
    [button] = [
        candidate for candidate in buttons if candidate.text.strip().startswith("Retry without")
    ]
    await tab.send(**json.loads(button.attributes["hx-vals"]))
    await tab.until_ended()


def list_parameters(upstream: FakeUpstream) -> list[dict[str, Any]]:
    """Return the parameters of each request."""
    ours = {"model", "messages", "stream", "stream_options", "tools"}
    return [
        {name: value for name, value in request.body.items() if name not in ours}
        for request in upstream.chat_requests
    ]


async def test_a_chats_parameters_are_sent_within_the_administrators_rules(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.parameters = {"temperature": 0.2, "top_p": 0.5}
    saved_upstream.model_parameters = {"": {"temperature": {"max": 1}}}
    await saved_upstream.asave()
    chat = await chat_with(tab, upstream, temperature=1.7, stop=["END"])
    await tab.ask("Why?", conversation=chat)
    await tab.until_ended()
    assert list_parameters(upstream) == [{"temperature": 1, "top_p": 0.5, "stop": ["END"]}]


async def test_a_refused_parameter_is_named_remembered_and_left_out_by_the_retry(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    chat = await chat_with(tab, upstream, temperature=0.2, seed=1)
    refuse(upstream, NO_TEMPERATURE)
    reply = await tab.ask("Why?", conversation=chat)
    ending = await tab.until_ended()
    assert f"{MODEL} doesn't accept temperature. Your message is kept." in unescape(ending)
    assert NO_TEMPERATURE in unescape(ending)
    assert "Retry without temperature" in ending
    message = await load_saved_reply(reply)
    assert message.error
    error = {name: message.error[name] for name in ("kind", "param", "code")}
    assert error == {"kind": "no_parameter", "param": "temperature", "code": ""}
    await saved_upstream.arefresh_from_db()
    assert list(saved_upstream.refused_by(MODEL)) == ["temperature"]
    await retry_without(tab, ending)
    await tab.ask("And now?", conversation=chat)
    await tab.until_ended()
    assert list_parameters(upstream) == [{"temperature": 0.2, "seed": 1}, {"seed": 1}, {"seed": 1}]
    retried = await Message.objects.filter(parent_id=message.parent_id).alatest("sequence")
    assert retried.ending == "complete"


async def test_a_refused_value_is_named_and_left_out_of_one_request(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    chat = await chat_with(tab, upstream, reasoning_effort="high", seed=1)
    refuse(upstream, NO_SUCH_EFFORT)
    await tab.ask("Why?", conversation=chat)
    ending = await tab.until_ended()
    assert f"{MODEL} doesn't accept high as reasoning effort." in unescape(ending)
    await saved_upstream.arefresh_from_db()
    assert not saved_upstream.refused_by(MODEL)
    await retry_without(tab, ending)
    await tab.ask("And now?", conversation=chat)
    await tab.until_ended()
    both = {"reasoning_effort": "high", "seed": 1}
    assert list_parameters(upstream) == [both, {"seed": 1}, both]
    settings = await ChatSettings.objects.aget()
    assert settings.parameters == both


async def test_another_name_of_a_parameter_is_tried_at_once_and_remembered(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    chat = await chat_with(tab, upstream, max_output_tokens=500)
    refuse(upstream, NO_MAX_TOKENS)
    reply = await tab.ask("Why?", conversation=chat)
    await tab.until_ended()
    assert (await load_saved_reply(reply)).ending == "complete"
    await tab.ask("And now?", conversation=chat)
    await tab.until_ended()
    renamed = {"max_completion_tokens": 500}
    assert list_parameters(upstream) == [{"max_tokens": 500}, renamed, renamed]


async def test_if_all_names_are_refused_the_parameter_is_named(
    tab: Tab, upstream: FakeUpstream
) -> None:
    chat = await chat_with(tab, upstream, max_output_tokens=500)
    refuse(upstream, NO_MAX_TOKENS)
    refuse(upstream, "Unrecognized request argument supplied: max_completion_tokens")
    await tab.ask("Why?", conversation=chat)
    ending = await tab.until_ended()
    assert "doesn't accept a maximum output." in unescape(ending)
    assert "Retry without a maximum output" in ending
    await retry_without(tab, ending)
    assert list_parameters(upstream)[2:] == [{}]


async def test_the_budgets_own_maximum_is_sent_by_the_name_that_the_model_accepts(
    tab: Tab, upstream: FakeUpstream
) -> None:
    await Limit.objects.acreate(cap=3000, measure="tokens", period="ever")
    refuse(upstream, NO_MAX_TOKENS)
    reply = await tab.ask()
    await tab.until_ended()
    assert (await load_saved_reply(reply)).ending == "complete"
    assert [list(fields) for fields in list_parameters(upstream)] == [
        ["max_tokens"],
        ["max_completion_tokens"],
    ]


async def test_a_refusal_of_an_administrators_parameter_offers_nothing(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.parameters = {"temperature": 0.2}
    await saved_upstream.asave()
    refuse(upstream, NO_TEMPERATURE)
    reply = await tab.ask()
    ending = await tab.until_ended()
    assert "did not accept the request" in ending
    assert "Retry without" not in ending
    message = await load_saved_reply(reply)
    assert message.error
    assert message.error["kind"] == "bad_request"


async def test_a_maximum_output_that_exceeds_the_context_is_named(
    tab: Tab, upstream: FakeUpstream
) -> None:
    chat = await chat_with(tab, upstream, max_output_tokens=40_000)
    refuse(
        upstream,
        "'max_tokens' is too large: 40000. This model's maximum context length is 8192 tokens and "
        "your request has 50 input tokens (40000 > 8192 - 50).",
    )
    await tab.ask("Why?", conversation=chat)
    ending = await tab.until_ended()
    assert "doesn't accept 40000 as a maximum output." in unescape(ending)
    await retry_without(tab, ending)
    assert list_parameters(upstream)[1] == {}


async def test_what_a_model_refused_is_not_remembered_of_the_one_that_answers_instead(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    chat = await chat_with(tab, upstream, max_output_tokens=500)
    other = [ModelChoice(saved_upstream.pk, "other")]
    await database_sync_to_async(Fallback.replace)(saved_upstream, MODEL, other)
    refuse(upstream, NO_MAX_TOKENS)
    upstream.fail(503, {"error": {"message": "busy"}}, {"retry-after": "30"})
    await tab.ask("Why?", conversation=chat)
    await tab.until_ended()
    assert [request.body["model"] for request in upstream.chat_requests] == [MODEL, MODEL, "other"]
    await saved_upstream.arefresh_from_db()
    assert list(saved_upstream.refusals) == [MODEL]


async def test_a_parameter_of_ones_own_is_named_safely(tab: Tab, upstream: FakeUpstream) -> None:
    name = "<b>'\"top"
    chat = await chat_with(tab, upstream, extra={name: 1, "min_p": 0})
    refuse(upstream, f"Unknown parameter: '{name}'.")
    await tab.ask("Why?", conversation=chat)
    ending = await tab.until_ended()
    assert "<b>" not in ending
    await retry_without(tab, ending)
    assert list_parameters(upstream)[1] == {"min_p": 0}


@pytest.mark.parametrize("own", [-1, None])
async def test_a_field_that_an_administrator_sets_is_not_sent_for_ever(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream, own: int | None
) -> None:
    saved_upstream.parameters = {"max_tokens": own}
    await saved_upstream.asave()
    for _ in range(3):
        refuse(upstream, NO_MAX_TOKENS)
    reply = await tab.ask()
    await tab.until_ended()
    assert len(upstream.chat_requests) == 2
    message = await load_saved_reply(reply)
    assert message.ending == "failed"
