"""Turn a failed httpx request into an `UpstreamError`."""

import httpx

from chatapp.upstream.os_errors import describe_error
from chatapp.upstream.wire.errors.upstream_error import (
    ErrorKind,
    UpstreamError,
    clean,
    error_of_response,
)

MAX_ERROR_BYTES = 64 * 1024  # of an error body


def build_error(response: httpx.Response, body: bytes, secret: str) -> UpstreamError:
    return error_of_response(response.status_code, response.headers, body, secret)


def transport_error(error: Exception, secret: str) -> UpstreamError:
    """Describe a request that got no response, or no byte of its body."""
    match error:
        case httpx.ReadTimeout():
            kind, message = ErrorKind.TIMED_OUT, "no answer arrived"
        case (
            httpx.LocalProtocolError() | UnicodeEncodeError()
        ):  # the error's text quotes the header with the key
            kind, message = ErrorKind.BAD_REQUEST, "the API key contains invalid characters"
        case _:
            kind, message = ErrorKind.UNREACHABLE, describe_error(error)
    return UpstreamError(kind, clean(message, secret=secret))
