"""A form's fields as a page sends them over its socket: one JSON object a message."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from chatapp.chat.forms import FORMS

Fields = Mapping[str, str | float | bool | None]


def fields_of(message: str) -> Fields:
    """A form's fields: texts, numbers, null; empty where the message is no JSON object.

    What is nested is left out unread, since no field of ours is: it would take long to build. So is
    what no form has, of which there may be a hundred thousand.
    """
    try:
        fields = msgspec.structs.asdict(msgspec.json.decode(message, type=_Fields))
        texts = {name: bytes(part).decode() for name, part in fields.items()}
        return {name: _value(text) for name, text in texts.items() if text and text[0] not in "{["}
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return {}


_value = json.JSONDecoder().decode  # which takes half of a surrogate pair, as msgspec does not
_Fields: type[Any] = msgspec.defstruct(
    "_Fields",
    [
        (name, msgspec.Raw, msgspec.Raw())
        for name in sorted({"action"}.union(*(form.base_fields for form in FORMS)))
    ],
)
