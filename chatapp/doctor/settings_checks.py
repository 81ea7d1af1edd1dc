"""What the environment's settings mean in production."""

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

from chatapp.checks.results import Finding, failed, ok, warning

_RANDOM = "python3 -c 'import secrets; print(secrets.token_urlsafe(50))'"
_COST_OF_A_NEW_KEY = "Everyone has to sign in again, and upstream keys have to be entered again."
# Django's own findings that a line of ours tells with its cure, or that --url looks at.
_TOLD_ELSEWHERE = {
    "security.W004",  # HSTS
    "security.W008",  # the redirect to https
    "security.W009",  # the secret key
    "security.W010",  # secure cookies; W012, were the middleware Django's own
    "security.W012",
    "security.W016",
    "security.W018",  # DEBUG
    "security.W020",  # ALLOWED_HOSTS
}
_MIN_TOKEN_LENGTH = 24
_LARGE_BODY_BYTES = 64 * 1024 * 1024


def debug() -> Iterator[Finding]:
    if settings.DEBUG:
        yield failed(
            "Debug pages",
            "on: an error shows code and settings to whoever caused it",
            "Unset DEBUG and restart.",
        )
    else:
        yield ok("Debug pages", "off")


def hosts(url: str = "") -> Iterator[Finding]:
    """Whether the public host's name, and not every name, is answered."""
    allowed = [str(host) for host in settings.ALLOWED_HOSTS]
    host = urlsplit(url).hostname or ""
    named = ", ".join(dict.fromkeys(allowed))
    if host and not validate_host(host, allowed):
        yield failed(
            "Host names",
            f"{host} is not among those answered: {named}",
            f"Set ALLOWED_HOSTS={host} and restart.",
        )
    elif "*" in allowed:
        example = host or "chat.example.org"
        yield warning(
            "Host names",
            "every name is answered (*), so a forged one gets into links",
            f"Set ALLOWED_HOSTS={example} and restart.",
        )
    else:
        yield ok("Host names", named)


def origins(url: str = "") -> Iterator[Finding]:
    """Whether forms and sockets from the public address are taken, and cookies are secure."""
    trusted = list(settings.CSRF_TRUSTED_ORIGINS)
    origin = origin_of(url)
    if origin.startswith("https://") and origin not in trusted:
        yield failed(
            "Public origin",
            f"{origin} is not trusted, so signing in is refused",
            f"Set CSRF_TRUSTED_ORIGINS={origin} and restart.",
        )
    elif not settings.SESSION_COOKIE_SECURE and not origin:
        yield warning(
            "Public origin",
            "no https origin is set: cookies also travel over plain http",
            "Behind TLS, set CSRF_TRUSTED_ORIGINS=https://your.host and restart; "
            "on this machine alone, leave it.",
        )
    elif not settings.SESSION_COOKIE_SECURE:
        yield warning(
            "Public origin",
            f"{origin} is plain http: whoever is on the way reads passwords and chats",
            "Put a reverse proxy with TLS in front and give its https address to --url.",
        )
    else:
        yield ok("Public origin", f"{', '.join(trusted)}; cookies are secure")


