"""Alice's script: the official client of OpenAI, with a token of hers."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI

from chatapp.asgi import application
from chatapp.models import AccessToken, Installation, Upstream, User

MODEL = "one"


@pytest.fixture
def api_upstream(saved_upstream: Upstream) -> Upstream:
    """The upstream, whose only model is `MODEL`; everyone may use the API."""
    saved_upstream.offered_models = MODEL
    saved_upstream.save()
    Installation(pk=1, who_uses_api="everyone").save()
    return saved_upstream


@pytest.fixture
def secret(alice: User) -> str:
    return AccessToken.issue(alice, "script", ["chat", "models"], None)[1]


@pytest.fixture
async def http(generations_end: None, connections_close: None) -> AsyncIterator[httpx.AsyncClient]:
    """Requests to the app in this process."""
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        yield http


@pytest.fixture
def script(http: httpx.AsyncClient, secret: str, api_upstream: Upstream) -> AsyncOpenAI:
    options: Any = {"http_client": http, "max_retries": 0}
    return AsyncOpenAI(api_key=secret, base_url="http://localhost/api/v1", **options)
