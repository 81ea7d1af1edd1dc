"""How allauth signs people in here."""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.ratelimit import consume
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from chatapp.accounts.identities import PROVIDER, identities_of
from chatapp.models import User, audit
from chatapp.sessions import devices

ANYWHERE = "login_failed_anywhere"

MISMATCH = (
    "This name and this password don't open an account. Check both; an administrator can give you "
    "a new password, or switch the account on where it is off."
)
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

    def login(self, request: HttpRequest, user: User) -> None:
        """By the path that the settings name, since sessions keep it: allauth's own, for who
        comes by a second factor or a passkey, is another for the same class."""
        user.backend = settings.AUTHENTICATION_BACKENDS[0]
        with transaction.atomic():  # with the event of it, or not at all
            super().login(request, user)

    def get_reauthentication_methods(self, user: User) -> list[dict[str, str]]:
        """Also the organisation's sign-in, by which some people have no password here."""
        methods: list[dict[str, str]] = super().get_reauthentication_methods(user)
        if settings.CHATAPP_OIDC_URL and identities_of(user).exists():
            url = reverse("organisation_reauthenticate")
            words = f"Confirm by {settings.CHATAPP_OIDC_NAME}"
            methods.append({"id": PROVIDER, "url": url, "description": words})
        return methods

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address as it is where the server listens on IPv4 too: not one of `::ffff:0:0/96`,
        all of which would be taken for one network."""
        text: str = super().get_client_ip(request)
        address = ip_address(text)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return str(mapped or address)

    def logout(self, request: HttpRequest) -> None:
        with transaction.atomic():
            super().logout(request)

    def set_password(self, user: User, password: str) -> None:
        """Of who changes or resets their own; hashing it takes a while, and nobody waits for it."""
        user.set_password(password)
        with transaction.atomic():
            user.save()
            is_signed_in = isinstance(self.request.user, User)
            actor = self.request.user if is_signed_in else user
            audit.record("password.changed", actor=actor, about=user)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse an unknown browser if the account was tried too often, from whatever addresses."""
        account, tried_by = _tried(request, credentials)
        if not tried_by and not consume(request, action=ANYWHERE, key=account, dry_run=True):
            raise self.validation_error("too_many_login_attempts")
        super().pre_authenticate(request, **credentials)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        account, tried_by = _tried(request, credentials)
        if not tried_by:
            consume(request, action=ANYWHERE, key=account)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """What failures are counted by: the account, whatever name it is tried by, and who tries;
        never the Host, which anyone who tries may choose."""
        account, tried_by = _tried(request, credentials)
        return f"{account}:{tried_by or self.get_client_ip(request)}"


def _tried(request: HttpRequest, credentials: Mapping[str, Any]) -> tuple[str, str]:
    """The account, and its owner's session or browser that tries it; "" if it is neither."""
    login = credentials.get("username") or credentials.get("email") or ""
    user = User.by_login(login)
    if user is None:
        return f"nobody:{login.casefold()}", ""
    is_signed_in = request.user == user
    return f"account:{user.pk}", "signed in" if is_signed_in else devices.mark_of(request, user.pk)
