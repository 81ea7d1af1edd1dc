"""Routes, authentication, and errors in the format of OpenAI-compatible servers."""

import json
from typing import Any

import pytest

from chatapp.demo import http
from chatapp.demo.models import MODELS
from tests.demo import Client, ask, question


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Basic demo-key", "Bearer"])
async def test_a_wrong_key_is_refused(authorization: str | None) -> None:
    client = await Client(question("hello"), authorization=authorization).run()

    assert client.status == 401
    assert client.json["error"]["code"] == "invalid_api_key"
    assert client.json["error"].keys() == {"message", "type", "param", "code"}


async def test_the_first_model_is_the_one_that_reasons() -> None:
    client = await Client(path="/v1/models", method="GET").run()

    assert client.status == 200
    assert client.json["object"] == "list"
    assert [model["id"] for model in client.json["data"]] == list(MODELS)
    assert list(MODELS)[:2] == ["demo-reasoner", "demo-plain"]
    assert {model["object"] for model in client.json["data"]} == {"model"}
    able = {model["id"]: model["capabilities"] for model in client.json["data"]}
    assert able["demo-reasoner"] == ["tools", "reasoning", "web_search"]
    assert able["demo-plain"] == ["tools"]
    efforts = {model["id"]: model.get("reasoning") for model in client.json["data"]}
    assert efforts["demo-reasoner"] == {"supported_efforts": ["none", "low", "medium", "high"]}
    assert efforts["demo-plain"] is None
    taken = {model["id"]: model["input_modalities"] for model in client.json["data"]}
    assert taken["demo-reasoner"] == ["text", "image"]
    assert taken["demo-plain"] == ["text"]


async def test_a_model_keeps_to_an_effort_and_says_that_it_has_not_searched() -> None:
    chosen: dict[str, Any] = {"reasoning_effort": "none", "web_search_options": {}}
    client = await ask("hello", stream=False, **chosen)

    message = client.json["choices"][0]["message"]
    assert "reasoning" not in " ".join(message)
    assert "has not searched the web" in message["content"]
    assert len(message["annotations"]) == 2


async def test_an_unknown_path_is_not_found() -> None:
    client = await Client(path="/v1/embeddings").run()

    assert client.status == 404
    assert client.json["error"]["code"] == "unknown_url"


async def test_a_wrong_method_is_answered_with_the_allowed_one() -> None:
    client = await Client(method="GET").run()

    assert client.status == 405
    assert client.headers[b"allow"] == b"POST"


async def test_an_unknown_model_is_not_found() -> None:
    client = await ask("hello", model="gpt-9")

    assert client.status == 404
    assert client.json["error"]["code"] == "model_not_found"
    assert "demo-reasoner" in client.json["error"]["message"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b'{"model": ', "invalid_json"),
        (b'{"model": "\xff"}', "invalid_json"),
        (b"[]", "invalid_value"),
        (b'{"model": "demo-plain"}', "invalid_value"),
        (b'{"model": "demo-plain", "messages": []}', "invalid_value"),
        (b'{"model": 7, "messages": [{"role": "user", "content": "x"}]}', "invalid_value"),
        (b'{"model": "demo-plain", "messages": [{"role": "pet"}]}', "invalid_value"),
        (b'{"model": "demo-plain", "messages": [{"role": "user"}], "n": 5}', "invalid_value"),
        (b'{"model": "demo-plain", "messages": [{"role": "user", "content": 1}]}', "invalid_value"),
    ],
)
async def test_a_bad_body_is_a_400_that_says_why(body: bytes, code: str) -> None:
    client = await Client(body).run()

    assert client.status == 400
    assert client.json["error"]["code"] == code
    assert client.json["error"]["type"] == "invalid_request_error"


async def test_the_error_names_the_path_of_an_invalid_field() -> None:
    client = await Client(b'{"model": "demo-plain", "messages": [{"role": "pet"}]}').run()

    assert "$.messages[0].role" in client.json["error"]["message"]


async def test_content_parts_are_read_and_unknown_ones_and_fields_ignored() -> None:
    parts = [{"type": "input_audio"}, {"type": "text", "text": "show me a table", "extra": 1}]
    body = {
        "model": "demo-plain",
        "messages": [{"role": "user", "content": parts}],
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
    }
    client = await Client(json.dumps(body).encode()).run()

    assert "| Planet |" in client.json["choices"][0]["message"]["content"]


async def test_a_body_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY", 10)
    client = await ask("hello")

    assert client.status == 413


async def test_a_body_in_pieces_is_joined() -> None:
    body = question("hello", stream=False)
    client = Client()
    client.incoming.get_nowait()
    for piece, more in ((body[:9], True), (body[9:], False)):
        await client.incoming.put({"type": "http.request", "body": piece, "more_body": more})

    assert (await client.run()).status == 200


async def test_a_client_that_leaves_during_its_request_gets_no_response() -> None:
    client = Client()
    client.incoming.get_nowait()
    client.leave()

    assert (await client.run()).sent == []


async def test_only_http_is_supported() -> None:
    client = Client()
    client.scope["type"] = "websocket"

    with pytest.raises(ValueError, match="websocket"):
        await client.run()
