"""Typed readers of environment variables for `chatapp.settings`.

Each reads one variable and raises `ImproperlyConfigured` with the remedy if the value is invalid,
so that a wrong setting fails at start, not at the first reply.
"""

import os
import secrets
import time
from contextlib import suppress
from ipaddress import IPv4Network, ip_network
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import environ
from django.core.exceptions import ImproperlyConfigured

from chatapp.checks.disk import explain_error

TRUE = frozenset({"1", "true", "yes", "on"})
SECRET_WRITE_SECONDS = 5.0  # to wait for another process that is writing the secret
FALSE = frozenset({"", "0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The variable's value without spaces around it; the default if it is unset or blank."""
    return os.environ.get(name, "").strip() or default


def words(name: str) -> list[str]:
    """Return the items of a comma-separated list."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def flag(name: str) -> bool:
    value = text(name).lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(
            f'{name}="{text(name)}" is neither true nor false: set it to 1 or 0'
        )
    return value in TRUE


def seconds(name: str, default: float, least: float = 0) -> float:
    """Return a duration of at least `least` seconds; `inf` means no limit."""
    value = text(name) or str(default)
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise ImproperlyConfigured(f'{name}="{value}" is not a number of seconds, for example 10')
    if number < least:
        raise ImproperlyConfigured(
            f'{name}="{value}" is too short: the minimum is {least:g} seconds'
        )
    return number


def number(name: str, default: int) -> int:
    """Return a whole number, 1 or more."""
    value = text(name) or str(default)
    if not value.isdecimal() or not 0 < int(value) < 10**9:
        raise ImproperlyConfigured(
            f'{name}="{value}" is not a positive whole number, for example {default}'
        )
    return int(value)


def port(name: str, default: int) -> int:
    value = text(name) or str(default)
    if not value.isdecimal() or int(value) > 65535:
        raise ImproperlyConfigured(f'{name}="{value}" is not a port number, for example {default}')
    return int(value)


def size(name: str, default: int) -> int:
    """Return a number of bytes, 1 or more."""
    value = text(name) or str(default)
    if not value.isdecimal() or not int(value):
        raise ImproperlyConfigured(
            f'{name}="{value}" is not a number of bytes, for example {default}'
        )
    return int(value)


def zone(name: str, default: str) -> str:
    """Return the name of an IANA time zone."""
    value = text(name) or default
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):  # no such zone, an invalid name, a folder of zones
        raise ImproperlyConfigured(
            f'{name}="{value}" is not a time zone, for example Europe/Berlin'
        ) from None
    return value


def url(name: str, schemes: tuple[str, ...]) -> str:
    value = text(name)
    if value and value.partition("://")[0] not in schemes:
        # The message leaves out the value, which may hold a password.
        raise ImproperlyConfigured(
            f"{name} must start with {' or '.join(s + '://' for s in schemes)}"
        )
    return value


def origins(name: str) -> list[str]:
    """Return origins as browsers send them: a scheme and a host, no path."""
    values = [value.rstrip("/") for value in words(name)]
    for value in values:
        scheme, _, host = value.partition("://")
        if scheme not in ("http", "https") or not host or "/" in host:
            raise ImproperlyConfigured(
                f'{name}: "{value}" is not an origin, for example https://chat.example.org'
            )
    return values


def first_origin(origins: list[str], needed_by: str) -> str:
    """Return the first origin without a wildcard.

    If there is none, return "", or raise if the setting `needed_by` depends on it.
    """
    public_origin = next((origin for origin in origins if "*" not in origin), "")
    if needed_by and not public_origin:
        raise ImproperlyConfigured(
            f"{needed_by} needs an address for the links in emails. Set CSRF_TRUSTED_ORIGINS to "
            "the address that people use, for example https://chat.example.org"
        )
    return public_origin


def networks(name: str, default: str) -> list[str]:
    """Return networks in CIDR notation; a single address is a network of one.

    For each IPv4 network, also return the IPv4-mapped IPv6 network (RFC 4291, section 2.5.5.2),
    since a socket that listens on `::` reports those addresses.
    """
    cidrs: list[str] = []
    for value in words(name) or default.split(","):
        try:
            network = ip_network(value)
        except ValueError:
            raise ImproperlyConfigured(
                f'{name}: "{value}" is neither an address nor a network, for example 10.0.0.0/8'
            ) from None
        cidrs.append(str(network))
        if isinstance(network, IPv4Network):
            cidrs.append(f"::ffff:{network.network_address}/{network.prefixlen + 96}")
    return cidrs


def database(name: str, **defaults: Any) -> dict[str, Any]:
    """Return Django's settings for the PostgreSQL database in the URL, on top of `defaults`.

    The query of the URL adds options, such as `sslmode`, to the default ones.
    """
    value = url(name, ("postgres", "postgresql"))
    config: dict[str, Any] = environ.Env.db_url_config(value)
    if not config.get("NAME"):
        raise ImproperlyConfigured(
            f"{name} names no database, for example postgres://user:password@host:5432/chatapp"
        )
    options = defaults.get("OPTIONS", {}) | config.get("OPTIONS", {})
    return config | defaults | {"OPTIONS": options}


def mail(name: str) -> dict[str, Any]:
    """Return Django's settings for the mail server in the URL."""
    try:
        config: dict[str, Any] = environ.Env.email_url_config(text(name))
    except (KeyError, ValueError):
        config = {}
    if not config.get("EMAIL_HOST"):
        raise ImproperlyConfigured(
            f"{name} names no mail server, for example smtp+tls://user:password@host:587"
        )
    return config


def files(folder: Path, bucket: str, endpoint: str) -> dict[str, Any]:
    """Return the storage of files: the bucket, or without one the folder.

    The keys of the bucket are in variables that the AWS SDK reads.
    """
    if not bucket:
        options: dict[str, Any] = {
            "location": folder,
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        }
        return {
            "BACKEND": "chatapp.models.files.storage.DurableFileStorage",
            "OPTIONS": options,
        }
    options = {"bucket_name": bucket}
    if endpoint:
        options |= {"endpoint_url": endpoint, "addressing_style": "path"}
    return {"BACKEND": "chatapp.models.files.bucket.Bucket", "OPTIONS": options}


def generated_secret(path: Path) -> str:
    """Return the secret stored at `path`, created on first use and readable only by its owner."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            _write_secret(path)
        return _whole_secret(path)
    except OSError as error:
        problem = explain_error(error, path.parent)
        raise ImproperlyConfigured(
            f"DATA_DIR can't be used: {problem.finding}. {problem.remedy}"
        ) from error


def _whole_secret(path: Path) -> str:
    """Read the secret, waiting if another process has created the file but not written it yet."""
    give_up_at = time.monotonic() + SECRET_WRITE_SECONDS
    while not (secret := path.read_text().strip()):
        if time.monotonic() > give_up_at:
            raise ImproperlyConfigured(f"{path} is empty: delete it, and a new one is created.")
        time.sleep(0.01)
    return secret


def _write_secret(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
    except OSError:
        path.unlink()  # or the next start would use an incomplete secret
        raise
