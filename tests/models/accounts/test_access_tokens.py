"""Personal access tokens: what is stored of them, and until when they are found."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chatapp.models import AccessToken, Refused, User
from chatapp.models.accounts import access_tokens
from tests.support.clock import Step

pytestmark = pytest.mark.django_db


def test_only_a_hash_of_a_token_is_stored(alice: User) -> None:
    token, secret = AccessToken.issue(alice, "laptop", ["chat"], None)
    [row] = AccessToken.objects.values_list()
    assert not any(secret in str(value) or secret[8:] in str(value) for value in row)
    assert secret.endswith(token.last_characters)
    same_token = AccessToken.find(secret)
    assert same_token == token
    assert same_token.user == alice


@pytest.mark.parametrize("secret", ["", "chatapp_", "chatapp_\0", "x" * 100_000, "\ud800"])
def test_other_secrets_find_nothing(alice: User, secret: str) -> None:
    AccessToken.issue(alice, "laptop", ["chat"], None)
    assert AccessToken.find(secret) is None


def test_a_token_is_not_found_once_it_has_expired_or_its_person_is_deactivated(
    alice: User, clock: Step
) -> None:
    tomorrow = timezone.now() + timedelta(days=1)
    token, secret = AccessToken.issue(alice, "laptop", ["chat"], tomorrow)
    _, other = AccessToken.issue(alice, "server", ["chat"], None)
    assert AccessToken.find(secret) == token
    clock(86401)
    assert AccessToken.find(secret) is None
    assert AccessToken.find(other)
    User.objects.update(is_active=False)
    assert AccessToken.find(other) is None


def test_the_last_use_is_stored_once_a_minute(alice: User, clock: Step) -> None:
    token, secret = AccessToken.issue(alice, "laptop", ["chat"], None)
    uses = set()
    for _ in range(4):
        same_token = AccessToken.find(secret)
        assert same_token
        same_token.note_use()
        token.refresh_from_db()
        uses.add(token.last_used_at)
        clock(40)
    assert len(uses) == 2


def test_a_person_has_only_so_many_tokens(alice: User, bob: User) -> None:
    for number in range(access_tokens.MAX_TOKENS):
        AccessToken.issue(alice, str(number), ["chat"], None)
    with pytest.raises(Refused, match="Revoke one"):
        AccessToken.issue(alice, "one more", ["chat"], None)
    AccessToken.issue(bob, "first", ["chat"], None)
