"""Checks a socket's Origin and Host headers."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host


def is_own_origin(scope: Mapping[str, Any]) -> bool:
    """Whether a page of this app opens the socket. Browsers always send Origin."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    scheme = "https" if scope.get("scheme") == "wss" else "http"
    return origin in settings.CSRF_TRUSTED_ORIGINS or origin == f"{scheme}://{host}"


def is_own_host(scope: Mapping[str, Any]) -> bool:
    """Whether the Host is allowed, as Django checks it for pages."""
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
