"""Adapter for allauth's sign-in: sessions, reauthentication, rate limits and error messages."""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.ratelimit import consume
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from chatapp.accounts.identities import PROVIDER, get_identities
from chatapp.models import User, audit
from chatapp.sessions import devices

LOGIN_FAILED_ANYWHERE = "login_failed_anywhere"

MISMATCH = (
    "Wrong username or password. An administrator can give you a new password, or reactivate your "
    "account if it is deactivated."
)
TOO_MANY_ATTEMPTS = "Too many attempts. Wait five minutes, then try again."


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": MISMATCH,
        "email_password_mismatch": MISMATCH,
        "too_many_login_attempts": TOO_MANY_ATTEMPTS,
        "incorrect_password": "Wrong password. Try again.",
        "enter_current_password": "Wrong password. Try again.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def login(self, request: HttpRequest, user: User) -> None:
        """Sign in with the backend path from the settings, which the session stores.

        For a second factor or a passkey, allauth would store another path to the same class.
        """
        user.backend = settings.AUTHENTICATION_BACKENDS[0]
        with transaction.atomic():  # roll back the sign-in if its audit event fails
            super().login(request, user)

    def get_reauthentication_methods(self, user: User) -> list[dict[str, str]]:
        """Add the organisation's sign-in: people who use it may have no password here."""
        methods: list[dict[str, str]] = super().get_reauthentication_methods(user)
        if settings.CHATAPP_OIDC_URL and get_identities(user).exists():
            url = reverse("organisation_reauthenticate")
            description = f"Confirm with {settings.CHATAPP_OIDC_NAME}"
            methods.append({"id": PROVIDER, "url": url, "description": description})
        return methods

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the client's address, with IPv4-mapped IPv6 addresses as IPv4.

        Rate limits would otherwise treat all of `::ffff:0:0/96` as one network.
        """
        text: str = super().get_client_ip(request)
        address = ip_address(text)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return str(mapped or address)

    def logout(self, request: HttpRequest) -> None:
        with transaction.atomic():
            super().logout(request)

    def set_password(self, user: User, password: str) -> None:
        """Set a changed or reset password; hash it outside the transaction, since that is slow."""
        user.set_password(password)
        with transaction.atomic():
            user.save()
            is_signed_in = isinstance(self.request.user, User)
            actor = self.request.user if is_signed_in else user
            audit.record("password.changed", actor=actor, about=user)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse an unknown browser after too many attempts on the account from any addresses."""
        account, owners_client = _identify_attempt(request, credentials)
        if not owners_client and not consume(
            request, action=LOGIN_FAILED_ANYWHERE, key=account, dry_run=True
        ):
            raise self.validation_error("too_many_login_attempts")
        super().pre_authenticate(request, **credentials)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        account, owners_client = _identify_attempt(request, credentials)
        if not owners_client:
            consume(request, action=LOGIN_FAILED_ANYWHERE, key=account)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count failures per account, whichever name was typed, and per client.

        Never per Host header, which an attacker can choose.
        """
        account, owners_client = _identify_attempt(request, credentials)
        return f"{account}:{owners_client or self.get_client_ip(request)}"


def _identify_attempt(request: HttpRequest, credentials: Mapping[str, Any]) -> tuple[str, str]:
    """Return the account's key, and its owner's session or known browser ("" if neither)."""
    login = credentials.get("username") or credentials.get("email") or ""
    user = User.find_by_login(login)
    if user is None:
        return f"nobody:{login.casefold()}", ""
    is_signed_in = request.user == user
    return f"account:{user.pk}", "signed in" if is_signed_in else devices.read_device_cookie(
        request, user.pk
    )
