"""The probable correction of an address that was not found."""

from chatapp.models import Upstream
from chatapp.upstream.wire.errors import ErrorKind


def suggest_address(upstream: Upstream, error: ErrorKind | None) -> str:
    """Return the address with the `/v1` that it probably lacks; "" if that isn't the cause."""
    trimmed = upstream.base_url.rstrip("/")
    lacks = error is ErrorKind.NOT_FOUND and not trimmed.endswith("/v1")
    return f"{trimmed}/v1" if lacks else ""
