"""Check whether the settings are safe and consistent in production."""

import os
import stat
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks.security import base
from django.http.request import validate_host

from chatapp.checks.results import CheckResult, failed, ok, warning
from chatapp.command_line import MANAGE

_RANDOM = "python3 -c 'import secrets; print(secrets.token_urlsafe(50))'"
_COST_OF_A_NEW_KEY = (
    "Everyone will have to sign in again, and upstream keys will have to be entered again."
)
# Django's checks that ours cover, here or with --url, with better advice.
_COVERED_BY_OURS = {
    "security.W004",  # HSTS
    "security.W008",  # the redirect to https
    "security.W009",  # the secret key
    "security.W010",  # secure cookies; W012 is about Django's own middleware
    "security.W012",
    "security.W016",
    "security.W018",  # DEBUG
    "security.W020",  # ALLOWED_HOSTS
}
_MIN_TOKEN_LENGTH = 24
_LARGE_BODY_BYTES = 64 * 1024 * 1024


def debug() -> Iterator[CheckResult]:
    if settings.DEBUG:
        yield failed(
            "Debug pages",
            "on: error pages show code and settings to anyone",
            "Unset DEBUG and restart.",
        )
    else:
        yield ok("Debug pages", "off")


def hosts(url: str = "") -> Iterator[CheckResult]:
    """Check that the public host name is allowed, and not every name."""
    allowed = [str(host) for host in settings.ALLOWED_HOSTS]
    host = urlsplit(url).hostname or ""
    allowed_names = ", ".join(dict.fromkeys(allowed))
    if host and not validate_host(host, allowed):
        yield failed(
            "Host names",
            f"{host} is not in ALLOWED_HOSTS ({allowed_names})",
            f"Set ALLOWED_HOSTS={host} and restart.",
        )
    elif "*" in allowed:
        example = host or "chat.example.org"
        yield warning(
            "Host names",
            "every name is allowed (*), so links may contain a forged one",
            f"Set ALLOWED_HOSTS={example} and restart.",
        )
    else:
        yield ok("Host names", allowed_names)


def origins(url: str = "") -> Iterator[CheckResult]:
    """Check that the public origin is trusted and that cookies are secure."""
    trusted = list(settings.CSRF_TRUSTED_ORIGINS)
    origin = build_origin(url)
    if origin.startswith("https://") and origin not in trusted:
        yield failed(
            "Public origin",
            f"{origin} is not trusted, so nobody can sign in",
            f"Set CSRF_TRUSTED_ORIGINS={origin} and restart.",
        )
    elif not settings.SESSION_COOKIE_SECURE and not origin:
        yield warning(
            "Public origin",
            "no https origin is set, so cookies are also sent over plain http",
            "Behind TLS, set CSRF_TRUSTED_ORIGINS=https://your.host and restart. If the app is "
            "used only on this machine, leave it.",
        )
    elif not settings.SESSION_COOKIE_SECURE:
        yield warning(
            "Public origin",
            f"{origin} is plain http: anyone on the network can read passwords and chats",
            "Put a reverse proxy with TLS in front and set --url to its https address.",
        )
    else:
        yield ok("Public origin", f"{', '.join(trusted)}; cookies are secure")


