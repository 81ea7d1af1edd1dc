"""Responses of the API: errors as OpenAI words them, and responses written on the event loop."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from django.http import HttpResponse

Send = Callable[[dict[str, Any]], Awaitable[None]]

TYPES = {429: "rate_limit_error"}  # by status; other errors are the client's or the server's


class ApiError(Exception):
    """An error to be sent; the message is a sentence for the author of the script."""

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
    def headers(self) -> dict[str, str]:
        headers = {} if self.status != 401 else {"WWW-Authenticate": "Bearer"}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, round(self.retry_after)))
        return headers


def error_of_large_body(sentence: str) -> bytes:
    """Return the body of the response to a request that the server does not read to its end."""
    return msgspec.json.encode(ApiError(413, sentence, "request_too_large").body)


def error_response(error: ApiError) -> HttpResponse:
    return HttpResponse(
        msgspec.json.encode(error.body),
        status=error.status,
        content_type="application/json",
        headers=error.headers,
    )


class LoopResponse(HttpResponse):
    """A response that is written on the event loop, where models are asked.

    `chatapp.server.pages` calls `write_to`, and cancels it when the client has left.
    """

    async def write_to(self, send: Send) -> None:
        """Send the whole response."""
        raise NotImplementedError

    async def start(self, send: Send) -> None:
        """Send the status and the headers."""
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in self.headers.items()
        ]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})

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
