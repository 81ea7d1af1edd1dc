"""Decoding a socket's messages: only the fields that a form has, and nothing nested."""

import pytest

from chatapp.chat.fields import parse_fields

DEEP = '{"action": ' + "[" * 100_000


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ('{"action": "prompt", "message": "Why?"}', {"action": "prompt", "message": "Why?"}),
        ('{"round": 1, "call": null, "ending": true}', {"round": 1, "call": None, "ending": True}),
        ('{"action": "watch", "unknown": 1}', {"action": "watch"}),
        ('{"action": "watch", "head": {"a": 1}, "message": ["x"]}', {"action": "watch"}),
        ('{"action": "stop", "action": "watch"}', {"action": "watch"}),
    ],
)
def test_known_flat_fields_are_decoded(message: str, fields: dict[str, object]) -> None:
    assert parse_fields(message) == fields


@pytest.mark.parametrize("message", ["", "not json", "[]", '"text"', "null", "{", DEEP])
def test_anything_but_an_object_has_no_fields(message: str) -> None:
    assert parse_fields(message) == {}
