"""Errors in the format of OpenAI-compatible servers."""

from dataclasses import dataclass

import msgspec


@dataclass(eq=False)
class ApiError(Exception):
    """A request that is answered with an HTTP error.

    `body` is `{"error": {"message", "type", "param", "code"}}`, the shape of
    https://platform.openai.com/docs/guides/error-codes.
    """

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(
            {
                "error": {
                    "message": self.message,
                    "type": self.type,
                    "param": self.param,
                    "code": self.code,
                }
            }
        )
