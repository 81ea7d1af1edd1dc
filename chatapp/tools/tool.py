"""Tools and their results, as values, with checks and limits. No I/O."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

from chatapp.text.invisible import in_one_line

NAME_LIMIT = 64  # OpenAI: ^[a-zA-Z0-9_-]{1,64}$
DESCRIPTION_LIMIT = 1024  # characters; OpenAI rejects requests with longer descriptions
TITLE_LIMIT = 80  # characters
NESTING_LIMIT = 64
PROGRESS_LIMIT = 120  # characters


class InvalidArguments(ValueError):
    """A model's arguments can't be sent to a tool; the message is a clause that says why."""


@dataclass(frozen=True)
class Tool:
    """One tool: `name` is its name for the model, `own_name` its name at its source.

    `title` is what its source calls it for people, or "".
    """

    name: str
    own_name: str
    source: str
    description: str
    parameters: dict[str, Any]  # a JSON schema of an object
    asks_first: bool
    always_asks: bool = False  # if it asks first: also people who would always allow it in a chat
    title: str = ""

    @property
    def definition(self) -> str:
        """A digest of what its server says about it."""
        parts = [self.name, self.description, self.parameters, *filter(None, [self.title])]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def as_request(self) -> dict[str, Any]:
        """Return the tool as an entry of a chat completion request's `tools`."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class ToolImage:
    """An image in a result, as its server sent it: not decoded, and not to be trusted."""

    number: int  # by which the text names it
    base64: str = field(repr=False)


@dataclass(frozen=True)
class ToolResult:
    """The result of a call; an error's text is a sentence for both the model and the person."""

    text: str
    is_error: bool = False
    images: Sequence[ToolImage] = ()

    @classmethod
    def from_text(
        cls, text: str, limit: int, is_error: bool = False, images: Sequence[ToolImage] = ()
    ) -> Self:
        """Return a result with the first `limit` bytes of the text, and a note if it was cut."""
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        encoded = text.encode(errors="replace")
        if len(encoded) <= limit:
            return cls(encoded.decode(), is_error, images)
        beginning = encoded[:limit].decode(errors="ignore")
        note = f"[The result was cut: it has {len(encoded):,} bytes, the limit is {limit:,}.]"
        return cls(f"{beginning}\n\n{note}", is_error, images)


@dataclass(frozen=True)
class Progress:
    """The progress that a tool reports. All of it is untrusted."""

    done: float
    total: float | None = None
    message: str = ""

    @property
    def words(self) -> str:
        """The words for people: the tool's own message, or numbers such as "3 of 10"."""
        if self.message.strip():
            return brief(" ".join(self.message.split()), PROGRESS_LIMIT)
        if not math.isfinite(self.done):
            return ""
        has_total = self.total is not None and math.isfinite(self.total)
        return f"{self.done:g} of {self.total:g}" if has_total else f"{self.done:g}"


Report = Callable[[Progress], None]


def name_for_model(source: str, own_name: str) -> str:
    """Return `source__own_name`, changed if necessary to a name that upstreams accept.

    A changed name ends with a digest of the original, so that names stay unique. The source is
    always included, so that adding a server never renames the tools that a conversation used.
    """
    name = f"{source}__{own_name}"
    fitting = re.sub(r"[^a-zA-Z0-9_-]", "_", name)
    if fitting == name and len(name) <= NAME_LIMIT:
        return name
    digest = sha256(name.encode(errors="replace")).hexdigest()[:8]
    return f"{fitting[: NAME_LIMIT - 9]}_{digest}"


def brief(text: str, limit: int = DESCRIPTION_LIMIT) -> str:
    """Return the text without NUL, cut to `limit` characters."""
    text = text.replace("\0", "").strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def clean_title(title: str) -> str:
    """Return a title as one short line without characters that hide or reorder text."""
    line = brief(in_one_line(title[:1000]), TITLE_LIMIT)
    return line if any(map(str.isalnum, line)) else ""


def check_arguments(arguments: dict[str, Any]) -> None:
    """Raise `InvalidArguments` if JSON can't hold the arguments; the tool checks the rest."""
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
