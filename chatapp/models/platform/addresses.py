"""Parse URLs that administrators enter."""

from urllib.parse import SplitResult, urlsplit


def parse_http_url(text: str) -> SplitResult | None:
    """Return the parts of an http or https URL with a host; None if it is not one."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - validated on access: raises ValueError
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def parse_origin(url: str) -> tuple[str, str | None, int] | None:
    """Return the scheme, host and port, as RFC 6454 compares them; None if the URL is invalid."""
    if (parts := parse_http_url(url)) is None:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, parts.hostname, port


def names_an_account(parts: SplitResult) -> bool:
    """Whether the URL contains a user name or a password, which would be shown with it."""
    return parts.username is not None or parts.password is not None
