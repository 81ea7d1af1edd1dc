"""Ends sessions that have been unused for CHATAPP_IDLE_TIMEOUT and extends those in use.

`expire_date` in the database decides. It is moved only when a tenth of the timeout has passed, so
that few requests write; a session therefore ends 90 to 100 % of the timeout after its last use. No
page waits for that write: while another program has locked the database, a later request does it.
"""

import time
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions import middleware
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from chatapp.db.connections import limit_lock_wait
from chatapp.models import User
from chatapp.sessions import devices, validity
from chatapp.sessions.session_store import SessionStore

USED_AT = "used_at"  # in the session: seconds since the epoch
SIGN_IN_SECONDS = 15 * 60  # to complete a sign-in that has several steps


class SessionMiddleware(middleware.SessionMiddleware):
    """Django's session middleware, which also extends sessions in use and records devices."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = self._save(request, response)
        if response.status_code < 500 and request.session.accessed:
            devices.record_device(request, response)
        return response

    def _save(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        session = getattr(request, "session", None)
        if session is not None and session.accessed and response.status_code < 500:
            is_to_be_saved = session.modified
            if is_to_be_saved and SESSION_KEY not in session and not session.is_empty():
                session.set_expiry(SIGN_IN_SECONDS)
            if extend_session(session) and not is_to_be_saved:
                try:
                    with limit_lock_wait(connection):
                        return super().process_response(request, response)
                except SessionInterrupted:  # Django also raises this for a lock
                    session.modified = False
        return super().process_response(request, response)


def extend_session(session: SessionBase) -> bool:
    """Extend a session that is being used; return whether it has to be saved."""
    if SESSION_KEY not in session or _was_just_used(session.get(USED_AT, 0)):
        return False
    session[USED_AT] = int(time.time())
    if not session.get_expire_at_browser_close():
        session.set_expiry(settings.SESSION_COOKIE_AGE)  # may differ from sign-in
    return True


def ignore_request(request: HttpRequest) -> None:
    """Do not count this request, which a page sends by itself, as use of its session."""
    request.session.accessed = False


def use_session(session_key: str) -> User:
    """Return the person using a session over a socket, and extend the session.

    Raises `NotSignedIn`.
    """
    signed_in = validity.require_sign_in(session_key)
    if not _was_just_used(signed_in.data.get(USED_AT, 0)):
        session = SessionStore(session_key)
        if extend_session(session):
            session.save()
    return signed_in.person


def _was_just_used(used_at: int) -> bool:
    return 0 <= int(time.time()) - used_at < settings.SESSION_COOKIE_AGE / 10


def shorten_sessions() -> None:
    """Shorten existing sessions to what the setting allows now."""
    latest = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE)
    Session.objects.filter(expire_date__gt=latest).update(expire_date=latest)
