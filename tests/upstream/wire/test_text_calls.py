"""Tool calls that a server passes on as text are made, if the model may call the tool."""

import json

import pytest

from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.reply import Ending, Reply
from tests.support.fake_upstream import delta, done, finish

BAR = "\uff5cDSML\uff5c"
DSML = (
    f'<{BAR}tool_calls>\n<{BAR}invoke name="look_up">\n'
    f'<{BAR}parameter name="q" string="true">Oslo</{BAR}parameter>\n'
    f'<{BAR}parameter name="limit" string="false">3</{BAR}parameter>\n'
    f"</{BAR}invoke>\n</{BAR}tool_calls>"
)
JSON = '<tool_call>\n{"name": "look_up", "arguments": {"q": "Oslo", "limit": 3}}\n</tool_call>'
TAGS = (
    "<tool_call>\n<function=look_up>\n<parameter=q>\nOslo\n</parameter>\n"
    "<parameter=limit>3</parameter>\n</function>\n</tool_call>"
)
HARMONY = (
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
    'to=functions.look_up <|constrain|>json<|message|>{"q":"Oslo","limit":3}<|call|>'
)
SIZES = [1, 5, 1000]


def reply_to(text: str, size: int, *tools: str) -> Reply:
    decoder, reply = EventDecoder(tools=tools), Reply()
    pieces = [delta(text[at : at + size]) for at in range(0, len(text), size)]
    for piece in [*pieces, finish(), done()]:
        for event in decoder.receive_data(piece):
            reply.apply(event)
    return reply


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("markup", [DSML, JSON, TAGS, HARMONY, JSON.removesuffix("</tool_call>")])
def test_a_call_in_the_text_is_made(markup: str, size: int) -> None:
    before = "" if markup == HARMONY else "I look it up.\n\n"
    reply = reply_to(before + markup, size, "look_up", "other")
    [call] = reply.tool_calls
    assert (call.name, call.parsed) == ("look_up", {"q": "Oslo", "limit": 3})
    assert (reply.answer.strip(), reply.wants_tools) == (before.strip(), True)


@pytest.mark.parametrize("size", SIZES)
def test_several_calls_and_text_after_them_are_kept(size: int) -> None:
    reply = reply_to(f"{JSON}\n{TAGS}\nSo be it.", size, "look_up")
    assert [call.name for call in reply.tool_calls] == ["look_up"] * 2
    assert reply.answer.strip() == "So be it."


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("markup", [DSML, JSON, HARMONY, "<tool_call>\n{?}\n</tool_call>"])
def test_a_call_of_a_tool_that_was_not_offered_stays_text_and_fails(markup: str, size: int) -> None:
    reply = reply_to(markup, size, "other")
    assert (reply.tool_calls, reply.ending) == ([], Ending.FAILED)
    assert reply.error
    assert reply.error.kind is ErrorKind.UNREAD_CALL
    if markup != HARMONY:
        assert reply.answer == markup


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "text",
    [
        f"Qwen writes `{JSON}`.",
        f"```\n{JSON}\n```\nand\n~~~xml\n{DSML}\n~~~",
        f"It is {DSML}",
        "<tool_callx>\n <tool",
        "a < b\n\n<\n<b>",
    ],
)
def test_markup_that_is_quoted_is_text(text: str, size: int) -> None:
    reply = reply_to(text, size, "look_up")
    assert (reply.answer, reply.tool_calls) == (text, [])
    assert reply.ending is Ending.COMPLETE


def test_markup_without_an_end_does_not_grow_forever() -> None:
    text = "<tool_call>\n" + json.dumps("x" * 400_000)
    assert reply_to(text, 50_000, "look_up").answer == text
