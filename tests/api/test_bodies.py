"""Bodies of requests: what is refused, and where the mistake is."""

import json
from typing import Any

import pytest

from chatapp.api.bodies import MAX_MESSAGES, ChatRequest
from chatapp.api.responses import ApiError

HELLO: Any = [{"role": "user", "content": "Hello"}]


def refused(body: Any) -> ApiError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ApiError) as caught:
        ChatRequest.of(data)
    assert caught.value.status == 400
    return caught.value


def of(**more: Any) -> dict[str, Any]:
    return {"model": "one", "messages": HELLO} | more


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b"[]", b"null", b"1", b'"\\ud800"', b"[" * 100_000, b'{"a":' * 100_000],
)
def test_what_is_not_a_json_object_is_refused(data: bytes) -> None:
    assert refused(data)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": HELLO}, None),
        (of(messages=[]), "messages"),
        (of(messages=HELLO * (MAX_MESSAGES + 1)), "messages"),
        (of(messages=[{"role": "root", "content": ""}]), "messages[0].role"),
        (of(messages=[{"role": "user", "content": 1}]), "messages[0].content"),
        (of(messages=[{"role": "user", "content": [{"type": "file"}]}]), "messages[0].content"),
        (of(messages=[{"role": "user", "content": "x" * 200_001}]), "messages[0].content"),
        (of(temperature="hot"), "temperature"),
        (of(temperature=3), "temperature"),
        (of(max_tokens=0), "max_output_tokens"),
        (of(n=0), "n"),
        (of(n=10**30), "n"),
        (of(store="yes"), "store"),
        (of(stream="yes"), "stream"),
        (of(tools=[{"type": "function"}]), "tools[0]"),
        (of(tools=[{"type": "function", "function": {"name": "f"}}] * 129), "tools"),
        (of(functions=[]), "functions"),
        (of(extra_headers={"a": "b"}), "extra"),
        (of(api_base="http://localhost"), "extra"),
        (of(extra={"api_base": "x"}), "extra"),
        (of(stop=["x"] * 5), "stop"),
        (of(metadata={"a": "\0"}), "extra"),
        (of(modalities=["audio"], audio={"voice": "x"}), "audio"),
        (of(response_format={"type": "xml"}), "response_format"),
        (of(top_logprobs=3), "top_logprobs"),
    ],
)
def test_a_mistake_is_named(body: Any, param: str | None) -> None:
    error = refused(body)
    assert error.param == param
    assert str(error)


def test_json_may_not_be_nested_deeply() -> None:
    nested: Any = {}
    for _ in range(40):
        nested = {"a": nested}
    assert "nested" in str(refused(of(tools=[{"type": "function", "function": nested}])))


def test_unset_members_mean_nothing() -> None:
    parsed = ChatRequest.of(json.dumps(of(temperature=None, tools=None, store=False)).encode())
    assert (parsed.parameters, parsed.tools, parsed.choices) == ({}, (), 1)


def test_ten_thousand_small_messages_are_refused_and_two_thousand_taken() -> None:
    taken = ChatRequest.of(json.dumps(of(messages=HELLO * MAX_MESSAGES)).encode())
    assert len(taken.history.messages) == MAX_MESSAGES
    assert refused(of(messages=HELLO * 10_000)).param == "messages"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SYSTEM, ANSWER = {"role": "system", "content": "Be kind"}, {"role": "assistant", "content": "Hi"}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "with tools"),
        ({"messages": [*HELLO, {"role": "tool", "content": "x", "tool_call_id": "1"}]}, "tools"),
        ({"messages": [*HELLO, {"role": "assistant", "tool_calls": [CALL]}, *HELLO]}, "tools"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "with images"),
        ({"messages": [*HELLO, SYSTEM]}, "beginning only"),
        ({"messages": [*HELLO, {**ANSWER, "reasoning_content": [1]}, *HELLO]}, "isn't a text"),
        ({"messages": [SYSTEM]}, "first and last"),
        ({"messages": [*HELLO, *HELLO]}, "take turns"),
        ({"messages": [*HELLO, ANSWER]}, "first and last"),
        ({"messages": [ANSWER, *HELLO]}, "first and last"),
        ({"messages": [{"role": "user", "content": " \u200b"}]}, "without text"),
        ({"messages": [{"role": "user", "content": None}]}, "without text"),
        ({"messages": [{"role": "user", "content": "a\0b"}]}, "NUL"),
        ({"messages": [{"role": "system", "content": "\0"}, *HELLO]}, "NUL"),
        ({"messages": [{**HELLO[0], "name": "Eve"}]}, "“name”"),
        ({"messages": [{**SYSTEM, "content": "x" * 20_001}, *HELLO]}, "at most 20,000"),
    ],
)
def test_what_a_chat_cannot_hold_is_not_saved(more: Any, sentence: str) -> None:
    error = refused(of(store=True, **more))
    assert sentence in str(error)
    assert error.code == "unsupported_with_store"
    if "NUL" not in sentence and "images" not in sentence:
        assert ChatRequest.of(json.dumps(of(**more)).encode()).chat is None
