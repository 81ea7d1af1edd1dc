"""A client, and where its upstream is."""

from collections.abc import AsyncIterator

import pytest

from chatapp.upstream import client as client_module
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.network import Transport
from tests.support.fake_upstream import FakeUpstream
from tests.upstream import KEY


@pytest.fixture
def transports(monkeypatch: pytest.MonkeyPatch) -> list[Transport]:
    """Those that clients have made."""
    made: list[Transport] = []

    def transport(kept_seconds: float) -> Transport:
        made.append(Transport(kept_seconds))
        return made[-1]

    monkeypatch.setattr(client_module, "Transport", transport)
    return made


@pytest.fixture
def client_kind() -> type[UpstreamClient]:
    """Of clients; modules whose tests are of all kinds say so."""
    return UpstreamClient


@pytest.fixture
async def client(
    transports: list[Transport], client_kind: type[UpstreamClient]
) -> AsyncIterator[UpstreamClient]:
    client = client_kind()
    yield client
    await client.aclose()


@pytest.fixture
def endpoint(upstream: FakeUpstream) -> Endpoint:
    return Endpoint(upstream.base_url + "/", KEY)
