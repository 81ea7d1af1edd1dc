"""A reply with tool calls: its rounds, what later requests repeat of them, and permissions."""

import json
from html import unescape
from uuid import uuid4

import pytest
from django.test import Client

from chatapp.models import ToolServer, Upstream, Usage
from chatapp.realtime.generation import writer
from tests.realtime.generation.replies import call, fragment, load_saved_reply
from tests.support.fake_upstream import (
    MODEL,
    FakeUpstream,
    answer,
    choice,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.page import parse
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

CLOCK = "current_date_and_time"


async def test_a_tool_is_called_and_the_model_answers_with_its_result(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(
        role(),
        reasoning("I need the time."),
        call(CLOCK, '{"timez'),
        fragment('one": "UTC"}'),
        finish("tool_calls"),
        usage(10, 5),
        done(),
    )
    upstream.script(*answer("It is noon."))
    reply = await tab.ask("What time is it?")
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert message.content == "It is noon."
    (earlier,) = message.earlier_rounds
    assert earlier["reasoning"] == "I need the time."
    (run,) = earlier["tool_runs"]
    assert (run["name"], run["arguments"], run["state"]) == (CLOCK, '{"timezone": "UTC"}', "done")
    assert "UTC" in run["result"]
    first, again = upstream.chat_requests
    assert CLOCK in [tool["function"]["name"] for tool in first.body["tools"]]
    assistant, result = again.body["messages"][-2:]
    assert assistant["tool_calls"][0]["function"]["arguments"] == '{"timezone": "UTC"}'
    assert result == {"role": "tool", "tool_call_id": "call_0", "content": run["result"]}


async def test_usage_adds_up_over_the_rounds_and_each_is_kept(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), call(CLOCK, "{}"), finish("tool_calls"), usage(10, 5), done())
    upstream.script(role(), delta("Noon."), finish(), usage(30, 2), done())
    reply = await tab.ask()
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.usage.prompt_tokens, message.usage.completion_tokens) == (40, 7)
    assert message.usage.provenance == Usage.Provenance.REPORTED
    assert message.earlier_rounds[0]["usage"]["total_tokens"] == 15


async def test_the_next_prompt_repeats_the_calls_and_their_results(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), call(CLOCK, "{}"), finish("tool_calls"), done())
    upstream.script(*answer("Noon."))
    reply = await tab.ask("What time is it?")
    await tab.until_ended()
    conversation = (await load_saved_reply(reply)).conversation_id
    await tab.ask("And now?", conversation=str(conversation))
    await tab.until_ended()
    roles = [message["role"] for message in upstream.chat_requests[2].body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


async def test_invalid_json_arguments_are_shown_and_reported_to_the_model(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), call(CLOCK, '{"zone": '), finish("tool_calls"), done())
    await tab.ask()
    await tab.until_ended()
    assert "not a JSON object" in upstream.chat_requests[1].body["messages"][-1]["content"]
    assert '{"zone": ' in unescape("".join(tab.frames))


