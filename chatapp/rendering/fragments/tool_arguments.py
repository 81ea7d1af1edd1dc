"""The arguments of a tool call as rows of a table, if they are a JSON object with few values."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from chatapp.upstream.wire.decoding.tool_calls import parse_arguments

MAX_ROWS = 20
MAX_DEPTH = 8  # of nested values, whose indentation grows with it


@dataclass(frozen=True)
class Argument:
    """A row: the value of a string as it is, of anything else as JSON."""

    name: str
    value: str
    is_json: bool


def argument_rows(arguments: str, most_characters: int) -> Sequence[Argument]:
    """Return the arguments in the order in which they arrived.

    Returns none if they are better shown as they arrived: they are no JSON object, or too many,
    too long or too deeply nested.
    """
    if len(arguments) > most_characters:
        return ()
    values = parse_arguments(arguments)[0]
    if not values or len(values) > MAX_ROWS or not _is_shallow(values, MAX_DEPTH + 1):
        return ()
    rows = [_row(name, value) for name, value in values.items()]
    return rows if sum(len(row.value) for row in rows) <= most_characters else ()


def _row(name: str, value: object) -> Argument:
    if isinstance(value, str):
        return Argument(_visible(name), _visible(value), is_json=False)
    return Argument(_visible(name), json.dumps(value, ensure_ascii=False, indent=2), is_json=True)


def _visible(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")  # HTML has no NUL


def _is_shallow(value: object, depth: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return depth > 0 and all(_is_shallow(inner, depth - 1) for inner in value)
