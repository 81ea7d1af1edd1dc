"""An upstream that is never called, and a conversation of Carol's that is still empty."""

import pytest

from chatapp.models import Conversation, Upstream, User


@pytest.fixture
def gateway(db: None) -> Upstream:
    return Upstream.objects.create(
        name="Gateway", base_url="http://gw/v1", api_key="sk-very-secret"
    )


@pytest.fixture
def carol(db: None) -> User:
    return User.objects.create_user("carol")


@pytest.fixture
def conversation(carol: User) -> Conversation:
    return carol.conversations.create(title="Sky")
