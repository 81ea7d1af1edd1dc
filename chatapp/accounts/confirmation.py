"""Confirming identity before sensitive changes: by the password, a second factor or the
organisation's sign-in. Lasts `ACCOUNT_REAUTHENTICATION_TIMEOUT` seconds within a session."""

import time
from urllib.parse import urlencode

from allauth.account.authentication import (
    AUTHENTICATION_METHODS_SESSION_KEY,
    get_authentication_records,
)
from allauth.account.internal.flows.login import record_authentication
from allauth.account.signals import authentication_step_completed
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from chatapp.accounts.adapter import AccountAdapter
from chatapp.models import User

# allauth's "socialaccount" does not count: the provider's session may have signed in silently.
ORGANISATION = "organisation"
WAYS = ("password", "mfa", ORGANISATION)
RECORDS_KEPT = 3  # the newest authentication records of a session


def check_own_password(user: User, password: str) -> None:
    """Raise `ValidationError` if the password is wrong or there were too many attempts."""
    adapter = AccountAdapter()
    if not adapter.reauthenticate(user, password):
        raise adapter.validation_error("incorrect_password")


def is_confirmed(request: HttpRequest) -> bool:
    """Return whether the person confirmed their identity recently in this session."""
    now = time.time()
    return any(
        record.get("method") in WAYS
        and 0 <= now - record.get("at", 0) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
        for record in get_authentication_records(request, request.user)
    )


def confirm(request: HttpRequest, way: str = "password") -> None:
    """Record that the person has just confirmed their identity; `way` is one of `WAYS`."""
    record_authentication(request, request.user, way, reauthenticated=True)


def ask_to_confirm(back: str) -> HttpResponseRedirect:
    """Redirect to the page that asks for the password, which then leads to `back`.

    The posted data is dropped. allauth would keep it and replay it after the password is entered,
    though it may be a request the person has never seen.
    """
    page = reverse("account_reauthenticate")
    return HttpResponseRedirect(f"{page}?{urlencode({REDIRECT_FIELD_NAME: back})}")


@receiver(authentication_step_completed)
def forget_old_records(request: HttpRequest, **_: object) -> None:
    """Keep only the newest records, so that a session used for months does not grow."""
    records = request.session[AUTHENTICATION_METHODS_SESSION_KEY]
    request.session[AUTHENTICATION_METHODS_SESSION_KEY] = records[-RECORDS_KEPT:]
