"""`manage.py move_identities`, after the provider has moved."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.core.management import CommandError, call_command
from pytest_django import Settings

from chatapp.models import AuditEvent, User
from tests.accounts.provider import Provider, get_signed_in_name, running, sign_in, trust

pytestmark = pytest.mark.django_db

NEW = "https://new.example.org"
CAROL: dict[str, Any] = {"sub": "1", "preferred_username": "carol"}


@pytest.fixture
def provider(olive: User, settings: Settings) -> Iterator[Provider]:
    with running() as provider:
        trust(settings, provider)
        yield provider


def move(issuer: str) -> str:
    out = StringIO()
    call_command("move_identities", issuer, stdout=out)
    return out.getvalue()


def test_moving_identities_keeps_the_accounts_of_a_moved_provider(
    provider: Provider, alice: User
) -> None:
    sign_in(provider, **CAROL)
    SocialAccount.objects.create(user=alice, provider="oidc", uid="2")
    old, provider.issuer = provider.issuer, NEW
    assert ": 0." in move("https://another.example.org")
    assert f"moved to {NEW}: 1." in move(old)
    assert get_signed_in_name(sign_in(provider, **CAROL)) == "carol"
    assert ": 1." in move("unknown")
    assert get_signed_in_name(sign_in(provider, sub="2")) == "alice"
    assert AuditEvent.objects.filter(action="identities.moved").count() == 2


def test_an_identity_is_not_moved_if_its_subject_has_another_account(provider: Provider) -> None:
    sign_in(provider, **CAROL)
    old, provider.issuer = provider.issuer, NEW
    sign_in(provider, sub="1", preferred_username="mallory")
    with pytest.raises(CommandError, match="1 were not moved"):
        move(old)
    assert get_signed_in_name(sign_in(provider, sub="1")) == "mallory"


def test_nothing_is_moved_while_the_provider_is_unreachable(provider: Provider) -> None:
    provider.server.server_close()
    with pytest.raises(CommandError, match="nothing was moved"):
        move(NEW)
