"""Sessions end when nobody has used them for CHATAPP_IDLE_TIMEOUT, and live on while somebody does.

What counts is `expire_date` in the database. It is moved once a tenth of the time has passed, so
that a request seldom writes; a session therefore ends nine to ten tenths of the time after its last
use. No page waits for that: while another program has locked the database, it is left to a later
request.
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

from chatapp.access import devices, sessions
from chatapp.access.session_store import SessionStore
from chatapp.models import User
from chatapp.models.connections import impatient

USED_AT = "used_at"  # in the session: seconds since the epoch
SIGN_IN_SECONDS = 15 * 60  # in which a sign-in that began, as by a passkey, must be completed


class SessionMiddleware(middleware.SessionMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        answer = self._saved(request, response)
        if answer.status_code < 500 and request.session.accessed:
            devices.remember(request, answer)
        return answer

    def _saved(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        session = getattr(request, "session", None)
        if session is not None and session.accessed and response.status_code < 500:
            is_to_be_saved = session.modified
            if is_to_be_saved and SESSION_KEY not in session and not session.is_empty():
                session.set_expiry(SIGN_IN_SECONDS)
            if use(session) and not is_to_be_saved:
                try:
                    with impatient(connection):
                        return super().process_response(request, response)
                except SessionInterrupted:  # which is also what Django makes of a lock
                    session.modified = False
        return super().process_response(request, response)


def use(session: SessionBase) -> bool:
    """Somebody uses the session now; returns whether it is to be saved for that."""
    if SESSION_KEY not in session or _was_just_used(session.get(USED_AT, 0)):
        return False
    session[USED_AT] = int(time.time())
    if not session.get_expire_at_browser_close():
        session.set_expiry(settings.SESSION_COOKIE_AGE)  # it may have been another at the sign-in
    return True


def leave_unused(request: HttpRequest) -> None:
    """A page asks this by itself, however often; its session ends as if it had not."""
    request.session.accessed = False


def used_by(session_key: str) -> User:
    """Who uses it now over a socket, which asks for no page; raises `NotSignedIn`."""
    signed_in = sessions.signed_in(session_key)
    if not _was_just_used(signed_in.data.get(USED_AT, 0)):
        session = SessionStore(session_key)
        if use(session):
            session.save()
    return signed_in.person


def _was_just_used(used_at: int) -> bool:
    return 0 <= int(time.time()) - used_at < settings.SESSION_COOKIE_AGE / 10


def shorten() -> None:
    """Lets no session of before last longer than the setting says today."""
    latest = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE)
    Session.objects.filter(expire_date__gt=latest).update(expire_date=latest)
