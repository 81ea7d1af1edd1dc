"""An OpenID Connect provider that this server trusts."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from chatapp.models import User
from tests.accounts.provider import Provider, running, trust


@pytest.fixture
def provider(db: None, settings: Settings) -> Iterator[Provider]:
    with running() as provider:
        trust(settings, provider)
        settings.CHATAPP_OIDC_GROUPS_CLAIM = "groups"
        User.objects.create_superuser("olive")  # so that the server counts as set up
        yield provider
