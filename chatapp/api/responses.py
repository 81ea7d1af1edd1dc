"""Responses of the API: errors as OpenAI words them, and responses written on the event loop."""

from collections.abc import Mapping

import msgspec
from django.http import HttpResponse

from chatapp.server_interface import LoopResponse, RequestRefused, Send

DATABASE_AWAY = "The database is not responding. Send the request again in a moment."

TYPES = {429: "rate_limit_error"}  # by status; other errors are the client's or the server's
API_PATH = "/api/v1/"
NOT_FOUND = (
    "The API has only GET /api/v1/models, GET /api/v1/models/NAME, and "
    "POST /api/v1/chat/completions."
)
TOO_FAST = "Too many requests. Wait a moment, then try again."
OUR_MISTAKE = "Something went wrong on this server; see its log."

SENTENCES = {  # by status, of requests that don't come to a view
    400: "The server can't understand the request.",
    404: NOT_FOUND,
    429: TOO_FAST,
    500: OUR_MISTAKE,
    503: DATABASE_AWAY,
}
CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "request_too_large",
    414: "address_too_long",
    429: "rate_limit_exceeded",
    431: "headers_too_large",
}


class ApiError(RequestRefused):
    """An error to be sent; the message is a sentence for the author of the script."""

    content_type = "application/json"

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.retry_after = retry_after

    @property
    def body(self) -> dict[str, object]:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {
            "message": str(self),
            "type": TYPES.get(self.status, kind),
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}

    @property
    def content(self) -> bytes:
        return msgspec.json.encode(self.body)

    @property
    def headers(self) -> dict[str, str]:
        headers = {} if self.status != 401 else {"WWW-Authenticate": "Bearer"}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, round(self.retry_after)))
        return headers


def plain_error(status: int, sentence: str) -> ApiError:
    """Return the error for a request that was refused before it came to the API."""
    return ApiError(status, sentence, CODES.get(status))


def find_server_error(uri: bytes, status: int, sentence: str) -> ApiError | None:
    """Return the error that the server itself answers, if a request is for the API."""
    return plain_error(status, sentence) if API_PATH.encode() in uri else None


def error_response(error: ApiError) -> HttpResponse:
    return HttpResponse(
        error.content,
        status=error.status,
        content_type=error.content_type,
        headers=error.headers,
    )


class ApiResponse(LoopResponse):
    """A response that is written on the event loop, where models are asked."""

    async def send_json(self, send: Send, body: Mapping[str, object]) -> None:
        """Send the whole response, with this body."""
        content = msgspec.json.encode(body)
        self.headers["Content-Type"] = "application/json"
        self.headers["Content-Length"] = str(len(content))
        await self.start(send)
        await send({"type": "http.response.body", "body": content})

    async def send_error(
        self, send: Send, error: ApiError, more: Mapping[str, object] | None = None
    ) -> None:
        """Send an error, with further members beside its message."""
        self.status_code = error.status
        for name, value in error.headers.items():
            self.headers[name] = value
        body = error.body
        assert isinstance(body["error"], dict)
        body["error"] |= more or {}
        await self.send_json(send, body)
