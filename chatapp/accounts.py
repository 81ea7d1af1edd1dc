"""How accounts come to be, how people sign in, and when they must show again that it is they.

The first account comes by the setup link, all others by an administrator.
"""

import time
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import (
    AUTHENTICATION_METHODS_SESSION_KEY,
    get_authentication_records,
)
from allauth.account.forms import ChangePasswordForm as AllauthChangePasswordForm
from allauth.account.internal.flows.login import record_authentication
from allauth.account.signals import authentication_step_completed
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.backends import ModelBackend
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from chatapp.models import User
from chatapp.passwords import ADVICE

MISMATCH = (
    "This name and this password don't open an account. Check both; an administrator can give you "
    "a new password, or switch the account on where it is off."
)
RECORDS_KEPT = 3  # of passwords given in a session
PATIENCE = "There were too many attempts. Wait five minutes, then try again."


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": MISMATCH,
        "email_password_mismatch": MISMATCH,
        "too_many_login_attempts": PATIENCE,
        "incorrect_password": "This is not your password. Try again.",
        "enter_current_password": "This is not your password. Try again.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address as it is where the server listens on IPv4 too: not one of `::ffff:0:0/96`,
        all of which would be taken for one network."""
        text: str = super().get_client_ip(request)
        address = ip_address(text)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return str(mapped or address)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """What failed attempts are counted by: the account, by whichever of its names it is tried;
        never the Host, which whoever tries may choose."""
        login = credentials.get("username") or credentials.get("email") or ""
        user = User.by_login(login)
        return f"account:{user.pk}" if user else f"nobody:{login.casefold()}"


class Backend(ModelBackend):
    """A username or an e-mail address, and a password.

    One hash is worked out for every attempt, so that the time tells nothing: not whether there is
    such an account, nor whether it is switched off.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        email: str | None = None,
        **_credentials: Any,
    ) -> User | None:
        if password is None:
            return None
        user = User.by_login(username or email or "")
        if user is None:
            User().set_password(password)
            return None
        is_right = user.check_password(password)
        return user if is_right and self.user_can_authenticate(user) else None


class ChangePasswordForm(AllauthChangePasswordForm):  # type: ignore[misc]
    """Guesses of the old password are counted as those at the sign-in are."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["password1"].help_text = ADVICE

    def clean_oldpassword(self) -> str:
        password: str = self.cleaned_data["oldpassword"]
        check_own_password(self.user, password)
        return password


def check_own_password(user: User, password: str) -> None:
    """Raises `ValidationError` where it is not theirs, or was guessed at too often."""
    adapter = AccountAdapter()
    if not adapter.reauthenticate(user, password):
        raise adapter.validation_error("incorrect_password")


def is_confirmed(request: HttpRequest) -> bool:
    """Whether the password was given in this session a short while ago."""
    now = time.time()
    return any(
        record.get("method") == "password"
        and 0 <= now - record.get("at", 0) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
        for record in get_authentication_records(request, request.user)
    )


def confirm(request: HttpRequest) -> None:
    """The password was given just now."""
    record_authentication(request, request.user, "password", reauthenticated=True)


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


def setup_token() -> str | None:
    """The secret of the setup link; None as soon as there is an account, which ends the link."""
    if User.objects.exists():
        return None
    return salted_hmac("chatapp.setup", settings.SECRET_KEY, algorithm="sha256").hexdigest()[:32]


def is_setup_token(token: str) -> bool:
    expected = setup_token()
    return expected is not None and constant_time_compare(token, expected)
