"""Turn any error response or error frame of an upstream into an `UpstreamError`.

The texts of an `UpstreamError` come from outside. They are cut to a sane length and contain no
NUL, no lone surrogates and no API key (`secret`), but must still be escaped when shown.
"""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from chatapp.upstream.wire.errors.bodies import read_details, render_text
from chatapp.upstream.wire.errors.content_refusals import says_no_images, says_only_text
from chatapp.upstream.wire.errors.context_refusals import says_too_long, window_in
from chatapp.upstream.wire.errors.retry_delays import delay_of_body, delay_of_headers
from chatapp.upstream.wire.errors.tool_refusals import says_no_tools

MAX_MESSAGE_LENGTH = 500
NO_CHOICES = "sent JSON without choices"
_MAX_NAME_LENGTH = 100
_PERMANENT = frozenset({"insufficient_quota"})  # a 429 for which waiting does not help
_NOT_ABOUT_CONTENT = (401, 403, 408, 413, 429)  # statuses
_NOT_ABOUT_LENGTH = (401, 403, 408, 429)
_ERROR_MEMBERS = ("error", "errors", "detail", "error_msg", "error_message", "error_code", "fault")
MIN_SECRET_LENGTH = 8  # don't redact placeholders such as "none", which occur in messages


class ErrorKind(StrEnum):
    """The kind of an error, in our terms; `type`, `code` and `message` keep the upstream's."""

    UNREACHABLE = "unreachable"
    UNAUTHORIZED = "unauthorized"
    RATE_LIMITED = "rate_limited"
    NOT_FOUND = "not_found"
    BAD_REQUEST = "bad_request"
    SERVER_ERROR = "server_error"
    REDIRECTED = "redirected"  # never followed: that would send the key to another server
    STREAM_ERROR = "stream_error"  # an error frame after status 200
    UNREAD_CALL = "unread_call"  # a tool call as text (in `code`: the tool) that nothing can run
    MALFORMED = "malformed"  # a broken chunk, which may have held part of the reply
    FINISH_REASON = "finish_reason"  # an unknown finish_reason (in `code`)
    TOO_MANY_ROUNDS = "too_many_rounds"  # of tool calls, without an answer
    NOT_A_STREAM = "not_a_stream"  # status 200 with something other than an event stream
    EMPTY = "empty"  # status 200 without a byte of body: often the prompt is too long
    TOO_LARGE = "too_large"
    OUT_OF_RANGE = "out_of_range"  # the index of a choice or a tool call
    TIMED_OUT = "timed_out"
    NO_IMAGES = "no_images"  # the model takes no images
    # The model refused parameters of the chat: `param` has their names, and `code` the value if it
    # may take others.
    NO_PARAMETER = "no_parameter"
    TOO_LONG = "too_long"  # the request exceeds the model's context
    FILE_LOST = "file_lost"  # a file that should have been sent; nothing was
    FILE_UNREADABLE = "file_unreadable"  # the storage of files failed; nothing was sent


# The model or this app is the cause, not the upstream.
NOT_OF_UPSTREAM = frozenset(
    {
        ErrorKind.NO_IMAGES,
        ErrorKind.NO_PARAMETER,
        ErrorKind.TOO_LONG,
        ErrorKind.FILE_LOST,
        ErrorKind.FILE_UNREADABLE,
    }
)


REASONING_MEMBER = (
    "reasoning_content"  # the member of an assistant's message that these models want
)


