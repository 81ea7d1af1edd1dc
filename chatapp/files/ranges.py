"""The range of a file that a request asks for (RFC 9110, section 14)."""

import re

from django.http import HttpRequest

_RANGE = re.compile(r"bytes=[ \t]*(\d{0,30})-(\d{0,30})[ \t]*", re.ASCII | re.IGNORECASE)


class Unsatisfiable(Exception):
    """The file has none of the bytes that the request asks for."""


def requested_range(request: HttpRequest, size: int, etag: str) -> range | None:
    """Return the positions of the bytes that a request asks for, or None for the whole file.

    Raises `Unsatisfiable`.
    """
    is_for_another_version = request.headers.get("If-Range", etag) != etag
    if request.method != "GET" or is_for_another_version:
        return None
    return parse_range(request.headers.get("Range", ""), size)


def parse_range(header: str, size: int) -> range | None:
    """Parse a `Range` header for a file of this size.

    A server may ignore the header (section 14.2): several ranges are ignored, as are malformed
    ones. Raises `Unsatisfiable`.
    """
    match = _RANGE.fullmatch(header)
    first, last = match.groups() if match else ("", "")
    if first and last and int(last) < int(first):
        return None
    if first:
        requested = range(int(first), min(int(last or size), size - 1) + 1)
    elif last:  # of the last bytes
        requested = range(max(0, size - int(last)), size)
    else:
        return None
    if not requested:
        raise Unsatisfiable
    return requested
