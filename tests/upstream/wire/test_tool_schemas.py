"""Schemas of tools for gateways that refuse some keywords."""

from chatapp.upstream.wire.requests.tool_schemas import has_keywords, without_keywords

NAMED = {"type": "string"}


def tool(parameters: object) -> dict[str, object]:
    return {"type": "function", "function": {"name": "look", "parameters": parameters}}


def test_keywords_are_left_out_at_every_depth() -> None:
    inner = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "additionalProperties": False,
        "properties": {"one": inner, "many": {"type": "array", "items": inner}},
        "$defs": {"other": {"anyOf": [inner, {"type": "null"}]}},
    }
    plain = {"type": "object"}
    reduced = {
        "properties": {"one": plain, "many": {"type": "array", "items": plain}},
        "$defs": {"other": {"anyOf": [plain, {"type": "null"}]}},
    }
    assert has_keywords(tool(schema))
    assert without_keywords(tool(schema)) == tool(reduced)
    assert not has_keywords(tool(reduced))


def test_properties_of_that_name_and_data_stay() -> None:
    data = {"additionalProperties": 1}
    schema = {
        "properties": {"additionalProperties": NAMED, "$schema": {"default": data}},
        "required": ["additionalProperties"],
        "enum": [data],
    }
    assert without_keywords(tool(schema)) == tool(schema)


def test_what_is_no_function_stays_as_it_is() -> None:
    for other in ({"type": "openrouter:web_search"}, {"type": "function", "function": {}}):
        assert without_keywords(other) == other
