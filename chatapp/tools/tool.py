"""What a tool is to the model and to the person, and what a call of it gives. Pure."""

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

NAME_LIMIT = 64  # OpenAI: ^[a-zA-Z0-9_-]{1,64}$
DESCRIPTION_LIMIT = 1024  # characters; OpenAI refuses a request with a longer one
NESTING_LIMIT = 64


class InvalidArguments(ValueError):
    """Why a model's arguments can't be sent to a tool, as part of a sentence."""


@dataclass(frozen=True)
class Tool:
    """One tool: `name` is what the model calls it, `own_name` what its source does."""

    name: str
    own_name: str
    source: str
    description: str
    parameters: dict[str, Any]  # a JSON schema of an object
    asks_first: bool

    def as_request(self) -> dict[str, Any]:
        """One entry of a chat completion request's `tools`."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class ToolResult:
    """What a call gave; an error's text is a sentence for the model and the person alike."""

    text: str
    is_error: bool = False

    @classmethod
    def bounded(cls, text: str, limit: int, is_error: bool = False) -> Self:
        """The text's first `limit` bytes, and a sentence that says so where it was cut."""
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        encoded = text.encode(errors="replace")
        if len(encoded) <= limit:
            return cls(encoded.decode(), is_error)
        kept = encoded[:limit].decode(errors="ignore")
        note = f"[The result was cut: it has {len(encoded):,} bytes, the limit is {limit:,}.]"
        return cls(f"{kept}\n\n{note}", is_error)


def name_for_model(source: str, own_name: str) -> str:
    """`source__own_name`, made to fit what upstreams accept.

    A name that had to be changed carries a digest of what it was, so that two tools stay two. The
    source is always there: adding a server must not rename the tools that a conversation used.
    """
    name = f"{source}__{own_name}"
    fitting = re.sub(r"[^a-zA-Z0-9_-]", "_", name)
    if fitting == name and len(name) <= NAME_LIMIT:
        return name
    digest = sha256(name.encode(errors="replace")).hexdigest()[:8]
    return f"{fitting[: NAME_LIMIT - 9]}_{digest}"


def brief(text: str, limit: int = DESCRIPTION_LIMIT) -> str:
    """The text, without NUL, and cut where it is longer than `limit` characters."""
    text = text.replace("\0", "").strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def check_arguments(arguments: dict[str, Any]) -> None:
    """Raises `InvalidArguments` for what can't travel as JSON; the rest is the tool's to check."""
    parts: list[Any] = [arguments]
    for _ in range(NESTING_LIMIT):
        parts = [inner for part in parts for inner in _inside(part)]
    if parts:
        raise InvalidArguments(f"the arguments are nested more than {NESTING_LIMIT} deep")
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:  # NaN, an infinity, a lone surrogate
        raise InvalidArguments(f"the arguments can't be sent as JSON ({error})") from None


def _inside(part: object) -> list[Any]:
    if isinstance(part, dict):
        return list(part.values())
    return part if isinstance(part, list) else []
