"""Signs people in without pages, by storing what the pages would store."""

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.http import HttpRequest, HttpResponse
from django.test import Client

from chatapp.accounts.confirmation import confirm
from chatapp.models import User
from chatapp.sessions import devices
from chatapp.sessions.session_store import SessionStore


def sign_in(client: Client, user: User, *, confirmed: bool = False) -> None:
    """Give the client a session of this person, who may have just entered the password.

    The audit log does not get an event.
    """
    request = HttpRequest()
    request.user, request.session = user, SessionStore()
    request.session[SESSION_KEY] = str(user.pk)
    request.session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    request.session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    if confirmed:
        confirm(request)
    request.session.save()
    assert request.session.session_key
    client.cookies[settings.SESSION_COOKIE_NAME] = request.session.session_key


def confirm_password(client: Client) -> None:
    """Record in the client's session that the password has just been entered."""
    request = _request(client)
    confirm(request)
    request.session.save()


def remember_browser(client: Client) -> None:
    """Store what the first request of a session stores, so that later ones change nothing."""
    request, response = _request(client), HttpResponse()
    request.META["REMOTE_ADDR"] = "127.0.0.1"
    devices.record_device(request, response)
    client.cookies.update(response.cookies)


def _request(client: Client) -> HttpRequest:
    request = HttpRequest()
    request.session = client.session
    request.user = get_user(request)
    return request
