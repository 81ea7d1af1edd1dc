"""Tool calls: which question calls which tool, in every dialect, and the answer to the results."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chatapp.demo.calling import NO_CLOCK, NO_TOOLS
from chatapp.demo.models import MODELS
from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.tools.clock import CLOCK
from chatapp.upstream.wire.reply import Ending, Reply
from tests.demo import Client, ask

WEATHER = {"type": "function", "function": {"name": "city__weather", "description": "Rain"}}
TOOLS = [WEATHER, CLOCK.as_request()]
TIME = "What time is it?"


async def reply_to(text: str, model: str = "demo-openai", tools: Any = TOOLS) -> Reply:
    return (await ask(text, model=model, tools=tools)).reply()


def calls(reply: Reply) -> list[tuple[str, Any]]:
    return [(call.name, call.parsed) for call in reply.tool_calls]


@pytest.mark.parametrize("model", MODELS)
async def test_asking_for_the_time_calls_the_clock_tool(model: str) -> None:
    reply = await reply_to(TIME, model)

    assert calls(reply) == [(CLOCK.name, {})]
    assert reply.finish_reason == "tool_calls"
    assert reply.wants_tools
    assert not reply.answer
    assert bool(reply.reasoning) == MODELS[model].reasons


@pytest.mark.parametrize("model", MODELS)
async def test_a_calls_name_is_streamed_before_its_arguments(model: str) -> None:
    client = await ask('call city__weather {"city": "Vienna", "days": 3}', model=model, tools=TOOLS)
    chunks = [json.loads(data) for data in client.data[:-1]]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", ())]
    [first, *argument_deltas] = [
        delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta
    ]

    assert first["index"] == 0
    assert first["id"].startswith("call_")
    assert first["function"] == {"name": "city__weather", "arguments": ""}
    assert len(argument_deltas) > 1
    assert all(part.keys() == {"index", "function"} for part in argument_deltas)
    assert calls(client.reply()) == [("city__weather", {"city": "Vienna", "days": 3})]


@pytest.mark.parametrize(
    "text",
    ["what's the date", "Which day is it today?", "tell me the time, please", "current date"],
)
async def test_many_ways_to_ask_for_the_time(text: str) -> None:
    assert calls(await reply_to(text)) == [(CLOCK.name, {})]


async def test_the_time_zone_in_a_question_is_passed_to_the_tool() -> None:
    reply = await reply_to("What time is it in Europe/Vienna?")

    assert calls(reply) == [(CLOCK.name, {"timezone": "Europe/Vienna"})]


@pytest.mark.parametrize(
    "text",
    ["How do I stop a reply?", "use ollama", "call my boss", "What does timed out mean?", "hello"],
)
async def test_other_questions_call_no_tool(text: str) -> None:
    assert calls(await reply_to(text)) == []


@pytest.mark.parametrize(
    "text",
    ["use the tool city__weather", "Use the tool `city__weather`.", "call city__weather"],
)
async def test_any_offered_tool_can_be_called_by_its_name(text: str) -> None:
    assert calls(await reply_to(text)) == [("city__weather", {})]


async def test_several_calls_in_one_reply() -> None:
    reply = await reply_to(f'call city__weather {{"city": "Graz"}}\ncall {CLOCK.name}')

    assert calls(reply) == [("city__weather", {"city": "Graz"}), (CLOCK.name, {})]
    assert len({call.id for call in reply.tool_calls}) == 2


@pytest.mark.parametrize("text", ["invalid arguments", 'call city__weather {"city": "Vie'])
async def test_invalid_arguments_can_be_requested(text: str) -> None:
    [call] = (await reply_to(text)).tool_calls

    assert call.parsed is None
    assert call.problem


async def test_a_deprecated_function_call_can_be_requested() -> None:
    client = await ask("function call", model="demo-openai", tools=TOOLS)
    reply = client.reply()

    assert "tool_calls" not in client.body.decode()
    assert reply.finish_reason == "function_call"
    assert calls(reply) == [(CLOCK.name, {})]
    assert reply.wants_tools


@pytest.mark.parametrize("text", ["tools", "invalid arguments", "call x {}", "use the tool x"])
async def test_without_tools_no_call_is_made(text: str) -> None:
    reply = await reply_to(text, tools=[])

    assert calls(reply) == []
    assert NO_TOOLS in reply.answer


async def test_without_a_clock_tool_the_demo_does_not_know_the_time() -> None:
    assert NO_CLOCK in (await reply_to(TIME, tools=[WEATHER])).answer


async def test_the_offered_tools_are_listed() -> None:
    answer = (await reply_to("tools")).answer

    assert "- `call city__weather {}`" in answer
    assert f"- `call {CLOCK.name} {{}}`" in answer


async def send_results(text: str, result: str, *, then: tuple[Any, ...] = ()) -> Client:
    """Send the results of a question's tool calls and return the response."""
    reply = await reply_to(text)
    runs = [replace(ToolRun.of(call), result=result) for call in reply.tool_calls]
    messages = [
        {"role": "user", "content": text},
        *Round.of(reply, runs, {}).as_chat_messages(),
        *then,
    ]
    return await ask(model="demo-openai", tools=TOOLS, messages=messages)


async def test_the_answer_quotes_the_result() -> None:
    reply = (await send_results(TIME, "It is Monday.\nReally.")).reply()

    assert reply.ending is Ending.COMPLETE
    assert reply.answer.startswith("The tool answered:\n\n> It is Monday.\n> Really.\n\n")


async def test_an_answer_after_a_tool_can_be_continued_and_followed_by_another_question() -> None:
    whole = (await send_results(TIME, "It is Monday.")).reply().answer
    partial_answer = {"role": "assistant", "content": whole[:24]}
    more = {"role": "user", "content": "Continue where you stopped."}
    hello = {"role": "user", "content": "hello"}

    continued = await send_results(TIME, "It is Monday.", then=(partial_answer, more))
    assert whole[:24] + continued.reply().answer == whole
    followed = await send_results(TIME, "It is Monday.", then=(partial_answer, hello))
    assert followed.reply().answer.startswith("Hello")


async def test_endless_calls_can_be_requested() -> None:
    assert (await send_results("endless calls", "It is Monday.")).reply().wants_tools


async def test_a_reply_without_streaming_has_the_calls_in_its_message() -> None:
    tool_calls = (await ask(TIME, tools=TOOLS, stream=False)).json["choices"][0]
    function = (await ask("function call", tools=TOOLS, stream=False)).json["choices"][0]

    assert tool_calls["finish_reason"] == "tool_calls"
    assert tool_calls["message"]["content"] is None
    assert tool_calls["message"]["tool_calls"][0]["function"]["name"] == CLOCK.name
    assert function["message"]["function_call"] == {"name": CLOCK.name, "arguments": "{}"}
