"""Model lists of any shape are read, or rejected."""

import json

import pytest

from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamFailed
from chatapp.upstream.wire.model_list import Ability, ListedModel, model_page


@pytest.mark.parametrize(
    ("listed", "models"),
    [
        ([{"id": "a"}, {"id": "b"}], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ({"data": None}, []),
        ({"object": "list", "data": [{"name": "?"}, None, 5, {"id": 7}, {"id": "a"}]}, ["a"]),
        ({"data": [{"id": "b"}, {"id": " a "}, {"id": "b"}]}, ["b", "a"]),
        ({"data": [{"id": "m" * 300}, {"id": "m" * 200}]}, ["m" * 200]),
    ],
)
def test_a_list_of_any_shape_is_read(listed: object, models: list[str]) -> None:
    assert [model.id for model in model_page(json.dumps(listed).encode()).models] == models


def test_a_very_long_list_is_cut() -> None:
    listed = json.dumps([str(number) for number in range(20_000)]).encode()
    assert len(model_page(listed).models) == 10_000


VISION, TOOLS, REASONING = Ability.VISION, Ability.TOOLS, Ability.REASONING
SEARCH, COMMON = Ability.WEB_SEARCH, ("low", "medium", "high")
GATEWAYS = {
    "OpenAI": (
        {"id": "gpt-4o", "object": "model", "created": 1715367049, "owned_by": "system"},
        ListedModel("gpt-4o"),
    ),
    "OpenRouter": (
        {
            "id": "google/gemini-2.5-pro",
            "name": "Google: Gemini 2.5 Pro",
            "context_length": 1048576,
            "architecture": {
                "modality": "text+image->text",
                "input_modalities": ["file", "image", "text"],
                "output_modalities": ["text"],
            },
            "supported_parameters": ["include_reasoning", "max_tokens", "reasoning", "tools"],
        },
        ListedModel(
            "google/gemini-2.5-pro",
            "Google: Gemini 2.5 Pro",
            1048576,
            frozenset({VISION, TOOLS, REASONING}),
            takes_images=True,
            efforts=COMMON,
        ),
    ),
    "OpenRouter, with efforts": (
        {
            "id": "a",
            "reasoning": {"supported_efforts": ["xhigh", "low", "new"], "mandatory": True},
            "supported_parameters": ["reasoning", "web_search_options"],
        },
        ListedModel("a", abilities=frozenset({REASONING, SEARCH}), efforts=("low", "xhigh")),
    ),
    "OpenAI, a model that reasons": (
        {"id": "gpt-5.1", "object": "model", "owned_by": "system"},
        ListedModel("gpt-5.1", abilities=frozenset({REASONING}), efforts=COMMON),
    ),
    "OpenAI, a model that only chats": (
        {"id": "gpt-5-chat-latest", "object": "model", "owned_by": "system"},
        ListedModel("gpt-5-chat-latest"),
    ),
    "LiteLLM, with efforts": (
        {
            "id": "m",
            "model_info": {
                "supports_reasoning": True,
                "supports_web_search": True,
                "supports_none_reasoning_effort": True,
                "supports_xhigh_reasoning_effort": None,
            },
        },
        ListedModel("m", abilities=frozenset({REASONING, SEARCH}), efforts=("none", *COMMON)),
    ),
    "OpenRouter, a model that draws": (
        {
            "id": "a",
            "architecture": {"modality": "text->text+image", "output_modalities": ["image"]},
        },
        ListedModel("a", takes_images=False),
    ),
    "vLLM": (
        {"id": "m", "object": "model", "owned_by": "vllm", "root": "m", "max_model_len": 32768},
        ListedModel("m", context_tokens=32768),
    ),
    "llama.cpp": (
        {"id": "q.gguf", "meta": {"n_vocab": 151936, "n_ctx_train": 40960, "n_params": 8e9}},
        ListedModel("q.gguf", context_tokens=40960),
    ),
    "LiteLLM": (
        {
            "id": "claude",
            "model_info": {
                "max_input_tokens": 200000,
                "supports_vision": True,
                "supports_function_calling": True,
                "supports_reasoning": False,
            },
        },
        ListedModel("claude", "", 200000, frozenset({VISION, TOOLS}), takes_images=True),
    ),
    "Mistral": (
        {
            "id": "mistral-large",
            "name": "mistral-large",
            "max_context_length": 131072,
            "capabilities": {"completion_chat": True, "function_calling": True, "vision": False},
        },
        ListedModel("mistral-large", "", 131072, frozenset({TOOLS}), takes_images=False),
    ),
    "Vercel": (
        {"id": "x/y", "name": "Y", "context_window": 200000, "tags": ["web-search", "vision"]},
        ListedModel("x/y", "Y", 200000, frozenset({SEARCH, VISION}), takes_images=True),
    ),
    "Ollama": ({"id": "llama3:8b", "object": "model"}, ListedModel("llama3:8b")),
}


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_a_gateways_description_of_a_model_is_read(gateway: str) -> None:
    entry, model = GATEWAYS[gateway]
    assert model_page(json.dumps({"data": [entry]}).encode()).models == [model]


def test_a_better_known_word_about_images_is_shown_too() -> None:
    listed = ListedModel("a", abilities=frozenset({TOOLS}))
    seeing = listed.with_images(True)
    assert seeing.takes_images
    assert seeing.abilities == {TOOLS, VISION}
    blind = seeing.with_images(False)
    assert blind.takes_images is False
    assert blind.abilities == {TOOLS}


@pytest.mark.parametrize(
    "nonsense",
    [
        {"name": 5, "context_length": "much", "supported_parameters": 7, "architecture": []},
        {"name": "a", "context_length": -1, "tags": [None, {"vision": 1}], "capabilities": "none"},
        {"name": " ", "context_length": 10**400, "supports_vision": "true", "meta": {"meta": 5}},
        {"reasoning": {"supported_efforts": ["low"]}, "supported_parameters": [["reasoning"]]},
        {"context_length": True, "max_model_len": "9" * 5000, "tags": ["vision"[:3]] * 10_000},
    ],
)
def test_nonsense_about_a_model_is_ignored(nonsense: dict[str, object]) -> None:
    assert model_page(json.dumps([{"id": "a", **nonsense}]).encode()).models == [ListedModel("a")]


def test_a_name_is_cut_and_contains_no_nul() -> None:
    [model] = model_page(json.dumps([{"id": "a", "name": "N\0" * 500}]).encode()).models
    assert len(model.name) == 100
    assert "\0" not in model.name


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"models": []}', b'{"data": 5}', b"5"])
def test_a_body_that_is_not_a_list_is_malformed(body: bytes) -> None:
    with pytest.raises(UpstreamFailed) as raised:
        model_page(body)
    assert raised.value.error.kind is ErrorKind.MALFORMED
    assert raised.value.error.message.startswith("not a list of models: ")


def test_a_model_with_an_id_that_cannot_be_stored_is_left_out_and_named() -> None:
    page = model_page(json.dumps(["a", "b" * 201, "c" * 200]).encode())
    assert [model.id for model in page.models] == ["a", "c" * 200]
    assert [name[:3] for name in page.too_long] == ["bbb"]


@pytest.mark.parametrize(
    ("about", "after"),
    [
        ({"has_more": True, "last_id": "b"}, "b"),
        ({"has_more": True, "last_id": None}, "c"),
        ({"has_more": False, "last_id": "b"}, ""),
        ({}, ""),
    ],
)
def test_a_page_says_where_the_next_one_begins(about: dict[str, object], after: str) -> None:
    listed = {"data": [{"id": "a"}, {"id": "c"}], **about}
    assert model_page(json.dumps(listed).encode()).next_after == after
