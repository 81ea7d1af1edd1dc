"""The probable correction of an address that was not found."""

from chatapp.models import Upstream
from chatapp.upstream.wire.errors.upstream_error import ErrorKind


def suggest_address(upstream: Upstream, cause: str) -> str:
    """Return the address with the `/v1` that it probably lacks; "" if that isn't the cause.

    `cause` is the `ErrorKind` of what failed, or "".
    """
    trimmed = upstream.base_url.rstrip("/")
    lacks = cause == ErrorKind.NOT_FOUND and not trimmed.endswith("/v1")
    return f"{trimmed}/v1" if lacks else ""
