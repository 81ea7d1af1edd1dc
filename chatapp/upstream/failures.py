"""What a request over httpx failed with, as an `UpstreamError`."""

import httpx

from chatapp.upstream.os_errors import words_of
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError, clean, error_of_response

MAX_ERROR_BYTES = 64 * 1024  # of a body that says what is wrong


def error_of(response: httpx.Response, body: bytes, secret: str) -> UpstreamError:
    return error_of_response(response.status_code, response.headers, body, secret)


def transport_error(error: Exception, secret: str) -> UpstreamError:
    """Describe a request that got no response, or not one byte of it."""
    match error:
        case httpx.ReadTimeout():
            kind, message = ErrorKind.TIMED_OUT, "no answer came"
        case (
            httpx.LocalProtocolError() | UnicodeEncodeError()
        ):  # its own text quotes the header, key and all
            kind, message = ErrorKind.BAD_REQUEST, "the API key has characters no key can have"
        case _:
            kind, message = ErrorKind.UNREACHABLE, words_of(error)
    return UpstreamError(kind, clean(message, secret=secret))
