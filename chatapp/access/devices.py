"""Which browser uses a session is remembered with a page, a few times an hour at most; whose the
session is, the session store has stored by then.

The browser gets a cookie by which it is known after the session has ended: wrong passwords that are
tried elsewhere do not keep it from signing in (https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies).
"""

import secrets
import time
from contextlib import suppress

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core.exceptions import ValidationError
from django.core.validators import validate_ipv46_address
from django.db import Error, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from chatapp.models import Device, User
from chatapp.models.connections import impatient
from chatapp.models.devices import LONGEST_AGENT

SEEN_SECONDS = 15 * 60  # between two times that it is stored
MOST_KNOWN = 10_000
COOKIE_SALT = "chatapp.device"
COOKIE_SECONDS = 400 * 86400  # the longest that browsers keep one

_seen: dict[str, float] = {}  # by session keys: when this process stored it last


def remember(request: HttpRequest, response: HttpResponse) -> None:
    """Note that the browser uses its session now, unless the database is locked, and mark it."""
    key = request.session.session_key
    user = request.session.get(SESSION_KEY)
    now = time.monotonic()
    if not (key and user) or now - _seen.get(key, -SEEN_SECONDS) < SEEN_SECONDS:
        return
    if len(_seen) >= MOST_KNOWN:
        _seen.clear()
    _seen[key] = now
    known = {
        "agent": request.headers.get("User-Agent", "").replace("\0", "")[:LONGEST_AGENT],
        "address": _address(request),
        "seen_at": timezone.now(),
    }
    with suppress(Error), impatient(connection), transaction.atomic():
        Device.objects.filter(session_key=key, user=user).update(**known)
        User.objects.filter(pk=user).update(seen_at=known["seen_at"])
    if not mark_of(request, int(user)):
        response.set_signed_cookie(
            settings.DEVICE_COOKIE_NAME,
            f"{user}:{secrets.token_urlsafe(16)}",
            salt=COOKIE_SALT,
            max_age=COOKIE_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def mark_of(request: HttpRequest, user: int) -> str:
    """What the browser is known by if this person was signed in in it before; "" if not."""
    name = settings.DEVICE_COOKIE_NAME
    mark = request.get_signed_cookie(name, "", salt=COOKIE_SALT, max_age=COOKIE_SECONDS)
    return mark if mark and mark.startswith(f"{user}:") else ""


def _address(request: HttpRequest) -> str | None:
    """Where the request is from; None where that is no address, as of a socket file."""
    address: str = get_adapter().get_client_ip(request)
    try:
        validate_ipv46_address(address)
    except ValidationError:
        return None
    return address
