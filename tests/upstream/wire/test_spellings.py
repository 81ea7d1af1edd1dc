"""The fields of a request that parameters become, in each spelling."""

import pytest

from chatapp.upstream.wire.requests.spellings import (
    COMMON_SPELLING,
    DASHSCOPE_SPELLING,
    MISTRAL_SPELLING,
    OPENAI_SPELLING,
    OPENROUTER_SPELLING,
    get_parameter,
)

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
EVERYTHING = {
    "temperature": 0.2,
    "top_p": 1,
    "max_output_tokens": 1000,
    "reasoning_effort": "low",
    "stop": ["\n\n", "END"],
    "seed": 42,
    "response_format": {"type": "json_schema", "schema": SCHEMA, "strict": True},
    "logprobs": True,
    "top_logprobs": 5,
    "web_search": True,
    "extra": {"top_k": 20},
}


def test_a_request_has_what_is_set() -> None:
    assert COMMON_SPELLING.build_fields({}) == {}
    assert COMMON_SPELLING.build_fields(EVERYTHING) == {
        "temperature": 0.2,
        "top_p": 1,
        "max_tokens": 1000,
        "reasoning_effort": "low",
        "stop": ["\n\n", "END"],
        "seed": 42,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
        "logprobs": True,
        "top_logprobs": 5,
        "web_search_options": {},
        "top_k": 20,
    }
    assert COMMON_SPELLING.build_fields({"web_search": False}) == {}


@pytest.mark.parametrize(
    ("title", "name"), [("City", "City"), ("A city", "answer"), ("x" * 65, "answer"), (1, "answer")]
)
def test_a_schema_is_named_by_its_title_if_it_can_be(title: object, name: str) -> None:
    parameters = {"response_format": {"type": "json_schema", "schema": {"title": title}}}
    described = {"name": name, "schema": {"title": title}}
    sent = {"type": "json_schema", "json_schema": described}
    assert COMMON_SPELLING.build_fields(parameters) == {"response_format": sent}


def test_upstreams_spell_parameters_differently() -> None:
    assert OPENAI_SPELLING.build_fields({"max_output_tokens": 9}) == {"max_completion_tokens": 9}
    assert MISTRAL_SPELLING.build_fields({"seed": 1}) == {"random_seed": 1}
    assert DASHSCOPE_SPELLING.build_fields({"web_search": True}) == {"enable_search": True}
    parameters: dict[str, object] = {"reasoning_effort": "low", "web_search": True}
    assert OPENROUTER_SPELLING.build_fields(parameters) == {
        "reasoning": {"effort": "low"},
        "tools": [{"type": "openrouter:web_search"}],
    }
    extra = {"reasoning": {"exclude": True}, "plugins": [{"id": "file-parser"}]}
    assert OPENROUTER_SPELLING.build_fields({**parameters, "extra": extra}) == {
        "reasoning": {"exclude": True, "effort": "low"},
        "plugins": [{"id": "file-parser"}],
        "tools": [{"type": "openrouter:web_search"}],
    }


def test_a_field_that_was_refused_is_left_out_or_spelled_differently() -> None:
    parameters = {"temperature": 1, "max_output_tokens": 9, "extra": {"top_k": 1}}
    fields = COMMON_SPELLING.build_fields(
        parameters, refused={"temperature", "max_tokens", "top_k"}
    )
    assert fields == {"max_completion_tokens": 9}
    assert COMMON_SPELLING.build_fields(
        parameters, refused={"max_tokens", "max_completion_tokens"}
    ).keys() == {
        "temperature",
        "top_k",
    }


def test_a_field_names_its_parameter() -> None:
    assert get_parameter("max_completion_tokens") == "max_output_tokens"
    assert get_parameter("reasoning") == "reasoning_effort"
    assert get_parameter("temperature") == "temperature"
    assert get_parameter("top_k") == "top_k"
