"""The doctor's check of the organisation's sign-in."""

from collections.abc import Iterator

import pytest
from allauth.socialaccount.models import SocialAccount
from pytest_django import Settings

from chatapp.accounts.identities import build_uid
from chatapp.checks.results import Status
from chatapp.doctor.identities import identities
from chatapp.models import User
from tests.accounts.provider import Provider, running, trust
from tests.doctor import only, statuses

pytestmark = pytest.mark.django_db

OLD = "https://old.example.org"


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    with running() as provider:
        trust(settings, provider)
        yield provider


def add(user: User, issuer: str, subject: str) -> None:
    token = {"iss": issuer, "sub": subject}
    SocialAccount.objects.create(
        user=user, provider="oidc", uid=build_uid(issuer, subject), extra_data={"id_token": token}
    )


def test_without_a_provider_the_check_is_skipped() -> None:
    assert only(identities()).status is Status.SKIPPED


def test_identities_of_the_current_issuer_pass(provider: Provider, alice: User) -> None:
    add(alice, provider.issuer, "1")
    add(alice, provider.issuer, "s" * 190)
    assert statuses(identities()) == {"Provider": Status.OK, "Identities": Status.OK}


def test_people_who_can_no_longer_sign_in_are_counted(
    provider: Provider, alice: User, bob: User, olive: User
) -> None:
    add(alice, OLD, "1")
    add(alice, OLD, "2")
    add(olive, OLD, "3")
    add(olive, provider.issuer, "3")
    SocialAccount.objects.create(user=bob, provider="oidc", uid="4")  # stored without its issuer
    _, result = identities()
    assert result.status is Status.WARNING
    assert "another issuer: 2;" in result.finding
    assert f"{OLD} (2), unknown (1)" in result.finding
    assert "manage.py move_identities" in result.remedy


def test_an_unreachable_provider_fails(provider: Provider) -> None:
    provider.server.server_close()
    result = only(identities())
    assert (result.what, result.status) == ("Provider", Status.FAILED)