async def test_the_number_of_tool_rounds_is_limited(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_ROUNDS", 2)
    upstream.default = [role(), call(CLOCK, "{}"), finish("tool_calls"), done()]
    reply = await tab.ask()
    assert "called tools in 2 rounds" in await tab.until_ended()
    message = await load_saved_reply(reply)
    assert message.ending == "failed"
    assert len(message.earlier_rounds) == len(upstream.chat_requests) == 2


async def test_text_before_too_many_rounds_is_kept_and_can_be_continued(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_ROUNDS", 2)
    looking = [role(), delta("Let me look."), call(CLOCK, "{}"), finish("tool_calls"), done()]
    upstream.script(*looking)
    upstream.script(*looking)
    reply = await tab.ask()
    frame = await tab.until_ended()
    assert "kept calling tools without answering" in frame
    assert "The text so far has been saved." in frame
    assert ">Continue</button>" in frame
    message = await load_saved_reply(reply)
    assert [record["content"] for record in message.earlier_rounds] == ["Let me look."] * 2
    await tab.send(action="continue", reply=str(reply))
    await tab.next_reply()
    await tab.until_ended()
    roles = [message["role"] for message in upstream.chat_requests[2].body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]


SIGNED = {"google": {"thought_signature": "CiQBx+9=="}}


async def test_a_calls_extra_fields_are_repeated_only_to_the_model_that_sent_them(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.models.append("another")
    function = {"name": CLOCK, "arguments": "{}"}
    long = f"call_9a__thought__{'x' * 3000}"
    signed = {"index": 0, "id": long, "function": function, "extra_content": SIGNED}
    thought = {"type": "thinking", "thinking": "Hm."}
    upstream.script(
        *(role(), choice({"thinking_blocks": [thought]}), choice({"tool_calls": [signed]})),
        choice({"thinking_blocks": [{"type": "thinking", "signature": "s"}]}),
        *(finish("tool_calls"), done()),
    )
    reply = await tab.ask("What time is it?")
    await tab.until_ended()
    conversation = str((await load_saved_reply(reply)).conversation_id)
    await tab.ask("And now?", conversation=conversation)
    await tab.until_ended()
    await tab.ask("And now?", conversation=conversation, model=f"{saved_upstream.pk}/another")
    await tab.until_ended()
    _, again, next_prompt, another = (request.body for request in upstream.chat_requests)
    for body, is_same in ((again, True), (next_prompt, True), (another, False)):
        _, call_message, result, *_ = body["messages"]
        [sent_call] = call_message["tool_calls"]
        assert sent_call.get("extra_content") == (SIGNED if is_same else None)
        assert call_message.get("thinking_blocks") == (
            [thought | {"signature": "s"}] if is_same else None
        )
        assert result["tool_call_id"] == sent_call["id"]
        assert (sent_call["id"] == long) is is_same
        assert is_same or len(sent_call["id"]) <= 40


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_is_repeated_with_its_calls_in_its_original_field(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream, name: str
) -> None:
    upstream.models.append("another")
    upstream.script(
        *(choice({name: "Tokyo, "}), choice({name: "so ask."})),
        *(call(CLOCK, "{}"), finish("tool_calls"), done()),
    )
    upstream.script(choice({name: "Noon, then."}), delta("Noon."), finish(), done())
    upstream.script(choice({name: "Hm."}), delta("Still noon."), finish(), done())
    reply = await tab.ask("What time is it?")
    await tab.until_ended()
    conversation = str((await load_saved_reply(reply)).conversation_id)
    for model in ("", "", f"{saved_upstream.pk}/another"):
        chosen = {"model": model} if model else {}
        await tab.ask("And now?", conversation=conversation, **chosen)
        await tab.until_ended()
    sent_messages = [
        [
            message.get(name)
            for message in request.body["messages"]
            if message["role"] == "assistant"
        ]
        for request in upstream.chat_requests
    ]
    # An answer without calls is sent without reasoning; another model is sent none at all.
    looped = ["Tokyo, so ask.", "Noon, then."]
    assert sent_messages == [[], looped[:1], looped, [*looped, None], [None] * 4]


@pytest.mark.parametrize(
    "sentence",
    [
        "Missing `reasoning_content` field in the assistant message at message index 1.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message",
    ],
)
async def test_a_model_that_wants_reasoning_with_each_call_gets_it_with_those_of_others(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream, sentence: str
) -> None:
    upstream.models.append("thinker")
    upstream.script(role(), call(CLOCK, "{}"), finish("tool_calls"), done())
    upstream.script(*answer("It is noon."))
    reply = await tab.ask("What time is it?")
    await tab.until_ended()
    chat = {"conversation": str((await load_saved_reply(reply)).conversation_id)}
    upstream.fail(400, {"error": {"message": sentence}})
    for model in ("thinker", "thinker", MODEL):
        upstream.script(*answer("Still noon."))
        reply = await tab.ask("And now?", **chat, model=f"{saved_upstream.pk}/{model}")
        await tab.until_ended()
        assert (await load_saved_reply(reply)).content == "Still noon."
    sent_messages = [request.body["messages"][1] for request in upstream.chat_requests[2:]]
    assert [message.get("reasoning_content") for message in sent_messages] == [None, "", "", None]
    assert all(message["tool_calls"] for message in sent_messages)


async def test_reasoning_in_tags_is_not_repeated(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(delta("<think>Hm.</think>"), call(CLOCK, "{}"), finish("tool_calls"), done())
    await tab.ask()
    await tab.until_ended()
    assistant = upstream.chat_requests[1].body["messages"][-2]
    assert assistant.keys() == {"role", "content", "tool_calls"}


async def test_tool_calls_that_all_have_index_0_each_run(tab: Tab, upstream: FakeUpstream) -> None:
    calls = [
        {"index": 0, "id": name, "function": {"name": CLOCK, "arguments": {"timezone": zone}}}
        for name, zone in (("a", "UTC"), ("b", "Asia/Tokyo"))
    ]
    upstream.script(choice({"tool_calls": calls}), finish("tool_calls"), done())
    reply = await tab.ask()
    await tab.until_ended()
    assert (await load_saved_reply(reply)).ending == "complete"
    results = upstream.chat_requests[1].body["messages"][-2:]
    assert [result["tool_call_id"] for result in results] == ["a", "b"]
    assert "UTC" in results[0]["content"]
    assert "Tokyo" in results[1]["content"]


async def test_a_model_that_refuses_tools_is_asked_again_without_them(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": {"message": "this model does not support tools"}})
    reply = await tab.ask()
    await tab.until_ended()
    assert (await load_saved_reply(reply)).ending == "complete"
    assert ["tools" in request.body for request in upstream.chat_requests] == [True, False]


@pytest.mark.parametrize(("decision", "state"), [("allow", "done"), ("deny", "denied")])
async def test_a_tool_of_a_server_runs_only_if_the_person_allows_it(
    tab: Tab, upstream: FakeUpstream, workshop: ToolServer, decision: str, state: str
) -> None:
    upstream.script(
        role(), call("workshop__echo", '{"text": "hello"}'), finish("tool_calls"), done()
    )
    reply = await tab.ask()
    question = await tab.until('data-state="asking"')
    assert ">Allow<" in question
    conversation = str((await load_saved_reply(reply)).conversation_id)
    other = {"allow": "deny", "deny": "allow"}[decision]
    call_of_it = {"conversation": conversation, "round": 0, "call": 0}
    await tab.send(action=other, **call_of_it | {"round": 1})
    await tab.send(action=other, **call_of_it, reply=str(uuid4()))
    await tab.send(action=decision, **call_of_it, reply=str(reply))
    await tab.until_ended()
    (run,) = (await load_saved_reply(reply)).earlier_rounds[0]["tool_runs"]
    assert run["state"] == state
    frame = upstream.chat_requests[1].body["messages"][-1]["content"]
    assert ("hello" in frame) == (decision == "allow")


async def test_a_tool_that_is_always_allowed_in_a_chat_runs_there_without_a_question(
    tab: Tab, upstream: FakeUpstream, workshop: ToolServer
) -> None:
    calls = [role(), call("workshop__echo", '{"text": "hello"}'), finish("tool_calls"), done()]
    upstream.script(*calls)
    first = await tab.ask()
    question = parse(await tab.until('data-state="asking"'))
    values = [json.loads(button.attributes["hx-vals"]) for button in question.find_all("button")]
    await tab.send(**next(value for value in values if value["action"] == "always_allow"))
    await tab.until_ended()
    upstream.script(*calls)
    conversation = (await load_saved_reply(first)).conversation_id
    tab.frames.clear()
    second = await tab.ask("Again", conversation=str(conversation), parent=str(first))
    await tab.until_ended()
    for reply in (first, second):
        (run,) = (await load_saved_reply(reply)).earlier_rounds[0]["tool_runs"]
        assert (run["state"], "definition" in run) == ("done", False)
    assert not any('data-state="asking"' in frame for frame in tab.frames)
    await ToolServer.objects.aupdate(always_asks=True)
    upstream.script(*calls)
    await tab.ask("Again", conversation=str(conversation), parent=str(second))
    assert "Always allow" not in await tab.until('data-state="asking"')


async def test_bob_cannot_allow_a_call_of_alices(
    tab: Tab, bobs: Client, upstream: FakeUpstream, workshop: ToolServer
) -> None:
    upstream.script(role(), call("workshop__echo", '{"text": "x"}'), finish("tool_calls"), done())
    reply = await tab.ask()
    await tab.until('data-state="asking"')
    conversation = str((await load_saved_reply(reply)).conversation_id)
    async with Tab(bobs) as bobs_tab:
        await bobs_tab.send(action="allow", conversation=conversation, round=0, call=0)
        await bobs_tab.send(action="nonsense")
        await bobs_tab.until("Reload")
    await tab.send(action="deny", conversation=conversation, round=0, call=0)
    await tab.until_ended()
    (run,) = (await load_saved_reply(reply)).earlier_rounds[0]["tool_runs"]
    assert run["state"] == "denied"


async def test_stop_cancels_a_tool_that_waits_for_permission(
    tab: Tab, upstream: FakeUpstream, workshop: ToolServer
) -> None:
    upstream.script(role(), call("workshop__echo", '{"text": "x"}'), finish("tool_calls"), done())
    reply = await tab.ask()
    await tab.until('data-state="asking"')
    conversation = str((await load_saved_reply(reply)).conversation_id)
    await tab.send(action="stop", conversation=conversation)
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert message.ending == "stopped"
    assert message.tool_runs[0]["state"] == "cancelled"
    assert len(upstream.chat_requests) == 1
