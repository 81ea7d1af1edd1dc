"""Read an error body of any known shape into a message, a type, a code and a parameter.

The shapes are those of OpenAI, Anthropic, Google (a list), FastAPI (invalid fields with their
locations), Mistral (a message that is an object), Cloudflare (`errors`), MiniMax (`base_resp`),
Azure's and Apigee's gateways (`statusCode`, `fault`), and JSON within a string.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

_DEPTH = 6  # levels of nesting to search
_WIDTH = 3  # items of a list to report
_INNER = ("error", "errors", "detail", "details", "fault", "baseresp")
_MESSAGES = (
    *("message", "msg", "detail", "errormessage", "errormsg", "errordescription", "statusmsg"),
    *("description", "faultstring", "reason", "text", "title"),
)
_TYPES = ("type", "errortype")
_CODES = ("code", "errorcode", "statuscode")


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """Texts as received; "" if missing."""

    message: str = ""
    type: str = ""
    code: str = ""
    param: str = ""


def read_details(content: object) -> ErrorDetails:
    """Read the content of an error: decoded JSON, or a text."""
    details = _read_content(content, _DEPTH)
    if details == ErrorDetails() and content:
        return ErrorDetails(render_text(content))
    return details


def render_text(value: object) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case int() | float():
            return str(value)
    with suppress(RecursionError):
        return json.dumps(value, ensure_ascii=False)
    return ""


def _read_content(content: object, depth: int) -> ErrorDetails:
    match content:
        case dict() if depth:
            return _read_object(content, depth - 1)
        case list() if depth:
            return _read_list(content, depth - 1)
        case dict() | list():
            return ErrorDetails()
        case str() if content.lstrip().startswith(("{", "[")):
            return _read_json(content, depth)
    return ErrorDetails(render_text(content))


def _read_json(text: str, depth: int) -> ErrorDetails:
    """Read a string that may hold a JSON error."""
    with suppress(ValueError, RecursionError):
        details = _read_content(json.loads(text, strict=False), depth)
        if details.message:
            return details
    return ErrorDetails(text)


def _read_list(items: list[Any], depth: int) -> ErrorDetails:
    read = [_read_content(member, depth) for member in items[:_WIDTH]]
    if not read:
        return ErrorDetails()
    message = "; ".join(details.message for details in read if details.message)
    return replace(read[0], message=message)


def _read_object(content: Mapping[str, Any], depth: int) -> ErrorDetails:
    """Prefer the details of an inner object to those of the gateway around it."""
    by_name = {_plain(name): value for name, value in content.items()}
    own = ErrorDetails(
        _find_message(by_name, depth),
        render_text(_first(by_name, _TYPES)),
        render_text(_first(by_name, _CODES)),
        render_text(by_name.get("param")),
    )
    for name in _INNER:
        inner = by_name.get(name)
        inner_details = (
            _read_content(inner, depth) if isinstance(inner, dict | list) else ErrorDetails()
        )
        if inner_details.message or (inner_details != ErrorDetails() and not own.message):
            is_of_gateway = own.type in ("", "error")
            return ErrorDetails(
                _with_provider(inner_details.message, by_name.get("metadata"), depth),
                inner_details.type or ("" if is_of_gateway else own.type),
                inner_details.code or own.code,
                inner_details.param or own.param,
            )
    return replace(own, message=_with_provider(own.message, by_name.get("metadata"), depth))


def _find_message(by_name: Mapping[str, Any], depth: int) -> str:
    if (error := by_name.get("error")) and not isinstance(error, dict | list):
        return _read_content(error, depth).message
    read = (_read_content(by_name.get(name), depth).message for name in _MESSAGES)
    message = next(filter(None, read), "")
    location = by_name.get("loc")
    if message and isinstance(location, list):  # FastAPI: the invalid field
        return f"{'.'.join(render_text(step) for step in location)}: {message}"
    context = by_name.get("nctx")  # llama.cpp: the size of the context that was exceeded
    return f"{message} (n_ctx: {context})" if message and isinstance(context, int) else message


def _with_provider(message: str, metadata: object, depth: int) -> str:
    """Replace OpenRouter's "Provider returned error" with the provider's message in `metadata`."""
    if not isinstance(metadata, dict) or not metadata.get("raw"):
        return message
    parts = [
        render_text(metadata.get("provider_name")),
        _read_content(metadata["raw"], depth).message,
    ]
    return ": ".join(part for part in parts if part)


def _first(by_name: Mapping[str, Any], names: Iterable[str]) -> object:
    """Return the first of these members that is not empty."""
    return next(
        (by_name[name] for name in names if by_name.get(name) not in (None, "", [], {})), None
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