@dataclass(frozen=True, slots=True)
class UpstreamError:
    """One failure. Texts are empty if the upstream gave none."""

    kind: ErrorKind
    message: str = ""
    status: int | None = None
    type: str = ""
    code: str = ""
    param: str = ""  # the request parameter at fault
    retry_after: float | None = None  # seconds

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later.

        Retry only before the first delta, after `retry_after` seconds if given.
        """
        if _PERMANENT & {self.type, self.code}:
            return False
        if self.kind is ErrorKind.UNREACHABLE:
            return True
        status = self.status
        if self.kind is ErrorKind.STREAM_ERROR and re.fullmatch("[45][0-9][0-9]", self.code):
            status = int(self.code)
        return status is not None and (status in (408, 409, 429) or 500 <= status < 600)

    @property
    def refuses_usage_option(self) -> bool:
        """Whether the upstream rejected `stream_options`."""
        text = f"{self.message} {self.param} {self.code}"
        return self.status in (400, 422) and bool(re.search("stream_options|include_usage", text))

    @property
    def refuses_tools(self) -> bool:
        """Whether the upstream or the model rejected tools, or some of those that were sent."""
        return self.status in (400, 404, 422) and bool(re.search(r"\btools?\b", self.message))

    @property
    def refuses_all_tools(self) -> bool:
        """Whether the upstream said that the model takes no tools at all."""
        return self.refuses_tools and says_no_tools(self.message)

    @property
    def refuses_tools_with_effort(self) -> bool:
        """Whether the model takes tools only without reasoning, as some of OpenAI's do."""
        both = re.search(r"\btools?\b.*\breasoning[_ ]effort\b", self.message, re.I | re.S)
        return self.status in (400, 422) and bool(both)

    @property
    def refuses_schema_keywords(self) -> bool:
        """Whether the upstream doesn't know keywords in the schema of a tool, as Google."""
        names = re.search(r"\$schema\b|\badditional_?properties\b", self.message, re.I)
        refused = re.search(
            r"unknown|unrecogni[sz]ed|unsupported|not? support|not allowed|cannot find|unexpected",
            self.message,
            re.I,
        )
        wants = re.search(r"\b(required|must)\b", self.message, re.I)
        return self.status in (400, 422) and bool(names and refused and not wants)

    @property
    def wants_thoughts_of_calls(self) -> bool:
        """Whether the model takes no tool calls without the reasoning before them, as DeepSeek."""
        mentions = re.search(rf"\b{REASONING_MEMBER}\b", self.message)
        wants = re.search(r"missing|must|required|passed back|expected", self.message, re.I)
        return self.status in (400, 422) and bool(mentions and wants)

    @property
    def refuses_system(self) -> bool:
        """Whether the model's chat template rejects system messages, as Gemma's does."""
        mentions_system = re.search(
            r"system (role|message|prompt)s?\b|'system'|developer instruction", self.message, re.I
        )
        refused = re.search(r"not? support|unsupported|not enabled|not allowed", self.message, re.I)
        return self.status in (400, 422, 500) and bool(mentions_system and refused)

    @property
    def refuses_images(self) -> bool:
        """Whether the upstream said that the model takes no images."""
        return self.status not in _NOT_ABOUT_CONTENT and says_no_images(self.message)

    @property
    def refuses_parts(self) -> bool:
        """Whether the upstream said that a content must be a text and not a list of parts."""
        return self.status not in _NOT_ABOUT_CONTENT and says_only_text(self.message)

    @property
    def exceeds_context(self) -> bool:
        """Whether the upstream said that the request is too long for the model."""
        return self.status not in _NOT_ABOUT_LENGTH and says_too_long(self._words)

    @property
    def context_tokens(self) -> int | None:
        """The size of the model's context, if the upstream said it."""
        return window_in(self._words)

    @property
    def _words(self) -> str:
        return f"{self.message} {self.type} {self.code}"


class UpstreamFailed(Exception):
    """Raised where a failure can't be an event, such as when listing models."""

    def __init__(self, error: UpstreamError) -> None:
        super().__init__(error.message or error.kind)
        self.error = error


def error_of_frame(error: object, secret: str = "") -> UpstreamError:
    """Read the `error` member of a frame that came after status 200."""
    delay = delay_of_body(error)
    return _upstream_error(ErrorKind.STREAM_ERROR, {"error": error}, secret, retry_after=delay)


def error_of_text(text: str, secret: str = "") -> UpstreamError:
    """Read an error that came as text after status 200: JSON, an HTML page or plain text."""
    try:
        content = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        content = _title(text) or " ".join(text.split())
    is_page = text.lstrip().startswith("<")
    kind = ErrorKind.NOT_A_STREAM if is_page else ErrorKind.STREAM_ERROR
    return _upstream_error(kind, content, secret)


