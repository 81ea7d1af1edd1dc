"""URLs that administrators enter."""

from urllib.parse import SplitResult, urlsplit


def http_parts(text: str) -> SplitResult | None:
    """The parts of an http or https URL with a host; None where it is none that can be asked."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - it is looked at when it is asked for
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def names_an_account(parts: SplitResult) -> bool:
    """Whether there is a name or a password in it, which whoever sees the URL would see."""
    return parts.username is not None or parts.password is not None
