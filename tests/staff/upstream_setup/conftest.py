"""An administrator's browser for asynchronous pages."""

import pytest
from django.test import AsyncClient, Client


@pytest.fixture
def olives(olives: Client, generations_end: None, connections_close: None) -> AsyncClient:
    """Olive's browser, on the test's event loop."""
    client = AsyncClient(headers={"host": "localhost"})
    client.cookies = olives.cookies
    return client
