"""Decodes a form's fields as a page sends them over its socket: one JSON object per message."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from chatapp.chat.forms import FORMS

Fields = Mapping[str, str | float | bool | None]


def parse_fields(message: str) -> Fields:
    """Return a form's fields (strings, numbers, booleans, null); empty if it is no JSON object.

    Nested values are skipped without being decoded: no field of ours is nested, and building them
    would take long. So are unknown fields: a message could have a hundred thousand.
    """
    try:
        fields = msgspec.structs.asdict(msgspec.json.decode(message, type=_Fields))
        texts = {name: bytes(part).decode() for name, part in fields.items()}
        return {name: _value(text) for name, text in texts.items() if text and text[0] not in "{["}
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return {}


_value = json.JSONDecoder().decode  # accepts lone surrogates, unlike msgspec
_Fields: type[Any] = msgspec.defstruct(
    "_Fields",
    [
        (name, msgspec.Raw, msgspec.Raw())
        for name in sorted({"action"}.union(*(form.base_fields for form in FORMS)))
    ],
)
