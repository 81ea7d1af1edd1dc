"""Reduce the JSON schemas of tools for gateways that know only some of JSON Schema's keywords."""

from collections.abc import Mapping
from typing import Any

# Google refuses these: "Unknown name "$schema" at 'tools[0].function_declarations[0].parameters'".
KEYWORDS = ("$schema", "additionalProperties")

_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_DATA = frozenset({"enum", "const", "default", "examples", "example", "required"})


def has_keywords(tool: Mapping[str, object]) -> bool:
    return without_keywords(tool) != tool


def without_keywords(tool: Mapping[str, object]) -> dict[str, object]:
    """Return a tool of a request without the `KEYWORDS` in the schema of its parameters."""
    function = tool.get("function")
    if not isinstance(function, Mapping) or "parameters" not in function:
        return dict(tool)
    return {**tool, "function": {**function, "parameters": _reduce_schema(function["parameters"])}}


def _reduce_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_reduce_schema(member) for member in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {name: _member(name, value) for name, value in schema.items() if name not in KEYWORDS}


def _member(name: str, value: Any) -> Any:
    """Return a keyword's value; what people named, or gave as data, stays as it is."""
    if name in _DATA:
        return value
    if name in _NAMED_SCHEMAS and isinstance(value, Mapping):
        return {key: _reduce_schema(schema) for key, schema in value.items()}
    return _reduce_schema(value)
