"""Parse URLs that administrators enter."""

from urllib.parse import SplitResult, urlsplit


def http_parts(text: str) -> SplitResult | None:
    """Return the parts of an http or https URL with a host; None if it is not one."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - validated on access: raises ValueError
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def names_an_account(parts: SplitResult) -> bool:
    """Whether the URL contains a user name or a password, which would be shown with it."""
    return parts.username is not None or parts.password is not None
