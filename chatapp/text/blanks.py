"""Finds the blanks in a prompt's text, such as `{{topic}}`, and fills them. Pure.

    {{topic}}                        a line of text
    {{topic=the weather}}            with a default
    {{tone|formal, casual}}          a choice
    {{day|date}}                     a date; also lines, number, time, datetime and month

Open WebUI's spelling works, too: `{{tone | select:options=["formal", "casual"]:default="casual"}}`.
What isn't a blank stays as it is, and so does `\\{{topic}}`, without its backslash.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

MAX_OPTIONS = 100
_BLANK = re.compile(r"(\\?)\{\{([^{}\n]{1,2000})\}\}")
_NAME = re.compile(r"(?!\d)\w[\w .'?-]{0,59}")


class Kind(StrEnum):
    """The kind of value of a blank. All but the first three are types of HTML's `input`."""

    TEXT = "text"
    LINES = "lines"
    CHOICE = "choice"
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    DATETIME = "datetime-local"
    MONTH = "month"


_KINDS = {
    **{str(kind): kind for kind in Kind if kind is not Kind.CHOICE},
    **{"textarea": Kind.LINES, "datetime": Kind.DATETIME, "select": Kind.CHOICE},
    **{"range": Kind.NUMBER, "checkbox": Kind.CHOICE},
    **dict.fromkeys(("email", "tel", "url", "color", "map"), Kind.TEXT),
}
_YES_OR_NO = ("true", "false")


@dataclass(frozen=True)
class Blank:
    name: str
    kind: Kind = Kind.TEXT
    options: tuple[str, ...] = ()
    default: str = ""
    placeholder: str = ""
    is_required: bool = False
    is_plain: bool = True  # nothing but the name is given


def parse(text: str) -> list[str | Blank]:
    """Return the text and the blanks in their order.

    A blank that occurs several times is defined by the first occurrence that says more than its
    name.
    """
    parts = list(_parts(text))
    definitions: dict[str, Blank] = {}
    for part in parts:
        if isinstance(part, Blank) and (
            part.name not in definitions or definitions[part.name].is_plain
        ):
            definitions[part.name] = part
    return [definitions[part.name] if isinstance(part, Blank) else part for part in parts]


def find_blanks(text: str) -> list[Blank]:
    """Return each of the blanks once, in the order of the text."""
    return list(dict.fromkeys(part for part in parse(text) if isinstance(part, Blank)))


def find_mistakes(text: str) -> list[str]:
    """Return each of what is in double braces once, without a backslash, and is no blank."""
    mistakes = (
        match[0] for match in _BLANK.finditer(text) if not match[1] and _blank(match[2]) is None
    )
    return list(dict.fromkeys(mistakes))


def has_more_blanks_than(limit: int, text: str) -> bool:
    """Return whether the text has more than so many blanks, without parsing all of a longer one."""
    names: set[str] = set()
    for part in _parts(text):
        if isinstance(part, Blank):
            names.add(part.name)
            if len(names) > limit:
                return True
    return False


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with the values, by the blanks' names, in place of the blanks.

    A blank without a value gets its default.
    """
    return "".join(
        values.get(part.name, part.default) if isinstance(part, Blank) else part
        for part in parse(text)
    )


def _parts(text: str) -> Iterator[str | Blank]:
    end = 0
    for match in _BLANK.finditer(text):
        if (blank := _blank(match[2])) is None:
            continue
        yield text[end : match.start()]
        yield match[0][1:] if match[1] else blank
        end = match.end()
    yield text[end:]


@lru_cache(1000)
def _blank(body: str) -> Blank | None:
    head, pipe, definition = body.partition("|")
    name, equals, default = (part.strip() for part in head.partition("="))
    if not _NAME.fullmatch(name):
        return None
    if not pipe:
        return Blank(name, default=default, is_plain=not equals)
    first, *more = _split_outside_quotes(definition, ":")
    kind = _KINDS.get(first.strip().lower())
    if kind is None:
        options = _options(definition)
        if len(options) < 2:
            return None  # such as a filter of a template language
        chosen = default if default in options else options[0]
        return Blank(name, Kind.CHOICE, options, chosen, is_plain=False)
    properties = dict(_properties(more))
    options = _options(properties.get("options", "")) if kind is Kind.CHOICE else ()
    if first.strip().lower() == "checkbox":
        options = _YES_OR_NO
        default = default or properties.get("default", "false")
    if kind is Kind.CHOICE and not options:
        return None
    return Blank(
        name,
        kind,
        options,
        default or properties.get("default", ""),
        properties.get("placeholder", ""),
        properties.get("required", "false") != "false",
        is_plain=False,
    )


def _options(written: str) -> tuple[str, ...]:
    """Return the options of a JSON list, or those between commas."""
    try:
        listed: Any = json.loads(written)
    except (ValueError, RecursionError):
        listed = _split_outside_quotes(written.strip().removeprefix("[").removesuffix("]"), ",")
    options = [_bare(_clean(option)) for option in listed] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(filter(None, options)))[:MAX_OPTIONS]


def _properties(written: list[str]) -> Iterator[tuple[str, str]]:
    for assignment in written:
        name, equals, value = assignment.partition("=")
        yield name.strip().lower(), _bare(value) if equals else "true"


def _bare(value: str) -> str:
    """Return the value without quotes around it."""
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        try:
            return _clean(json.loads(value)) if value[0] == '"' else value[1:-1]
        except ValueError:
            return value[1:-1]
    return value


def _clean(value: Any) -> str:
    """Return a JSON value as text, without the unpaired surrogates and NUL that it can escape."""
    return str(value).encode(errors="replace").decode().replace("\0", "")


def _split_outside_quotes(text: str, mark: str) -> list[str]:
    """Split at the mark, except within quotes and brackets."""
    pieces, start, quote, depth = [], 0, "", 0
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[at - 1] != "\\" else quote
        elif character == '"':
            quote = character
        elif character in "[]":
            depth += 1 if character == "[" else -1
        elif character == mark and depth <= 0:
            pieces.append(text[start:at])
            start = at + 1
    return [*pieces, text[start:]]
