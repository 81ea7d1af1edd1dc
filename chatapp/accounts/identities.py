"""Identities: people's accounts at the organisation's OpenID Connect provider.

A subject is unique only within its issuer (OpenID Connect Core, 2). So an identity's key contains
both, and the same subject of another issuer never matches it.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from chatapp.accounts.links import sends_mail
from chatapp.models import User, audit
from chatapp.models.accounts.users import address_key

PROVIDER = "oidc"
UNKNOWN = "unknown"  # the issuer of identities stored without one
MAX_UID_LENGTH = 191  # the length of allauth's column
UNUSABLE = (AttributeError, OSError, ValueError)
"""What `configured_issuer` raises if the provider is unreachable or its discovery is invalid."""


def build_uid(issuer: str, subject: str) -> str:
    """Return an identity's key, which is unambiguous since no issuer contains a space."""
    uid = f"{issuer} {subject}"
    return uid if len(uid) <= MAX_UID_LENGTH else sha256(uid.encode()).hexdigest()


def configured_issuer(adapter: OpenIDConnectOAuth2Adapter | None = None) -> str:
    """Return the issuer from the provider's discovery document. Raises one of `UNUSABLE`."""
    adapter = adapter or OpenIDConnectOAuth2Adapter(None, PROVIDER)
    issuer = adapter.openid_config.get("issuer")
    if not isinstance(issuer, str) or not issuer or " " in issuer:
        raise ValueError("The discovery document names no issuer.")
    return issuer


def get_identities(user: User | AnonymousUser) -> QuerySet[SocialAccount]:
    identities: QuerySet[SocialAccount] = SocialAccount.objects.filter(
        user=user.pk, provider=PROVIDER
    )
    return identities


def matches_issuer(issuer: str, identity: SocialAccount) -> bool:
    """Return whether the identity can sign in while `issuer` is the configured one."""
    return bool(identity.uid == build_uid(issuer, _get_subject(identity)))


def get_claim_documents(identity: SocialAccount) -> list[Mapping[str, Any]]:
    """Return the stored claims: the ID token's and the userinfo's, if present."""
    documents = [identity.extra_data.get(name) for name in ("id_token", "userinfo")]
    return [document for document in documents if isinstance(document, dict)]


def verified_address(identity: SocialAccount) -> str:
    """Return the address that one document has and says is verified, or ""."""
    documents = reversed(get_claim_documents(identity))
    document: Mapping[str, Any] = next(
        (candidate for candidate in documents if "email" in candidate), {}
    )
    address = document.get("email")
    if not isinstance(address, str) or document.get("email_verified") is not True:
        return ""
    try:
        User(username="x", email=address).clean_fields(exclude={"username", "password"})
    except ValidationError:
        return ""
    return address


def with_confirmed_address(people: Iterable[User]) -> set[int]:
    """Return the keys of those who have shown that their email address is theirs.

    If the server sends email, an address is set once its link is opened. Otherwise people may have
    typed somebody else's, and only the organisation's provider can confirm it.
    """
    keys = {person.pk: address_key(person.email) for person in people}
    if sends_mail():
        return set(keys)
    identities = SocialAccount.objects.filter(provider=PROVIDER, user__in=list(keys))
    addresses = ((identity.user_id, verified_address(identity)) for identity in identities)
    return {pk for pk, address in addresses if address_key(address) == keys[pk]}


def stored_issuer(identity: SocialAccount) -> str:
    return str(_get_token(identity).get("iss") or UNKNOWN)


def move(old: str, new: str) -> tuple[int, int]:
    """Move identities from the issuer `old` to `new`.

    Return how many were moved, and how many were left because the same subject has already signed
    in at `new`.
    """
    moved = left = 0
    with transaction.atomic():
        for identity in list(SocialAccount.objects.filter(provider=PROVIDER)):
            if matches_issuer(new, identity) or stored_issuer(identity) != old:
                continue
            uid = build_uid(new, _get_subject(identity))
            if SocialAccount.objects.filter(provider=PROVIDER, uid=uid).exists():
                left += 1
            else:
                SocialAccount.objects.filter(pk=identity.pk).update(uid=uid)
                moved += 1
        if moved:
            detail = {"from": old, "to": new, "moved": moved}
            audit.record("identities.moved", actor=None, detail=detail)
    return moved, left


def _get_subject(identity: SocialAccount) -> str:
    """Return the subject from the last token, or the key, which was the subject in 0.4."""
    return str(_get_token(identity).get("sub") or identity.uid)


def _get_token(identity: SocialAccount) -> Mapping[str, Any]:
    token = identity.extra_data.get("id_token")
    return token if isinstance(token, dict) else {}
