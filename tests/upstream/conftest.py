"""A client, and the endpoint of its fake upstream."""

from collections.abc import AsyncIterator

import pytest

from chatapp.upstream import client as client_module
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.network import Transport
from tests.support.fake_upstream import FakeUpstream
from tests.upstream import KEY


@pytest.fixture
def transports(monkeypatch: pytest.MonkeyPatch) -> list[Transport]:
    """The transports that clients have created."""
    created: list[Transport] = []

    def transport(keep_alive_seconds: float) -> Transport:
        created.append(Transport(keep_alive_seconds))
        return created[-1]

    monkeypatch.setattr(client_module, "Transport", transport)
    return created


@pytest.fixture
def client_kind() -> type[UpstreamClient]:
    """The class of `client`; a module can override it to test several kinds."""
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
