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

from chatapp.accounts.identities import PROVIDER, get_claim_documents, verified_address
from chatapp.accounts.links import sends_mail
from chatapp.models import ClaimedGroup, Installation, User, audit

MAX_GROUPS = 500
MAX_NAME_LENGTH = 150


class OrganisationAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return Installation.load().signup != Installation.SignUp.CLOSED

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        claims = _claims(sociallogin)
        if not sociallogin.is_existing:
            address = verified_address(sociallogin.account)
            existing_user = User.find_by_address(address)
            if existing_user and not existing_user.is_active:
                raise ImmediateHttpResponse(redirect("account_inactive"))
            if existing_user and sends_mail():
                with transaction.atomic():
                    sociallogin.connect(request, existing_user)
                    audit.record("identity.joined", actor=existing_user, about=existing_user)
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
        account.uid, account.extra_data = (
            _replace_nul(account.uid),
            _replace_nul(account.extra_data),
        )
        texts = {name: value for name, value in data.items() if isinstance(value, str)}
        person: User = super().populate_user(request, sociallogin, texts)
        for name in ("username", "first_name", "last_name"):
            value = (getattr(person, name) or "").replace("\0", "")
            if name == "username":  # a name must not match somebody's email address
                value = value.partition("@")[0]
            setattr(person, name, value[:MAX_NAME_LENGTH])
        return person


def _replace_nul(value: Any) -> Any:
    """Replace NUL, which PostgreSQL stores in no text, at any depth of a JSON value."""
    match value:
        case str():
            return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        case list():
            return [_replace_nul(element) for element in value]
        case dict():
            return {_replace_nul(name): _replace_nul(element) for name, element in value.items()}
    return value


def _claims(sociallogin: SocialLogin) -> Mapping[str, Any]:
    return {
        name: value
        for document in get_claim_documents(sociallogin.account)
        for name, value in document.items()
    }


def _claim_groups(person: User, claims: Mapping[str, Any]) -> None:
    """Set the person's claimed groups; change nothing without a configured and sent claim."""
    claim = settings.CHATAPP_OIDC_GROUPS_CLAIM
    names = claims.get(claim) if claim else None
    if isinstance(names, list):
        ClaimedGroup.claim(person, [str(name) for name in names[:MAX_GROUPS]])
