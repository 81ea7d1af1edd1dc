"""Identities: who people are at the organisation's sign-in, each kept with its issuer.

A subject is unique within its issuer alone (OpenID Connect Core, 2). So the key of an identity
names both, and the same subject of another issuer never finds it.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from chatapp.models import User

PROVIDER = "oidc"
LONGEST_UID = 191  # of allauth's column
UNUSABLE = (AttributeError, OSError, ValueError)
"""What asking a provider for its issuer may raise: it is away, or what it says is no discovery."""


def uid_of(issuer: str, subject: str) -> str:
    """Return the key of an identity; no issuer has a space."""
    uid = f"{issuer} {subject}"
    return uid if len(uid) <= LONGEST_UID else sha256(uid.encode()).hexdigest()


def configured_issuer(adapter: OpenIDConnectOAuth2Adapter | None = None) -> str:
    """Ask the provider for the issuer that its tokens name. Raises one of `UNUSABLE`."""
    adapter = adapter or OpenIDConnectOAuth2Adapter(None, PROVIDER)
    issuer = adapter.openid_config.get("issuer")
    if not isinstance(issuer, str) or not issuer or " " in issuer:
        raise ValueError("The discovery document names no issuer.")
    return issuer


def identities_of(user: User | AnonymousUser) -> QuerySet[SocialAccount]:
    found: QuerySet[SocialAccount] = SocialAccount.objects.filter(user=user.pk, provider=PROVIDER)
    return found


def documents_of(identity: SocialAccount) -> list[Mapping[str, Any]]:
    """Its ID token and its userinfo, as far as both are there."""
    documents = [identity.extra_data.get(name) for name in ("id_token", "userinfo")]
    return [one for one in documents if isinstance(one, dict)]
