"""Records which browser uses a session, a few times an hour at most.

The session's owner is recorded by the session store. The browser also gets a device cookie that
outlives the session, so that wrong passwords tried elsewhere do not keep it from signing in
(https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies).
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

from chatapp.db.connections import limit_lock_wait
from chatapp.models import Device, User
from chatapp.models.accounts.devices import MAX_AGENT_LENGTH

SEEN_SECONDS = 15 * 60  # between two writes
MAX_CACHED = 10_000
COOKIE_SALT = "chatapp.device"
COOKIE_SECONDS = 400 * 86400  # the longest lifetime that browsers allow

_stored_at: dict[str, float] = {}  # session key -> when this process last stored it


def record_device(request: HttpRequest, response: HttpResponse) -> None:
    """Record that the browser is using its session, and give it a device cookie.

    Skips the write while the database is locked.
    """
    key = request.session.session_key
    user = request.session.get(SESSION_KEY)
    now = time.monotonic()
    if not (key and user) or now - _stored_at.get(key, -SEEN_SECONDS) < SEEN_SECONDS:
        return
    if len(_stored_at) >= MAX_CACHED:
        _stored_at.clear()
    _stored_at[key] = now
    device_fields = {
        "agent": request.headers.get("User-Agent", "").replace("\0", "")[:MAX_AGENT_LENGTH],
        "address": _address(request),
        "seen_at": timezone.now(),
    }
    with suppress(Error), limit_lock_wait(connection), transaction.atomic():
        Device.objects.filter(session_key=key, user=user).update(**device_fields)
        User.objects.filter(pk=user).update(seen_at=device_fields["seen_at"])
    if not read_device_cookie(request, int(user)):
        response.set_signed_cookie(
            settings.DEVICE_COOKIE_NAME,
            f"{user}:{secrets.token_urlsafe(16)}",
            salt=COOKIE_SALT,
            max_age=COOKIE_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def read_device_cookie(request: HttpRequest, user: int) -> str:
    """Return the device cookie's value if this person has signed in with the browser, else ""."""
    name = settings.DEVICE_COOKIE_NAME
    mark = request.get_signed_cookie(name, "", salt=COOKIE_SALT, max_age=COOKIE_SECONDS)
    return mark if mark and mark.startswith(f"{user}:") else ""


def _address(request: HttpRequest) -> str | None:
    """Return the client's IP address, or None if there is none, as behind a Unix socket."""
    address: str = get_adapter().get_client_ip(request)
    try:
        validate_ipv46_address(address)
    except ValidationError:
        return None
    return address
