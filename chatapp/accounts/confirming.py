"""Whether it is still they: the password, a second factor or the organisation's sign-in, asked for
again before what is dangerous."""

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
RECORDS_KEPT = 3  # of passwords given in a session


def check_own_password(user: User, password: str) -> None:
    """Raises `ValidationError` where it is not theirs, or was guessed at too often."""
    adapter = AccountAdapter()
    if not adapter.reauthenticate(user, password):
        raise adapter.validation_error("incorrect_password")


def is_confirmed(request: HttpRequest) -> bool:
    """Whether the password was given in this session a short while ago, or another way was
    taken."""
    now = time.time()
    return any(
        record.get("method") in WAYS
        and 0 <= now - record.get("at", 0) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
        for record in get_authentication_records(request, request.user)
    )


def confirm(request: HttpRequest, way: str = "password") -> None:
    """Record that the password was given just now, or another way was taken."""
    record_authentication(request, request.user, way, reauthenticated=True)


def ask_to_confirm(back: str) -> HttpResponseRedirect:
    """To the page that asks for the password, and from there to `back`.

    What was posted is dropped: allauth would keep it and do it once the password is given, though
    it may be something that the person has never seen.
    """
    page = reverse("account_reauthenticate")
    return HttpResponseRedirect(f"{page}?{urlencode({REDIRECT_FIELD_NAME: back})}")


@receiver(authentication_step_completed)
def forget_old_records(request: HttpRequest, **_: object) -> None:
    """A session that is used for months keeps those alone that may still count."""
    records = request.session[AUTHENTICATION_METHODS_SESSION_KEY]
    request.session[AUTHENTICATION_METHODS_SESSION_KEY] = records[-RECORDS_KEPT:]
