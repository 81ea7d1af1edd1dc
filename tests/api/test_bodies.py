"""Bodies of requests: what is refused, and where the mistake is."""

import json
from base64 import b64encode
from typing import Any, cast

import pytest

from chatapp.api.bodies import MAX_MESSAGES, ChatRequest
from chatapp.api.responses import ApiError
from chatapp.upstream.wire.requests.content import EncodedPart, ImagePart
from tests.support.pictures import claimed_png

HELLO: Any = [{"role": "user", "content": "Hello"}]


def get_refusal(body: Any) -> ApiError:
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
    assert get_refusal(data)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": HELLO}, None),
        (of(messages=[]), "messages"),
        (of(messages=HELLO * (MAX_MESSAGES + 1)), "messages"),
        (of(messages=[{"role": "root", "content": ""}]), "messages[0].role"),
        (of(messages=[{"role": "user", "content": 1}]), "messages[0].content"),
        (of(messages=[{"role": "user", "content": [{"type": "file"}]}]), "messages[0].content"),
        (of(messages=[{"role": "user", "content": "x" * 2_200_001}]), "messages[0].content"),
        (
            of(messages=[{"role": "user", "content": "x" * 200_001}], store=True),
            "messages[0].content",
        ),
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
    error = get_refusal(body)
    assert error.param == param
    assert str(error)


def test_json_may_not_be_nested_deeply() -> None:
    nested: Any = {}
    for _ in range(40):
        nested = {"a": nested}
    assert "nested" in str(get_refusal(of(tools=[{"type": "function", "function": nested}])))


def test_a_user_may_send_as_much_text_as_a_prompt_and_an_attached_text_have() -> None:
    text = "ä" * 2_200_000
    taken = ChatRequest.of(json.dumps(of(messages=[{"role": "user", "content": text}])).encode())
    assert taken.history.messages[0]["content"] == text


def test_much_text_is_too_large_however_large_images_may_be() -> None:
    with pytest.raises(ApiError) as caught:
        ChatRequest.of(json.dumps(of(metadata={"a": "x" * 20_000_000})).encode())
    assert (caught.value.status, caught.value.code) == (413, "request_too_large")


def test_a_large_image_is_passed_on_as_it_is() -> None:
    data = claimed_png(3000, 2000, bytes(4_000_000))
    part = {
        "type": "image_url",
        "image_url": {"url": data_url("image/png", data), "detail": "high"},
    }
    taken = ChatRequest.of(json.dumps(of(messages=[{"role": "user", "content": [part]}])).encode())
    [message], [image] = taken.history.messages, taken.history.images
    [sent] = cast(list[EncodedPart], message["content"])
    assert json.loads(sent.json) == part
    assert image == ImagePart("", "image/png", 3000, 2000, len(data))


def data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ({"file_id": "file-123"}, "invalid_file"),
        ({"file_data": "JVBERi0="}, "invalid_file"),
        ({"file_data": "https://example.org/a.pdf"}, "invalid_file"),
    ],
)
def test_a_file_that_is_no_data_url_is_refused(file: Any, code: str) -> None:
    error = get_refusal(
        of(messages=[{"role": "user", "content": [{"type": "file", "file": file}]}])
    )
    assert (error.code, error.param) == (code, "messages[0].content")


def test_a_request_has_as_many_files_as_a_prompt_at_most() -> None:
    part = {"type": "file", "file": {"file_data": "data:text/plain;base64,SGk="}}
    messages = [{"role": "user", "content": [part] * 20}]
    assert ChatRequest.of(json.dumps(of(messages=messages)).encode())
    assert get_refusal(of(messages=[*messages, {"role": "user", "content": [part]}])).code == (
        "too_many_files"
    )


def test_a_long_data_url_elsewhere_is_refused_or_kept() -> None:
    url = data_url("image/png", bytes(100_000))
    taken = ChatRequest.of(json.dumps(of(messages=[{"role": "user", "content": url}])).encode())
    assert taken.history.messages[0]["content"] == url
    assert get_refusal(of(metadata={"url": url})).code == "invalid_value"


def test_unset_members_mean_nothing() -> None:
    parsed = ChatRequest.of(json.dumps(of(temperature=None, tools=None, store=False)).encode())
    assert (parsed.parameters, parsed.tools, parsed.choices) == ({}, (), 1)


def test_ten_thousand_small_messages_are_refused_and_two_thousand_taken() -> None:
    taken = ChatRequest.of(json.dumps(of(messages=HELLO * MAX_MESSAGES)).encode())
    assert len(taken.history.messages) == MAX_MESSAGES
    assert get_refusal(of(messages=HELLO * 10_000)).param == "messages"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SYSTEM, ANSWER = {"role": "system", "content": "Be kind"}, {"role": "assistant", "content": "Hi"}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "with tools"),
        ({"messages": [*HELLO, {"role": "tool", "content": "x", "tool_call_id": "1"}]}, "tools"),
        ({"messages": [*HELLO, {"role": "assistant", "tool_calls": [CALL]}, *HELLO]}, "tools"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "with images or files"),
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
    error = get_refusal(of(store=True, **more))
    assert sentence in str(error)
    assert error.code == "unsupported_with_store"
    if "NUL" not in sentence and "images" not in sentence:
        assert ChatRequest.of(json.dumps(of(**more)).encode()).chat is None