def build_origin(url: str) -> str:
    """Return the Origin header that a browser sends for this URL, without a default port."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port and parts.port != default else ""
    return f"{parts.scheme}://{host}{port}" if host else ""


def secret_key(path: Path, from_environment: str = "") -> Iterator[CheckResult]:
    """Check the secret key, from the environment or else generated in the file at `path`."""
    if from_environment:
        yield _key_of_environment(from_environment)
    else:
        yield _key_file(path)


def _key_of_environment(key: str) -> CheckResult:
    is_short = len(key) < base.SECRET_KEY_MIN_LENGTH
    is_simple = len(set(key)) < base.SECRET_KEY_MIN_UNIQUE_CHARACTERS
    if is_short or is_simple or key.startswith(base.SECRET_KEY_INSECURE_PREFIX):
        finding = (
            f"SECRET_KEY has {len(key)} characters" if is_short else "SECRET_KEY can be guessed"
        )
        remedy = f"Set it to what this prints: {_RANDOM}. {_COST_OF_A_NEW_KEY}"
        return failed("Secret key", finding, remedy)
    return ok("Secret key", f"SECRET_KEY, {len(key)} characters; the same for every process")


def _key_file(path: Path) -> CheckResult:
    try:
        status = path.stat()
    except OSError as error:
        return failed(
            "Secret key",
            f"{path} can't be read: {error.strerror}",
            "Make the app's user the owner of DATA_DIR, or set SECRET_KEY.",
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        return failed(
            "Secret key",
            f"{path} is readable by others (mode {mode:04o})",
            f"Run chmod 600 {path}. If others may have read it, remove it and restart. "
            f"{_COST_OF_A_NEW_KEY}",
        )
    if os.geteuid() not in (0, status.st_uid):
        return failed(
            "Secret key",
            f"{path} belongs to user {status.st_uid}, but this runs as {os.geteuid()}",
            f"Run doctor as the app's user, or change the owner: chown {os.geteuid()} {path}.",
        )
    return ok(
        "Secret key",
        f"generated in {path}, mode {mode:04o}; processes with another DATA_DIR need the same "
        "one in SECRET_KEY",
    )


def old_keys(fallbacks: Sequence[str]) -> Iterator[CheckResult]:
    """Warn of old keys: anyone who has one can still sign in as anybody."""
    if fallbacks:
        yield warning(
            "Old keys",
            f"SECRET_KEY_FALLBACKS has {len(fallbacks)}; signatures by them are still valid",
            f"Run {MANAGE} rotate_secrets, then unset SECRET_KEY_FALLBACKS and restart.",
        )


def metrics_token(token: str) -> Iterator[CheckResult]:
    if not token:
        yield ok("Metrics", "off: CHATAPP_METRICS_TOKEN is not set")
    elif len(token) < _MIN_TOKEN_LENGTH or len(set(token)) < base.SECRET_KEY_MIN_UNIQUE_CHARACTERS:
        yield warning(
            "Metrics",
            f"CHATAPP_METRICS_TOKEN can be guessed: it has {len(token)} characters",
            f"Set it to what this prints: {_RANDOM}.",
        )
    else:
        yield ok("Metrics", f"CHATAPP_METRICS_TOKEN, {len(token)} characters")


def trusted_proxies() -> Iterator[CheckResult]:
    """Check that only proxies' headers are trusted, not everyone's."""
    trusted = [ip_network(network) for network in settings.CHATAPP_TRUSTED_PROXIES]
    wide = [
        str(network)
        for network in trusted
        if not network.is_private and network.num_addresses > 2**16
    ]
    if wide:
        yield failed(
            "Proxies",
            f"{', '.join(wide)}: anyone there can forge their address and scheme",
            "Set CHATAPP_TRUSTED_PROXIES to only the addresses of your proxies and restart.",
        )
    else:
        yield ok("Proxies", ", ".join(settings.CHATAPP_TRUSTED_PROXIES))


def body_limit() -> Iterator[CheckResult]:
    limit = settings.CHATAPP_MAX_BODY_BYTES
    if limit > _LARGE_BODY_BYTES:
        yield warning(
            "Largest body",
            f"{limit:,} bytes, which anyone may send before signing in",
            "Unset CHATAPP_MAX_BODY_BYTES, or set it to what your forms need, and restart.",
        )
    else:
        yield ok("Largest body", f"{limit:,} bytes")


def processes() -> Iterator[CheckResult]:
    """Report how many processes these settings allow."""
    if settings.DATABASE_URL and settings.REDIS_URL:
        yield ok("Processes", "any number on any hosts: DATABASE_URL and REDIS_URL are set")
    elif settings.REDIS_URL:
        yield ok("Processes", "any number on this host; for more hosts, set DATABASE_URL")
    else:
        yield ok("Processes", "only one; for more, set REDIS_URL")


def django_checks() -> Iterator[CheckResult]:
    """Report what Django's own checks find, including those for deployment."""
    messages = [
        message
        for message in checks.run_checks(include_deployment_checks=True)
        if message.id not in _COVERED_BY_OURS and not message.is_silenced()
    ]
    for message in messages:
        yield _from_django(message)
    if not messages:
        yield ok("Django's checks", "no issues")


def _from_django(message: Any) -> CheckResult:
    text = " ".join(str(message.msg).split())
    remedy = (
        " ".join(str(message.hint or "").split()) or "See Django's documentation of system checks."
    )
    build_result = failed if message.level >= checks.ERROR else warning
    return build_result("Django's checks", f"{message.id or 'unnamed'}: {text}", remedy)
