"""Accounts of people who sign in at the organisation's OpenID Connect provider (`CHATAPP_OIDC_…`).

Everyone it signs in gets an account, unless nobody may join. If an account already has the verified
address that the provider names, they get that one, but only if this server sends email: otherwise
addresses are unconfirmed, and an attacker could create an account with somebody else's address and
wait for them. The groups claim adds people to the groups of the same names, and removes them again.
"""

from collections.abc import Mapping
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import redirect

from chatapp.accounts.identities import PROVIDER, documents_of, verified_address
from chatapp.accounts.links import sends_mail
from chatapp.models import ClaimedGroup, Installation, User, audit

MAX_GROUPS = 500
MAX_NAME_LENGTH = 150


class OrganisationAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return Installation.this().signup != Installation.SignUp.CLOSED

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        claims = _claims(sociallogin)
        if not sociallogin.is_existing:
            address = verified_address(sociallogin.account)
            known = User.by_address(address)
            if known and not known.is_active:
                raise ImmediateHttpResponse(redirect("account_inactive"))
            if known and sends_mail():
                with transaction.atomic():
                    sociallogin.connect(request, known)
                    audit.record("identity.joined", actor=known, about=known)
            else:
                is_taken = User.objects.filter(email__iexact=address).exists()
                sociallogin.user.email = "" if is_taken else address
        sociallogin.email_addresses = []  # an account here has only `User.email`
        if sociallogin.is_existing:
            _claim_groups(sociallogin.user, claims)

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        with transaction.atomic():
            person: User = super().save_user(request, sociallogin, form)
            _claim_groups(person, _claims(sociallogin))
            audit.record("person.joined", actor=person, about=person, detail={"by": PROVIDER})
        return person

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: Any) -> User:
        account = sociallogin.account  # not stored or looked up yet
        account.uid, account.extra_data = _storable(account.uid), _storable(account.extra_data)
        texts = {name: value for name, value in data.items() if isinstance(value, str)}
        person: User = super().populate_user(request, sociallogin, texts)
        for name in ("username", "first_name", "last_name"):
            value = (getattr(person, name) or "").replace("\0", "")
            if name == "username":  # a name must not match somebody's email address
                value = value.partition("@")[0]
            setattr(person, name, value[:MAX_NAME_LENGTH])
        return person


def _storable(value: Any) -> Any:
    """Replace NUL, which PostgreSQL stores in no text, at any depth of a JSON value."""
    match value:
        case str():
            return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        case list():
            return [_storable(one) for one in value]
        case dict():
            return {_storable(name): _storable(one) for name, one in value.items()}
    return value


def _claims(sociallogin: SocialLogin) -> Mapping[str, Any]:
    return {name: value for one in documents_of(sociallogin.account) for name, value in one.items()}


def _claim_groups(person: User, claims: Mapping[str, Any]) -> None:
    """Set the person's claimed groups; change nothing without a configured and sent claim."""
    claim = settings.CHATAPP_OIDC_GROUPS_CLAIM
    names = claims.get(claim) if claim else None
    if isinstance(names, list):
        ClaimedGroup.claim(person, [str(name) for name in names[:MAX_GROUPS]])
