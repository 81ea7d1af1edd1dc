"""An administrator's browsers, and an upstream that is not connected."""

import pytest
from django.test import AsyncClient, Client

from chatapp.models import Upstream, User
from tests.conftest import signed_in


@pytest.fixture
def olives(olives: Client, generations_end: None, connections_close: None) -> AsyncClient:
    """Olive's browser, on the test's event loop."""
    client = AsyncClient(headers={"host": "localhost"})
    client.cookies = olives.cookies
    return client


@pytest.fixture
def desk(olive: User) -> Client:
    return signed_in(olive, confirmed=True)


@pytest.fixture
def team() -> Upstream:
    return Upstream.objects.create(name="Team", base_url="http://127.0.0.1:9/v1", api_key="sk-1")