def origin_of(url: str) -> str:
    """What a browser sends as Origin from this address: no path, no default port."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port and parts.port != default else ""
    return f"{parts.scheme}://{host}{port}" if host else ""


def secret_key(path: Path, from_environment: str = "") -> Iterator[Finding]:
    """The key that signs sessions: set in the environment, or generated in the file at `path`."""
    if from_environment:
        yield _key_of_environment(from_environment)
    else:
        yield _key_file(path)


def _key_of_environment(key: str) -> Finding:
    is_short = len(key) < base.SECRET_KEY_MIN_LENGTH
    is_plain = len(set(key)) < base.SECRET_KEY_MIN_UNIQUE_CHARACTERS
    if is_short or is_plain or key.startswith(base.SECRET_KEY_INSECURE_PREFIX):
        found = f"SECRET_KEY has {len(key)} characters" if is_short else "SECRET_KEY is no secret"
        cure = f"Set it to what this prints: {_RANDOM}. {_COST_OF_A_NEW_KEY}"
        return failed("Secret key", found, cure)
    return ok("Secret key", f"SECRET_KEY, {len(key)} characters; the same for every process")


def _key_file(path: Path) -> Finding:
    try:
        status = path.stat()
    except OSError as error:
        return failed(
            "Secret key",
            f"{path} can't be read: {error.strerror}",
            "Let the app's user own DATA_DIR, or set SECRET_KEY.",
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        return failed(
            "Secret key",
            f"{path} can be read by others (mode {mode:04o})",
            f"Run chmod 600 {path}. Where others may have read it, remove it and restart. "
            f"{_COST_OF_A_NEW_KEY}",
        )
    if os.geteuid() not in (0, status.st_uid):
        return failed(
            "Secret key",
            f"{path} belongs to user {status.st_uid}, and this runs as {os.geteuid()}",
            f"Run doctor as the app's user, or give it the file: chown {os.geteuid()} {path}.",
        )
    return ok(
        "Secret key",
        f"generated in {path}, mode {mode:04o}; processes with another DATA_DIR need the same "
        "one in SECRET_KEY",
    )


def old_keys(fallbacks: Sequence[str]) -> Iterator[Finding]:
    """Keys of before are for the days of a change: who has one can still sign in as anybody."""
    if fallbacks:
        yield warning(
            "Old keys",
            f"SECRET_KEY_FALLBACKS has {len(fallbacks)}, and what they sign is still believed",
            "Run manage.py rotate_secrets, then unset SECRET_KEY_FALLBACKS and restart.",
        )


def metrics_token(token: str) -> Iterator[Finding]:
    if not token:
        yield ok("Metrics", "closed: CHATAPP_METRICS_TOKEN is not set")
    elif len(token) < _MIN_TOKEN_LENGTH or len(set(token)) < base.SECRET_KEY_MIN_UNIQUE_CHARACTERS:
        yield warning(
            "Metrics",
            f"CHATAPP_METRICS_TOKEN can be guessed: it has {len(token)} characters",
            f"Set it to what this prints: {_RANDOM}.",
        )
    else:
        yield ok("Metrics", f"CHATAPP_METRICS_TOKEN, {len(token)} characters")


def trusted_proxies() -> Iterator[Finding]:
    """Whether it is proxies, and not everybody, whose headers are believed."""
    trusted = [ip_network(network) for network in settings.CHATAPP_TRUSTED_PROXIES]
    wide = [str(one) for one in trusted if not one.is_private and one.num_addresses > 2**16]
    if wide:
        yield failed(
            "Proxies",
            f"{', '.join(wide)}: anybody there can say which address and scheme is theirs",
            "Set CHATAPP_TRUSTED_PROXIES to the addresses of your proxies alone and restart.",
        )
    else:
        yield ok("Proxies", ", ".join(settings.CHATAPP_TRUSTED_PROXIES))


def body_limit() -> Iterator[Finding]:
    limit = settings.CHATAPP_MAX_BODY_BYTES
    if limit > _LARGE_BODY_BYTES:
        yield warning(
            "Largest body",
            f"{limit:,} bytes, which anybody may send before signing in",
            "Unset CHATAPP_MAX_BODY_BYTES, or set it to what your forms need, and restart.",
        )
    else:
        yield ok("Largest body", f"{limit:,} bytes")


def processes() -> Iterator[Finding]:
    """How many processes these settings are made for."""
    if settings.DATABASE_URL and settings.REDIS_URL:
        yield ok("Processes", "any number: DATABASE_URL and REDIS_URL are set")
    elif settings.DATABASE_URL:
        yield ok("Processes", "one only: for more of them, set REDIS_URL too")
    else:
        yield ok("Processes", "one only: for more of them, set DATABASE_URL and REDIS_URL")


def django_checks() -> Iterator[Finding]:
    """What Django's own checks add, those for deployment among them."""
    found = [
        message
        for message in checks.run_checks(include_deployment_checks=True)
        if message.id not in _TOLD_ELSEWHERE and not message.is_silenced()
    ]
    for message in found:
        yield _of_django(message)
    if not found:
        yield ok("Django's checks", "nothing else")


def _of_django(message: Any) -> Finding:
    text = " ".join(str(message.msg).split())
    cure = " ".join(str(message.hint or "").split()) or "Look it up in Django's list of checks."
    judge = failed if message.level >= checks.ERROR else warning
    return judge("Django's checks", f"{message.id or 'unnamed'}: {text}", cure)
