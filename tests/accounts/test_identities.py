"""Identities are kept with their issuer."""

from importlib import import_module
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.apps import apps

from chatapp.accounts.identities import uid_of
from chatapp.models import User
from tests.accounts.provider import Provider, come, name_of

pytestmark = pytest.mark.django_db

NEW = "https://new.example.org"
CAROL: dict[str, Any] = {"sub": "1", "preferred_username": "carol"}
migration: Any = import_module("chatapp.migrations.0039_issuers_of_identities")


def test_the_same_subject_of_another_issuer_is_somebody_else(provider: Provider) -> None:
    come(provider, **CAROL)
    provider.issuer = NEW
    client = come(provider, sub="1", preferred_username="mallory")
    assert name_of(client) == "mallory"
    assert SocialAccount.objects.count() == 2


@pytest.mark.parametrize("said", [None, "", 7, ["https://a.example.org"], "https://a b"])
def test_a_provider_that_names_no_issuer_signs_nobody_in(provider: Provider, said: Any) -> None:
    provider.issuer = said
    provider.token_says = {"iss": "https://a.example.org"}
    assert "_auth_user_id" not in come(provider, **CAROL).session


def test_a_long_subject_is_known_again(provider: Provider) -> None:
    long: dict[str, Any] = {"sub": "s" * 190, "preferred_username": "carol"}
    assert name_of(come(provider, **long)) == name_of(come(provider, **long)) == "carol"
    assert User.objects.count() == 2  # olive is the other


def test_identities_of_before_get_their_issuer(provider: Provider, alice: User) -> None:
    come(provider, **CAROL)
    SocialAccount.objects.update(uid="1")  # as it was
    nameless = SocialAccount.objects.create(user=alice, provider="oidc", uid="2")
    other = {"id_token": {"iss": NEW, "sub": "4"}}
    strange = SocialAccount.objects.create(user=alice, provider="oidc", uid="3", extra_data=other)
    migration.add_issuers(apps, None)
    assert name_of(come(provider, **CAROL)) == "carol"
    for identity in (nameless, strange):
        before = identity.uid
        identity.refresh_from_db()
        assert identity.uid == before
    assert name_of(come(provider, sub="2", preferred_username="mallory")) == "mallory"
    migration.drop_issuers(apps, None)
    uids = SocialAccount.objects.order_by("pk").values_list("uid", flat=True)
    assert list(uids) == ["1", "2", "3", uid_of(provider.url, "2")]  # one "2" there may be


def test_the_migration_makes_the_keys_that_are_looked_for() -> None:
    for subject in ("1", "s" * 300):
        assert migration.uid_of({"iss": NEW, "sub": subject}) == uid_of(NEW, subject)
