"""Identities are stored with their issuer."""

from importlib import import_module
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.apps import apps

from chatapp.accounts.identities import build_uid
from chatapp.models import User
from tests.accounts.provider import Provider, get_signed_in_name, sign_in

pytestmark = pytest.mark.django_db

NEW = "https://new.example.org"
CAROL: dict[str, Any] = {"sub": "1", "preferred_username": "carol"}
migration: Any = import_module("chatapp.migrations.0039_issuers_of_identities")


def test_the_same_subject_of_another_issuer_is_a_different_person(provider: Provider) -> None:
    sign_in(provider, **CAROL)
    provider.issuer = NEW
    client = sign_in(provider, sub="1", preferred_username="mallory")
    assert get_signed_in_name(client) == "mallory"
    assert SocialAccount.objects.count() == 2


@pytest.mark.parametrize("issuer", [None, "", 7, ["https://a.example.org"], "https://a b"])
def test_a_provider_that_names_no_issuer_signs_nobody_in(provider: Provider, issuer: Any) -> None:
    provider.issuer = issuer
    provider.token_claims = {"iss": "https://a.example.org"}
    assert "_auth_user_id" not in sign_in(provider, **CAROL).session


def test_a_long_subject_is_recognised_again(provider: Provider) -> None:
    long: dict[str, Any] = {"sub": "s" * 190, "preferred_username": "carol"}
    assert (
        get_signed_in_name(sign_in(provider, **long))
        == get_signed_in_name(sign_in(provider, **long))
        == "carol"
    )
    assert User.objects.count() == 2  # olive is the other


def test_the_migration_adds_issuers_to_older_identities(provider: Provider, alice: User) -> None:
    sign_in(provider, **CAROL)
    SocialAccount.objects.update(uid="1")  # as version 0.4 stored it
    nameless = SocialAccount.objects.create(user=alice, provider="oidc", uid="2")
    other = {"id_token": {"iss": NEW, "sub": "4"}}
    foreign = SocialAccount.objects.create(user=alice, provider="oidc", uid="3", extra_data=other)
    migration.add_issuers(apps, None)
    assert get_signed_in_name(sign_in(provider, **CAROL)) == "carol"
    for identity in (nameless, foreign):
        before = identity.uid
        identity.refresh_from_db()
        assert identity.uid == before
    assert get_signed_in_name(sign_in(provider, sub="2", preferred_username="mallory")) == "mallory"
    migration.drop_issuers(apps, None)
    uids = SocialAccount.objects.order_by("pk").values_list("uid", flat=True)
    assert list(uids) == ["1", "2", "3", build_uid(provider.url, "2")]  # "2" can exist only once


def test_the_migration_creates_the_keys_that_are_looked_up() -> None:
    for subject in ("1", "s" * 300):
        assert migration.uid_of({"iss": NEW, "sub": subject}) == build_uid(NEW, subject)