def says_something(error: object) -> bool:
    """Tell an error from the empty error object that some upstreams add to every chunk."""
    return any(error.values()) if isinstance(error, dict) else bool(error)


def is_error(content: Mapping[str, Any]) -> bool:
    """Tell whether an object without choices is an error in any gateway's shape."""
    if content.get("object") == "error" or content.get("success") is False:
        return True
    if any(says_something(content.get(name)) for name in _ERROR_MEMBERS):
        return True
    if "error" in str(content.get("type", "")).lower():
        return True
    inner = content.get("base_resp")  # MiniMax, where 0 means success
    if isinstance(inner, dict) and inner.get("status_code"):
        return True
    codes = (content.get("code"), content.get("status"), content.get("statusCode"))
    return bool(content.get("message")) and any(map(_is_error_code, codes))


def _is_error_code(code: object) -> bool:
    """Tell whether a code means an error, not success or progress."""
    text = render_text(code)
    return int(text) >= 400 if text.isascii() and text.isdecimal() else "err" in text.lower()


def error_of_response(
    status: int, headers: Mapping[str, str], body: bytes, secret: str = ""
) -> UpstreamError:
    """Read a response that is not an event stream. `headers` must ignore case, as httpx's do."""
    text = body.decode("utf-8", "replace")
    try:
        content = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        content = _title(text) or text
    kind = _kind_of_status(status)
    if kind is ErrorKind.REDIRECTED:
        content = f"redirects to {headers.get('location', '')}"
    if kind is ErrorKind.NOT_A_STREAM and not isinstance(content, str):
        if isinstance(content, dict) and is_error(content):
            kind = ErrorKind.STREAM_ERROR
        else:
            content = NO_CHOICES
    retry_after = delay_of_headers(headers, datetime.now(UTC))
    if retry_after is None and kind in (ErrorKind.RATE_LIMITED, ErrorKind.SERVER_ERROR):
        retry_after = delay_of_body(content)
    return _upstream_error(kind, content, secret, status, retry_after)


def clean(text: str, limit: int = _MAX_NAME_LENGTH, secret: str = "") -> str:
    """Make a text from outside safe to store: short, without NUL, surrogates or the key."""
    if len(secret) >= MIN_SECRET_LENGTH:
        text = text.replace(secret, "***")
    text = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode().strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clean_id(text: str, limit: int) -> str:
    """Make an id from outside safe to store. A long one ends in a digest, so ids stay different."""
    if len(text) <= limit:
        return clean(text, limit)
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{clean(text, limit - len(digest))}{digest}"


def _kind_of_status(status: int) -> ErrorKind:
    match status:
        case 401 | 403:
            return ErrorKind.UNAUTHORIZED
        case 404:
            return ErrorKind.NOT_FOUND
        case 429:
            return ErrorKind.RATE_LIMITED
    if status < 300:
        return ErrorKind.NOT_A_STREAM
    if status < 400:
        return ErrorKind.REDIRECTED
    return ErrorKind.BAD_REQUEST if status < 500 else ErrorKind.SERVER_ERROR


def _upstream_error(
    kind: ErrorKind,
    content: object,
    secret: str,
    status: int | None = None,
    retry_after: float | None = None,
) -> UpstreamError:
    details = read_details(content)
    return UpstreamError(
        kind=kind,
        message=clean(details.message, MAX_MESSAGE_LENGTH, secret),
        status=status,
        type=clean(details.type, secret=secret),
        code=clean(details.code, secret=secret),
        param=clean(details.param, secret=secret),
        retry_after=retry_after,
    )


def _title(text: str) -> str:
    """Return the title of an HTML page or the message of an XML error, or ""."""
    match = re.search(r"<(?:title|message)\b[^>]*>([^<]*)", text, re.IGNORECASE)
    return html.unescape(" ".join(match[1].split())) if match else ""
